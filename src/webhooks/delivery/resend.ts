/**
 * Sends again: one event, or all missed events since a time. Sends test events. Each gets a
 * delivery of its own.
 */
import { randomBytes } from 'node:crypto'
import type { Tx } from '../../platform/db/db.ts'
import { envelopeText, eventId, eventIdRandomBytes } from '../events/envelope.ts'
import { type EventType, eventTypes } from '../events/event-types.ts'
import { hasResend, insertRecovery, insertResend, insertTest } from './delivery-store.ts'
import { type EndpointOf, lockEndpoint, setTested } from './endpoint-store.ts'

export type Resent = 'queued' | 'queued before' | 'no such endpoint' | 'disabled' | 'no such event'

/**
 * Sends an event to an endpoint once more, also if the endpoint does not subscribe to its type. An
 * event that may no longer be sent counts as unknown.
 */
export async function resendEvent(
  tx: Tx,
  { endpointId, eventId, formValue, at }: Resend,
): Promise<Resent> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return 'no such endpoint'
  if (endpoint.disabledAt !== null) return 'disabled'
  const ref = formValue === undefined ? randomBytes(8).toString('hex') : `form ${formValue}`
  // The lock of the endpoint lets the same form take turns with itself.
  if (await hasResend(tx, { endpointId, eventId, ref })) return 'queued before'
  const count = await insertResend(tx, { endpointId, eventId, ref, at })
  return count > 0 ? 'queued' : 'no such event'
}

export interface Resend {
  endpointId: string
  eventId: string
  /** The random value of a form: a form that is sent twice sends the event once. */
  formValue?: string | undefined
  at: Date
}

export const replayDaysMax = 14

export type Recovered =
  | { outcome: 'queued'; count: number; more: boolean }
  | { outcome: 'no such endpoint' | 'disabled' }

/**
 * Sends an endpoint every event of its types since `since` that it has not taken, at most `limit`
 * in this call; call again while more are left. Events with a pending delivery are left out. Due
 * times are spread, so that the endpoint is not flooded.
 */
export async function replaySince(
  tx: Tx,
  { endpointId, since, at, limit = 1_000 }: Recovery,
): Promise<Recovered> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return { outcome: 'no such endpoint' }
  if (endpoint.disabledAt !== null) return { outcome: 'disabled' }
  const ref = `recovery ${at.toISOString()}`
  const { eventTypes } = endpoint
  const count = await insertRecovery(tx, { endpointId, eventTypes, since, at, ref, limit })
  return { outcome: 'queued', count, more: count === limit }
}

export interface Recovery {
  endpointId: string
  since: Date
  at: Date
  limit?: number
}

const testPauseMs = 60_000

export type TestQueued =
  | { outcome: 'queued'; eventId: string }
  | { outcome: 'no such endpoint' | 'disabled' }
  /** The limit is one test event a minute for each endpoint. */
  | { outcome: 'too soon'; retryAfterSeconds: number }

/**
 * Queues one synthetic event with the fictional data of the type's example. One attempt is made;
 * its id begins with `evt_test_`.
 */
export async function queueTestEvent(
  tx: Tx,
  { endpointId, owner, type, at }: EndpointOf & { type: EventType; at: Date },
): Promise<TestQueued> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner })
  if (endpoint === undefined) return { outcome: 'no such endpoint' }
  if (endpoint.disabledAt !== null) return { outcome: 'disabled' }
  const waitMs = (endpoint.testedAt?.getTime() ?? Number.NEGATIVE_INFINITY) + testPauseMs - +at
  // `at` may be earlier than the last test, if that one was read later and took the lock first.
  if (waitMs > 0) {
    const retryAfterSeconds = Math.ceil(Math.min(waitMs, testPauseMs) / 1_000)
    return { outcome: 'too soon', retryAfterSeconds }
  }
  const id = eventId(at, randomBytes(eventIdRandomBytes)).replace('evt_', 'evt_test_')
  const body = envelopeText({ id, type, data: eventTypes[type].example }, at)
  await insertTest(tx, { endpointId, eventId: id, type, body, at })
  await setTested(tx, endpointId, at)
  return { outcome: 'queued', eventId: id }
}
