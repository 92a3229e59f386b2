/**
 * Pure: the headers of one attempt: those of the specification, extensions, and those of Standard
 * Webhooks over the same body.
 */
import { webhookHeader, webhookUserAgent } from '../../edge/http/identifiers.ts'
import { signatureHeader, standardSignature } from './signature.ts'

/** The secrets of an endpoint at one time. */
export interface SigningSecrets {
  /** Signs the header of the specification. */
  current: string
  /** Announced: signs from a later time. */
  next?: string
  /** Replaced: signs beside the current secret for a while. */
  previous?: string
}

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
