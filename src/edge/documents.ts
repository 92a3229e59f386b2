/** Builds the response of a public document to one request (decision D9). */
import type { IncomingMessage } from 'node:http'
import type { HeaderSets } from './headers.ts'
import type { PublicDocument } from './http/document.ts'
import { versionHeader } from './http/identifiers.ts'
import { chooseEncoding, etagMatches, prefersHtml, prefersPlainJson } from './negotiate.ts'

/** Returns the parts of the response. In `lines` names and values alternate. */
export function documentResponse(
  sets: HeaderSets,
  document: PublicDocument,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
): { status: number; lines: string[]; body: Buffer | undefined } {
  const { accept } = headers
  const shown = document.page !== undefined && prefersHtml(accept) ? document.page : document
  const available = shown.representations.map(({ encoding }) => encoding)
  const encoding = chooseEncoding(headers['accept-encoding'], available)
  const chosen = shown.representations[available.indexOf(encoding)]
  if (chosen === undefined) throw new Error('a public document has no representation')
  const isPlainJson = shown.contextUrl !== undefined && prefersPlainJson(accept)
  // The same bytes with another media type are another representation.
  const etag = isPlainJson ? chosen.etag.replace(/"$/, '-json"') : chosen.etag
  const isNegotiated = document.contextUrl !== undefined || document.page !== undefined
  const lines = shown.contentType.startsWith('text/html')
    ? sets.withPermissions(sets.publicPage, shown.headers)
    : [...sets.common]
  lines.push('Cache-Control', shown.cacheControl, 'ETag', etag)
  lines.push('Vary', `Accept-Encoding, ${versionHeader}${isNegotiated ? ', Accept' : ''}`)
  for (const name in shown.headers) lines.push(name, shown.headers[name] as string)
  if (isPlainJson) {
    const relation = 'http://www.w3.org/ns/json-ld#context'
    lines.push('Link', `<${shown.contextUrl}>; rel="${relation}"; type="application/ld+json"`)
  }
  const known = headers['if-none-match']
  if (known !== undefined && etagMatches(known, etag))
    return { status: 304, lines, body: undefined }
  lines.push('Content-Type', isPlainJson ? 'application/json' : shown.contentType)
  lines.push('Content-Length', String(chosen.bytes.length))
  if (encoding !== 'identity') lines.push('Content-Encoding', encoding)
  return { status: 200, lines, body: method === 'HEAD' ? undefined : chosen.bytes }
}
