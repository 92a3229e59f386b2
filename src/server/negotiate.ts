/** Pure: which representation of a public document a caller gets (RFC 9110 §12.5, §13.1.2). */
import type { Encoding } from '../platform/http/document.ts'

/** Smallest first: what is taken where a caller likes several equally. */
const preference = ['br', 'gzip', 'identity'] as const satisfies Encoding[]

/** The available encoding the caller likes most. Where it refuses all of them it gets identity: an answer it may still be able to use. */
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
  // Identity that is not mentioned is acceptable, but any encoding that is mentioned is liked more.
  return named ?? weights.get('*') ?? (encoding === 'identity' ? 0.0005 : 0)
}

/** Whether `Accept` likes `application/json` more than `application/ld+json` (JSON-LD 1.1 §6.1). */
export function prefersPlainJson(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const weights = weightsOf(accept)
  const any = weights.get('application/*') ?? weights.get('*/*') ?? 0
  return (weights.get('application/json') ?? any) > (weights.get('application/ld+json') ?? any)
}

/** `gzip;q=0.5, *;q=0` as names and weights; parameters other than q are left out, an unreadable q counts as 0. */
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

/** Whether If-None-Match names this strong ETag: `*`, or a list compared weakly. */
export function etagMatches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  for (const [listed] of ifNoneMatch.matchAll(/"[^"]*"/g)) if (listed === etag) return true
  return false
}
