/**
 * Checks the request line and the headers that concern every request, before a route is looked up.
 */
import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../platform/errors.ts'

const headersMax = 100

/** Origin form, printable ASCII, no fragment. */
const originForm = /^\/[!"$-~]*$/
const hostForm = /^[\w.~!$&'()*+,;=%:[\]-]+$/

/**
 * Headers that must not repeat: Node silently keeps the first, and a proxy may use the last. The
 * names have different lengths.
 */
const single = new Map(
  ['host', 'content-type', 'authorization', 'content-length'].map((name) => [name.length, name]),
)

/** `http://host/path`, as clients send it to a proxy; without user information. */
const absoluteForm = /^https?:\/\/([^/?#@]+)([/?].*)?$/i

/**
 * Rewrites an absolute-form target to its path if it names one of our own hosts, or the host that
 * the Host header names as well: that is the same request in origin form. The target replaces the
 * Host header (RFC 9112 §3.2.2). A target of another host stays as it is, and is then rejected.
 */
export function acceptAbsoluteForm(
  request: IncomingMessage,
  isOwnHost: (host: string) => boolean,
): void {
  const match = absoluteForm.exec(request.url ?? '')
  if (match === null) return
  const host = (match[1] as string).toLowerCase()
  if (!isOwnHost(host) && host !== request.headers.host?.toLowerCase()) return
  const rest = match[2] ?? ''
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  if (request.headers.host !== undefined) request.headers.host = host
}

export function requestProblem(request: IncomingMessage): Refusal | null {
  const { rawHeaders, headers } = request
  if (rawHeaders.length > 2 * headersMax)
    return refuse('headers_too_large', { message: `More than ${headersMax} headers.` })
  const target = request.url ?? ''
  const isAsterisk = target === '*' && request.method === 'OPTIONS'
  if (!isAsterisk && !originForm.test(target))
    return bad('The request target is not a path in printable ASCII.')
  if (target.includes('%')) {
    const why = pathProblem(target)
    if (why !== null) return bad(why)
  }
  // Comes before anything is looked up, logged or counted with the target.
  if (holdsKey(target)) return refuse('api_key_in_url')
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0')
    return bad('This is not HTTP/1.1 or HTTP/1.0.')
  const twice = repeatedHeader(rawHeaders)
  if (twice !== null) return bad(`The header ${twice} occurs more than once.`)
  // HTTP/1.0 has no Host header; HTTP/1.1 has exactly one (RFC 9112 §3.2).
  if (headers.host === undefined && request.httpVersion !== '1.0')
    return bad('There is no Host header.')
  if (headers.host !== undefined && !hostForm.test(headers.host))
    return bad('The Host header is not valid.')
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  // A proxy that reads the framing differently could let one request hide inside another.
  if (request.httpVersion === '1.0') return bad('HTTP/1.0 has no Transfer-Encoding.')
  return coding.toLowerCase() === 'chunked' ? null : bad('The only Transfer-Encoding is chunked.')
}

const keyInUrl = /svc_(?:live|test)_[0-9A-Za-z]{36}/

function holdsKey(target: string): boolean {
  const isEncoded = target.includes('%')
  if (!isEncoded && !target.includes('svc_')) return false
  return keyInUrl.test(isEncoded ? target.replaceAll(/%[0-9A-Fa-f]{2}/g, characterOf) : target)
}

/** Decodes one byte such as `%5F`. That is enough for a key, which is ASCII. */
function characterOf(encoded: string): string {
  return String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
}

function bad(message: string): Refusal {
  return refuse('bad_request', { message })
}

function pathProblem(target: string): string | null {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  try {
    return decodeURIComponent(path).includes('\0') ? 'The path holds a NUL.' : null
  } catch {
    return 'The path is not valid percent-encoded UTF-8.'
  }
}

function repeatedHeader(rawHeaders: readonly string[]): string | null {
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const watched = single.get(name.length)
    if (watched === undefined || name.toLowerCase() !== watched) continue
    if ((seen & (1 << name.length)) !== 0) return watched
    seen |= 1 << name.length
  }
  return null
}
