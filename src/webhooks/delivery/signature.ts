/**
 * Pure: the signature of a delivery, and that of Standard Webhooks over the same bytes. The key of
 * the specification's header is the whole text of the secret; the key of Standard Webhooks is the
 * 32 bytes that the text stands for.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { secretBytes } from './secret.ts'

export interface Signed {
  /** Unix time in seconds. */
  timestamp: number
  /** The bytes as they are sent. */
  body: string | Uint8Array
}

/** Returns `t=<timestamp>,v1=<hex digest>`, always with exactly one `v1`. */
export function signatureHeader(secret: string, { timestamp, body }: Signed): string {
  return `t=${timestamp},v1=${digestOf(secret, { timestamp, body }).toString('hex')}`
}

function digestOf(secret: string, { timestamp, body }: Signed): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
}

/**
 * Returns `v1,<base64>` for each secret, separated by spaces: the header `webhook-signature` of
 * Standard Webhooks.
 */
export function standardSignature(
  secrets: readonly string[],
  { eventId, timestamp, body }: Signed & { eventId: string },
): string {
  const signatures = secrets.map((secret) =>
    // Passing bytes as the key would take four times as long.
    createHmac('sha256', createSecretKey(secretBytes(secret)))
      .update(`${eventId}.${timestamp}.`)
      .update(body)
      .digest('base64'),
  )
  return signatures.map((signature) => `v1,${signature}`).join(' ')
}

/** Maximum difference between the receiver's clock and the timestamp, in either direction. */
const toleranceSeconds = 300

/** Verifies as a receiver does. `nowSeconds` is Unix time. */
export function verifySignature(
  header: string,
  { secret, body, nowSeconds }: { secret: string; body: string | Uint8Array; nowSeconds: number },
): boolean {
  const parts = new Map(header.split(',').map((pair) => splitOnce(pair)))
  const t = parts.get('t') ?? ''
  const v1 = parts.get('v1') ?? ''
  if (t === '' || !Number.isFinite(Number(t)) || !/^(?:[0-9a-f]{2})+$/i.test(v1)) return false
  if (Math.abs(nowSeconds - Number(t)) > toleranceSeconds) return false
  const received = Buffer.from(v1, 'hex')
  const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
  return received.length === expected.length && timingSafeEqual(received, expected)
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair.trim(), ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
}
