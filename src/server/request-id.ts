/** The X-Request-Id of an answer: 96 random bits, always ours, never the caller's (decision D5). */
import { randomFillSync } from 'node:crypto'

const idBytes = 12
/** Drawn in bulk: one call of the random source serves a thousand requests. */
const pool = Buffer.alloc(idBytes * 1_024)
let next = pool.length

/** 16 characters of base64url. */
export function requestId(): string {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  next += idBytes
  return pool.toString('base64url', next - idBytes, next)
}
