/**
 * Generates the X-Request-Id of a response: 96 random bits, never a value of the caller (decision
 * D5).
 */
import { randomBytes } from 'node:crypto'

const idLength = 16
/**
 * Bytes drawn at once. A draw for each id takes 5 µs in place of 0.01 µs.
 */
const bytesAtOnce = 1_024 * 12

/** Returns the function that makes ids: 16 characters of base64url. */
export function createRequestIds(): () => string {
  let pool = ''
  let next = 0
  return () => {
    if (next === pool.length) {
      pool = randomBytes(bytesAtOnce).toString('base64url')
      next = 0
    }
    next += idLength
    return pool.slice(next - idLength, next)
  }
}
