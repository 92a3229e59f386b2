/**
 * Prepares public documents for sending. Everything that is equal for all requests is built once
 * for each representation, so a request costs one look-up and one write.
 */
import type { HeaderSets } from './headers.ts'
import type { PublicDocument, Representation } from './http/document.ts'
import { versionHeader } from './http/identifiers.ts'
import { chooseEncoding, prefersHtml, prefersPlainJson } from './negotiate.ts'

export interface PreparedRepresentation {
  etag: string
  /** A short body is kept as Latin-1 text, so that Node sends it in one piece with the head. */
  body: Buffer | string
  /** Names and values alternate. Each response sets its request id in the last place. */
  headers: string[]
  headersWhenNotModified: string[]
}

/** Selects the representation for a pair of Accept-Encoding and Accept headers. */
export type PreparedDocument = (
  acceptEncoding: string | undefined,
  accept: string | undefined,
) => PreparedRepresentation

export function documentPreparer(sets: HeaderSets): (document: PublicDocument) => PreparedDocument {
  const prepared = new WeakMap<PublicDocument, PreparedDocument>()
  return (document) => {
    let found = prepared.get(document)
    if (found === undefined) {
      found = prepare(sets, document)
      prepared.set(document, found)
    }
    return found
  }
}

function prepare(sets: HeaderSets, document: PublicDocument): PreparedDocument {
  const { page } = document
  const available = document.representations.map(({ encoding }) => encoding)
  const isNegotiated = document.contextUrl !== undefined || page !== undefined
  const asDeclared = representations(sets, document, { isNegotiated })
  const asJson =
    document.contextUrl === undefined
      ? null
      : representations(sets, document, { isNegotiated, isPlainJson: true })
  const asPage = page === undefined ? null : representations(sets, page, { isNegotiated })
  const [identity] = asDeclared
  if (identity === undefined) throw new Error('a public document has no representation')
  return (acceptEncoding, accept) => {
    if (page !== undefined && asPage !== null && prefersHtml(accept)) {
      const encodings = page.representations.map(({ encoding }) => encoding)
      const encoding = chooseEncoding(acceptEncoding, encodings)
      return asPage[encodings.indexOf(encoding)] ?? identity
    }
    const list = asJson !== null && prefersPlainJson(accept) ? asJson : asDeclared
    const encoding = chooseEncoding(acceptEncoding, available)
    return list[available.indexOf(encoding)] ?? identity
  }
}

function representations(
  sets: HeaderSets,
  document: PublicDocument,
  { isNegotiated, isPlainJson = false }: { isNegotiated: boolean; isPlainJson?: boolean },
) {
  const vary = `Accept-Encoding, ${versionHeader}${isNegotiated ? ', Accept' : ''}`
  const isPage = document.contentType.startsWith('text/html')
  const shared = [
    ...(isPage ? sets.withPermissions(sets.publicPage, document.headers) : sets.common),
    'Cache-Control',
    document.cacheControl,
    'Vary',
    vary,
    ...Object.entries(document.headers).flat(),
  ]
  if (isPlainJson) {
    const relation = 'http://www.w3.org/ns/json-ld#context'
    const link = `<${document.contextUrl}>; rel="${relation}"; type="application/ld+json"`
    shared.push('Link', link)
  }
  const contentType = isPlainJson ? 'application/json' : document.contentType
  return document.representations.map((representation) =>
    prepareRepresentation(
      shared,
      contentType,
      isPlainJson ? forJson(representation) : representation,
    ),
  )
}

/** Changes the strong ETag: the same bytes with another media type are another representation. */
function forJson(representation: Representation): Representation {
  return { ...representation, etag: representation.etag.replace(/"$/, '-json"') }
}

/** In bytes. Above this, copying the text costs more than a second write. */
const onePieceMax = 4_096

function prepareRepresentation(
  shared: readonly string[],
  contentType: string,
  { bytes, encoding, etag }: Representation,
): PreparedRepresentation {
  const headers = ['Content-Type', contentType, 'Content-Length', String(bytes.length)]
  if (encoding !== 'identity') headers.push('Content-Encoding', encoding)
  const requestId = ['X-Request-Id', '']
  return {
    etag,
    body: bytes.length <= onePieceMax ? bytes.toString('latin1') : bytes,
    headers: [...headers, ...shared, 'ETag', etag, ...requestId],
    headersWhenNotModified: [...shared, 'ETag', etag, ...requestId],
  }
}
