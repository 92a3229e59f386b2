/**
 * Pure: the signature of a delivery (spec §6), and that of Standard Webhooks over the same bytes. The header of the specification is
 * keyed by the whole text of the secret, that of Standard Webhooks by the 32 bytes it stands for.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { secretBytes } from './secret.ts'

export interface Signed {
  /** Unix time in seconds. */
  timestamp: number
  /** The bytes as sent. */
  body: string | Uint8Array
}

/** `t=<timestamp>,v1=<hex digest>`, always with exactly one `v1`. */
export function signatureHeader(secret: string, { timestamp, body }: Signed): string {
  return `t=${timestamp},v1=${digestOf(secret, { timestamp, body }).toString('hex')}`
}

function digestOf(secret: string, { timestamp, body }: Signed): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
}

/** `v1,<base64>` for each secret, separated by spaces: `webhook-signature` of Standard Webhooks. */
export function standardSignature(
  secrets: readonly string[],
  { eventId, timestamp, body }: Signed & { eventId: string },
): string {
  const signatures = secrets.map((secret) =>
    // Bytes as the key would cost four times as much.
    createHmac('sha256', createSecretKey(secretBytes(secret)))
      .update(`${eventId}.${timestamp}.`)
      .update(body)
      .digest('base64'),
  )
  return signatures.map((signature) => `v1,${signature}`).join(' ')
}

/** How far a receiver's clock may be from the timestamp, either way (spec §8). */
const toleranceSeconds = 300

/** What a receiver does (spec §6 rules 1 to 4). `nowSeconds` is Unix time. */
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
