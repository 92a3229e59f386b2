/**
 * Public documents: bytes made once and served many times, with a strong ETag for each encoding
 * (decision D9).
 */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { sha256 } from '../../platform/crypto/bytes.ts'

export type Encoding = 'identity' | 'gzip' | 'br'

export interface Representation {
  encoding: Encoding
  bytes: Buffer
  /** Quoted, as in the header. */
  etag: string
}

export interface PublicDocument {
  contentType: string
  cacheControl: string
  /** Sent in a Link header if `Accept` prefers plain JSON (JSON-LD 1.1, section 6.1). */
  contextUrl?: string
  /** Sent instead if `Accept` ranks HTML above JSON, as browsers do (decision D52). */
  page?: PublicDocument
  headers: Record<string, string>
  /** Identity first, then the compressed forms. */
  representations: Representation[]
}

export interface PublicDocumentOptions {
  body: string
  contentType:
    | 'application/json'
    | 'application/ld+json'
    | 'application/xml; charset=utf-8'
    | 'application/n-quads'
    | 'text/csv; charset=utf-8; header=present'
    | 'text/markdown; charset=utf-8'
    | 'text/plain; charset=utf-8'
    | 'text/html; charset=utf-8'
    | 'text/css; charset=utf-8'
    | 'text/javascript; charset=utf-8'
    | 'image/svg+xml'
  maxAgeSeconds: number
  /** Further Cache-Control directives, e.g. `must-revalidate`. */
  cacheDirectives?: string
  contextUrl?: string
  page?: PublicDocument
  headers?: Record<string, string>
}

/** Below this size, the additional headers cost more than compression saves. */
const compressedBytesMin = 512

export function publicDocument(options: PublicDocumentOptions): PublicDocument {
  const bytes = Buffer.from(options.body, 'utf8')
  const digest = sha256(bytes).toString('base64url').slice(0, 27)
  const representations: Representation[] = [{ encoding: 'identity', bytes, etag: `"${digest}"` }]
  if (bytes.length >= compressedBytesMin) {
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 5 }
    const gzip = gzipSync(bytes, { level: 6 })
    const br = brotliCompressSync(bytes, { params: quality })
    representations.push({ encoding: 'br', bytes: br, etag: `"${digest}-br"` })
    representations.push({ encoding: 'gzip', bytes: gzip, etag: `"${digest}-gzip"` })
  }
  const directives = options.cacheDirectives === undefined ? '' : `, ${options.cacheDirectives}`
  return {
    contentType: options.contentType,
    cacheControl: `public, max-age=${options.maxAgeSeconds}${directives}`,
    headers: options.headers ?? {},
    representations,
    ...(options.contextUrl === undefined ? {} : { contextUrl: options.contextUrl }),
    ...(options.page === undefined ? {} : { page: options.page }),
  }
}

/** Makes each document at its first request and keeps it: for documents that never change. */
export function documentMemory() {
  const made = new Map<string, PublicDocument>()
  return (key: string, make: () => PublicDocument): PublicDocument => {
    let document = made.get(key)
    if (document === undefined) {
      document = make()
      made.set(key, document)
    }
    return document
  }
}
