/**
 * Pure: the headers of one attempt: those of the specification, extensions, and those of Standard
 * Webhooks over the same body. The key of the specification's signature is the whole text of the
 * secret; the key of Standard Webhooks is the 32 bytes that the text stands for.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { webhookHeader, webhookUserAgent } from '../../edge/http/identifiers.ts'
import { type SigningSecrets, secretBytes } from './secret.ts'

export interface Attempt {
  /** Id of the attempt. */
  id: string
  eventId: string
  eventType: string
  body: string
  /** Counts from 1. */
  attempt: number
  isTest: boolean
  /** Position of the event in the feed; an older event has a lower one. Null for a test event. */
  position: number | null
}

/**
 * Returns the headers. Each attempt is signed anew, so a retry after three days still verifies. The
 * specification's header has exactly one `v1`.
 */
export function attemptHeaders(
  attempt: Attempt,
  { current, next, previous }: SigningSecrets,
  now: Date,
): Record<string, string> {
  const { eventId, body } = attempt
  const timestamp = timestampOf(now)
  const signed = { timestamp, body }
  const secrets = [current, next, previous].filter((secret) => secret !== undefined)
  return {
    ...unsignedHeaders(attempt, now),
    [webhookHeader('Signature')]: signatureHeader(current, signed),
    ...(next && { [webhookHeader('Signature-Next')]: signatureHeader(next, signed) }),
    ...(previous && { [webhookHeader('Signature-Previous')]: signatureHeader(previous, signed) }),
    'webhook-signature': standardSignature(secrets, { eventId, ...signed }),
  }
}

/** Returns the headers that need no secret, so that a page can show them again. */
export function unsignedHeaders(attempt: Omit<Attempt, 'body'>, now: Date): Record<string, string> {
  const { eventId } = attempt
  const timestamp = String(timestampOf(now))
  return {
    'Content-Type': 'application/json',
    'User-Agent': webhookUserAgent,
    [webhookHeader('Id')]: eventId,
    [webhookHeader('Event')]: attempt.eventType,
    [webhookHeader('Delivery')]: attempt.id,
    [webhookHeader('Timestamp')]: timestamp,
    [webhookHeader('Attempt')]: String(attempt.attempt),
    ...(attempt.position !== null && { [webhookHeader('Sequence')]: String(attempt.position) }),
    ...(attempt.isTest && { [webhookHeader('Test')]: 'true' }),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
  }
}

/** Returns the headers of a request that hold a signature. */
export function signaturesIn(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /signature/i.test(name)))
}

function timestampOf(now: Date): number {
  return Math.floor(now.getTime() / 1_000)
}

interface Signed {
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
