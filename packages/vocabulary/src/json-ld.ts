/**
 * A JSON-LD processor for checks. The service itself needs none, because it writes its documents
 * itself. Its loader knows only the given documents: no request leaves the process.
 */

export interface JsonLd {
  /** Expands in safe mode: throws if a term would be dropped or a value lost. */
  expand: (document: unknown) => Promise<unknown[]>
  /** Compacts against a context by its URL. */
  compact: (document: unknown, contextUrl: string) => Promise<Record<string, unknown>>
  /** Returns the RDF dataset as sorted N-Quads (RDFC-1.0). */
  dataset: (document: unknown) => Promise<string[]>
}

interface Processor {
  expand(document: unknown, options: object): Promise<unknown[]>
  compact(document: unknown, context: string, options: object): Promise<Record<string, unknown>>
  canonize(document: unknown, options: object): Promise<string>
}

/** Returns the sorted canonical statements (RDFC-1.0) of N-Quads with any names of blank nodes. */
export async function canonicalNQuadsOf(nQuads: string): Promise<string[]> {
  const format = 'application/n-quads'
  const processor = await loadProcessor()
  const options = { algorithm: 'RDFC-1.0', inputFormat: format, format }
  return linesOf(await processor.canonize(nQuads, options))
}

/** Opens a processor that knows these context documents by URL. */
export async function openJsonLd(contexts: Record<string, unknown>): Promise<JsonLd> {
  const processor = await loadProcessor()
  const documentLoader = async (url: string) => {
    const document = contexts[url]
    if (document === undefined) throw new Error(`a check asked for the unknown document ${url}`)
    return { documentUrl: url, document, contextUrl: null }
  }
  const options = { safe: true, documentLoader }
  return {
    expand: (document) => processor.expand(document, options),
    compact: (document, contextUrl) => processor.compact(document, contextUrl, options),
    dataset: async (document) => {
      const canonize = { ...options, algorithm: 'RDFC-1.0', format: 'application/n-quads' }
      return linesOf(await processor.canonize(document, canonize))
    },
  }
}

function linesOf(nQuads: string): string[] {
  return nQuads.split('\n').filter((quad) => quad !== '')
}

/** The package has no types, so its name is no literal here. */
async function loadProcessor(): Promise<Processor> {
  const name: string = 'jsonld'
  const module: { default: Processor } = await import(name)
  return module.default
}

/**
 * Returns the message of an error with the term that would be dropped, which the processor's own
 * message leaves out.
 */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const details = 'details' in error ? ` ${JSON.stringify(error.details)}` : ''
  return `${error.message}${details}`.slice(0, 600)
}
