/** The X-Request-Id of an answer: 96 random bits, always ours, never the caller's (decision D5). */
import { randomBytes } from 'node:crypto'

const idLength = 16
/** Drawn in bulk: one call of the random source serves a thousand requests. */
const bytesAtOnce = 1_024 * 12
let pool = ''
let next = 0

/** 16 characters of base64url. */
export function requestId(): string {
  if (next === pool.length) {
    pool = randomBytes(bytesAtOnce).toString('base64url')
    next = 0
  }
  next += idLength
  return pool.slice(next - idLength, next)
}
