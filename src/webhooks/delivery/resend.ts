/**
 * Sends again: one event, or all missed events since a time. Sends test events. Each gets a
 * delivery of its own.
 */
import { randomBytes } from 'node:crypto'
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { type EventType, eventTypes } from '../events/event-types.ts'
import { envelopeText, eventId, eventIdRandomBytes } from '../events/schema.ts'
import {
  type BulkOf,
  countBulkWaiting,
  hasResend,
  insertBulkResend,
  insertRecovery,
  insertResend,
  insertTest,
} from './delivery-store.ts'
import { type EndpointOf, type EndpointState, setTested } from './endpoint-store.ts'
import { lockActive } from './own-endpoint.ts'

type Unsendable = Refusal<'webhook_endpoint_not_found' | 'webhook_endpoint_disabled'>

/**
 * Sends an event to an endpoint once more, also if the endpoint does not subscribe to its type. An
 * event that may no longer be sent counts as unknown.
 */
export async function resendEvent(
  tx: Tx,
  { eventId, key = null, at, ...of }: Resend,
): Promise<
  { endpoint: EndpointState; changed: boolean } | Unsendable | Refusal<'webhook_event_not_found'>
> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const { endpointId, owner } = of
  const ref = key === null ? randomBytes(8).toString('hex') : `key ${key}`
  // The lock of the endpoint lets calls with one key take turns.
  if (await hasResend(tx, { endpointId, eventId, ref })) return { endpoint, changed: false }
  const count = await insertResend(tx, { endpointId, eventId, ref, at })
  if (count > 0) return { endpoint, changed: true }
  return refuse(
    'webhook_event_not_found',
    owner === 'any'
      ? { message: `${endpointId}: There is no such event, or it may no longer be sent.` }
      : {},
  )
}

export interface Resend extends EndpointOf {
  eventId: string
  /** Calls with one key, such as a form that is sent twice, send the event once. */
  key?: string | null
  at: Date
}

/** Events of one bulk resend. */
export const bulkResendMax = 1_000

/**
 * Sends events to an endpoint once more, twenty a second: the named ones, or those that it has not
 * taken. One bulk resend at a time is under way at an endpoint.
 */
export async function resendEvents(
  tx: Tx,
  { eventIds, eventType, since, at, ...of }: EndpointOf & BulkOf & { at: Date },
): Promise<
  | { endpoint: EndpointState; count: number }
  | Unsendable
  | Refusal<'webhook_event_not_found' | 'webhook_resend_running'>
> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const { id: endpointId } = endpoint
  const waiting = await countBulkWaiting(tx, endpointId)
  if (waiting > 0)
    return refuse('webhook_resend_running', {
      message: `${waiting} events of the last bulk resend are still waiting. Try again once they are sent.`,
    })
  const ref = `bulk ${randomBytes(8).toString('hex')}`
  const chosen = { eventIds, eventType, since, limit: bulkResendMax }
  const sent = new Set(await insertBulkResend(tx, { endpointId, at, ref, ...chosen }))
  const unknown = eventIds?.find((id) => !sent.has(id))
  if (unknown !== undefined)
    return refuse('webhook_event_not_found', {
      message: `${unknown}: There is no such event, or it may no longer be sent. Nothing was sent again.`,
    })
  return { endpoint, count: sent.size }
}

export const replayDaysMax = 14

/**
 * Sends an endpoint every event of its types since `since` that it has not taken, at most `limit`
 * in this call; call again while more are left. Events with a pending delivery are left out. Due
 * times are spread, so that the endpoint is not flooded.
 */
export async function replaySince(
  tx: Tx,
  { since, at, limit = 1_000, ...of }: Recovery,
): Promise<{ endpoint: EndpointState; count: number; more: boolean } | Unsendable> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const ref = `recovery ${at.toISOString()}`
  const { id: endpointId, eventTypes } = endpoint
  const count = await insertRecovery(tx, { endpointId, eventTypes, since, at, ref, limit })
  return { endpoint, count, more: count === limit }
}

export interface Recovery extends EndpointOf {
  since: Date
  at: Date
  limit?: number
}

export const testPauseMs = 60_000

/**
 * Queues one synthetic event with the fictional data of the type's example. One attempt is made;
 * its id begins with `evt_test_`. The limit is one test event a minute for each endpoint.
 */
export async function queueTestEvent(
  tx: Tx,
  { type, at, ...of }: EndpointOf & { type: EventType; at: Date },
): Promise<{ eventId: string } | Unsendable | Refusal<'rate_limited'>> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const { id: endpointId } = endpoint
  const waitMs = (endpoint.testedAt?.getTime() ?? Number.NEGATIVE_INFINITY) + testPauseMs - +at
  // `at` may be earlier than the last test, if that one was read later and took the lock first.
  if (waitMs > 0) {
    const retryAfterSeconds = Math.ceil(Math.min(waitMs, testPauseMs) / 1_000)
    return refuse('rate_limited', {
      message: 'An endpoint takes one test event a minute.',
      headers: { 'Retry-After': String(retryAfterSeconds) },
    })
  }
  const id = eventId(at, randomBytes(eventIdRandomBytes)).replace('evt_', 'evt_test_')
  const body = envelopeText({ id, type, data: eventTypes[type].example }, at)
  await insertTest(tx, { endpointId, eventId: id, type, body, at })
  await setTested(tx, endpointId, at)
  return { eventId: id }
}
