/**
 * Generates the X-Request-Id of a response: 96 random bits, never a value of the caller (decision
 * D5).
 */
import { randomBytes } from 'node:crypto'
import { redact } from '../platform/observability/log.ts'

const idLength = 16
/**
 * Bytes drawn at once. A draw for each id takes 5 µs in place of 0.01 µs.
 */
const bytesAtOnce = 1_024 * 12

/** The caller's own id, as it may stand in a log: it needs no escape. */
const callerIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Returns the X-Request-Id that the caller sent, as a label of log lines. It decides nothing, and
 * an id of another form, or one that looks like a secret, is ignored.
 */
export function callerRequestId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || !callerIdPattern.test(header)) return undefined
  return redact(header) === header ? header : undefined
}

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
