/**
 * Generates the X-Request-Id of a response: 96 random bits, never a value of the caller (decision
 * D5).
 */
import { randomBytes } from 'node:crypto'

const idLength = 16
/** Bytes drawn at once. One call of the random source serves a thousand requests. */
const bytesAtOnce = 1_024 * 12
let pool = ''
let next = 0

/** Returns 16 characters of base64url. */
export function requestId(): string {
  if (next === pool.length) {
    pool = randomBytes(bytesAtOnce).toString('base64url')
    next = 0
  }
  next += idLength
  return pool.slice(next - idLength, next)
}
