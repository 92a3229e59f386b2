/** Pure: the headers of one attempt: those of spec §6, a few more of ours, and those of Standard Webhooks over the same body. */
import { webhookHeader, webhookUserAgent } from '../../platform/http/identifiers.ts'
import { signatureHeader, standardSignature } from './signature.ts'

/** The secrets of an endpoint at one time. */
export interface SigningSecrets {
  /** Signs the header of the specification. */
  current: string
  /** Announced: signs from a time to come. */
  next?: string
  /** Replaced: signs beside the current one for a while. */
  previous?: string
}

export interface Attempt {
  /** The id of the attempt. */
  id: string
  eventId: string
  eventType: string
  body: string
  /** The first is 1. */
  attempt: number
  isTest: boolean
  /** The place of the event in the feed: an event with a lower one is older. Null for a test. */
  position: number | null
}

/** Signed anew at each attempt, so that a retry three days later verifies. The specification's header keeps exactly one `v1`. */
export function attemptHeaders(
  attempt: Attempt,
  { current, next, previous }: SigningSecrets,
  now: Date,
): Record<string, string> {
  const { eventId, body } = attempt
  const timestamp = Math.floor(now.getTime() / 1_000)
  const signed = { timestamp, body }
  const secrets = [current, next, previous].filter((secret) => secret !== undefined)
  return {
    'Content-Type': 'application/json',
    'User-Agent': webhookUserAgent,
    [webhookHeader('Id')]: eventId,
    [webhookHeader('Event')]: attempt.eventType,
    [webhookHeader('Delivery')]: attempt.id,
    [webhookHeader('Timestamp')]: String(timestamp),
    [webhookHeader('Signature')]: signatureHeader(current, signed),
    ...(next && { [webhookHeader('Signature-Next')]: signatureHeader(next, signed) }),
    ...(previous && { [webhookHeader('Signature-Previous')]: signatureHeader(previous, signed) }),
    [webhookHeader('Attempt')]: String(attempt.attempt),
    ...(attempt.position !== null && { [webhookHeader('Sequence')]: String(attempt.position) }),
    ...(attempt.isTest && { [webhookHeader('Test')]: 'true' }),
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standardSignature(secrets, { eventId, ...signed }),
  }
}
