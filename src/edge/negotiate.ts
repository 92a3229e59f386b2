/** Pure: selects the representation of a public document (RFC 9110 §12.5, §13.1.2). */
import type { Encoding } from './http/document.ts'

/** Smallest first. Decides between encodings of equal weight. */
const preference = ['br', 'gzip', 'identity'] as const satisfies Encoding[]

/**
 * Returns the available encoding with the highest weight. If the caller refuses all of them, it
 * gets identity, which it may still be able to use.
 */
export function chooseEncoding(
  acceptEncoding: string | undefined,
  available: readonly Encoding[],
): Encoding {
  if (acceptEncoding === undefined) return 'identity'
  const weights = weightsOf(acceptEncoding)
  let chosen: Encoding = 'identity'
  let best = 0
  for (const encoding of preference) {
    if (!available.includes(encoding)) continue
    const weight = encodingWeight(encoding, weights)
    if (weight > best) {
      chosen = encoding
      best = weight
    }
  }
  return chosen
}

function encodingWeight(encoding: Encoding, weights: Map<string, number>): number {
  const named = weights.get(encoding) ?? (encoding === 'gzip' ? weights.get('x-gzip') : undefined)
  // Identity is acceptable if it is not named, but every named encoding ranks above it.
  return named ?? weights.get('*') ?? (encoding === 'identity' ? 0.0005 : 0)
}

/**
 * Returns whether `Accept` ranks `application/json` above `application/ld+json` (JSON-LD 1.1 §6.1).
 */
export function prefersPlainJson(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const weights = weightsOf(accept)
  const any = weights.get('application/*') ?? weights.get('*/*') ?? 0
  return (weights.get('application/json') ?? any) > (weights.get('application/ld+json') ?? any)
}

/** Returns whether `Accept` ranks `text/html` above `application/json`, as browsers do. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const weights = weightsOf(accept)
  const any = weights.get('*/*') ?? 0
  const weight = (type: string, group: string) => weights.get(type) ?? weights.get(group) ?? any
  return weight('text/html', 'text/*') > weight('application/json', 'application/*')
}

/**
 * Parses `gzip;q=0.5, *;q=0` into weights by name. Parameters other than q are ignored, and a
 * malformed q counts as 0.
 */
function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const item of header.split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    if (name === '') continue
    const q = parameters.find((parameter) => /^q\s*=/.test(parameter))
    const text = q === undefined ? '1' : q.slice(q.indexOf('=') + 1).trim()
    weights.set(name, /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0)
  }
  return weights
}

/** Returns whether If-None-Match names this strong ETag: `*`, or a list that is compared weakly. */
export function etagMatches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  for (const [listed] of ifNoneMatch.matchAll(/"[^"]*"/g)) if (listed === etag) return true
  return false
}
