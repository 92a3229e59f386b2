/**
 * V15 (every document expands in safe mode) and V16 (the catalog says exactly what its records
 * say). The service itself needs no JSON-LD processor, because it writes its documents itself. The
 * loader of the processor knows only the given documents: no request leaves the process.
 */
import { scoreBandDefinitions } from '../../../src/standard/bands.ts'
import { skillCatalogOf, type Vocabulary } from '../../../src/standard/catalog.ts'
import { notesDocument, type VocabularyNotes } from '../../../src/standard/notes.ts'
import { slugOf } from '../../../src/standard/slug.ts'
import type { Finding } from './source.ts'

/** Returns the documents as a client gets them. */
export function jsonLdDocumentsOf(
  { vocabulary, notes }: { vocabulary: Vocabulary; notes: VocabularyNotes },
  publicUrl: string,
) {
  const catalog = skillCatalogOf(vocabulary, publicUrl)
  const { license } = vocabulary.release
  const options = { publicUrl, license, vocabularyNotes: notes }
  return {
    catalog,
    records: catalog.skills,
    bands: scoreBandDefinitions(publicUrl),
    notes: [...notes.notes.keys()].map((slug) => notesDocument(slug, options)),
  }
}

type JsonLdDocuments = ReturnType<typeof jsonLdDocumentsOf>

export async function lintJsonLd(documents: JsonLdDocuments, jsonLd: JsonLd): Promise<Finding[]> {
  const { catalog, records, bands, notes } = documents
  const findings: Finding[] = []
  const named: [string, unknown][] = [
    ...records.map((record): [string, unknown] => [`${slugOf(record.id)}.json`, record]),
    ['catalog', catalog],
    ['bands', bands],
    ...notes.map((document): [string, unknown] => [`notes of ${document?.about}`, document]),
  ]
  for (const [file, document] of named) {
    const message = await expansionFault(document, jsonLd)
    if (message !== null) findings.push({ rule: 'V15', file, message })
  }
  // Without V15 there is no dataset to compare.
  return findings.length > 0 ? findings : datasetFaults(documents, jsonLd)
}

async function expansionFault(document: unknown, jsonLd: JsonLd): Promise<string | null> {
  try {
    await jsonLd.expand(document)
    return null
  } catch (error) {
    return faultOf(error)
  }
}

/**
 * Compares datasets, never texts, because blank nodes have other names in each text. The catalog's
 * own statements are left out.
 */
async function datasetFaults(documents: JsonLdDocuments, jsonLd: JsonLd): Promise<Finding[]> {
  const { catalog, records } = documents
  const all = await jsonLd.dataset(catalog)
  const fromRecords = new Set(await jsonLd.dataset(records))
  const fromCatalog = new Set(all.filter((quad) => !isCatalogStatement(quad, catalog['@id'])))
  return [
    ...difference(fromRecords, fromCatalog, 'a record says it and the catalog does not'),
    ...difference(fromCatalog, fromRecords, 'the catalog says it and no record does'),
  ]
}

function isCatalogStatement(quad: string, catalogId: string): boolean {
  return (
    quad.startsWith(`<${catalogId}> `) ||
    quad.includes('> <http://purl.org/dc/terms/isReplacedBy> <')
  )
}

function difference(a: Set<string>, b: Set<string>, what: string): Finding[] {
  const [first] = a.difference(b)
  return first === undefined ? [] : [{ rule: 'V16', file: 'catalog', message: `${what}: ${first}` }]
}

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
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const details = 'details' in error ? ` ${JSON.stringify(error.details)}` : ''
  return `${error.message}${details}`.slice(0, 600)
}
