/** What came of attempts, written down: deliveries, attempts, and what they say of the endpoints. */
import type { Db } from '../platform/db.ts'
import {
  type Acknowledgement,
  type ClaimedDelivery,
  cancelDeliveries,
  settleDeliveries,
} from './delivery-store.ts'
import { type EndpointHealth, noteHealth, setDisabled } from './endpoint-store.ts'
import type { Outcome } from './outcome.ts'

/** The end of one attempt. */
export interface AttemptEnd extends Pick<Acknowledgement, 'status' | 'dueAt'> {
  delivery: ClaimedDelivery
  /** Null where nothing was sent. */
  sent: { outcome: Outcome; startedAt: Date; durationMs: number } | null
}

/** All of them, or none. A receiver that answered 410 is disabled in the same transaction. */
export async function acknowledgeBatch(
  db: Db,
  ends: readonly AttemptEnd[],
  now: Date,
): Promise<void> {
  const settled = ends.map(acknowledgementOf).sort((a, b) => a.id - b.id)
  const health = healthOf(ends, now)
  const gone = ends.filter((end) => end.sent?.outcome.isGone)
  await db.transaction(async (tx) => {
    // Endpoints before their deliveries, as whoever disables one does: else each would wait for the other.
    await noteHealth(tx, health)
    await settleDeliveries(tx, settled, now)
    if (gone.length === 0) return
    const ids = [...new Set(gone.map(({ delivery }) => delivery.endpointId))].sort()
    await setDisabled(tx, ids, { reason: 'gone', at: now })
    await cancelDeliveries(tx, ids, now)
  })
}

function acknowledgementOf({ delivery, status, dueAt, sent }: AttemptEnd): Acknowledgement {
  const { id, leaseId } = delivery
  if (sent === null) return { id, leaseId, status, dueAt, attempt: null }
  const { outcome, startedAt, durationMs } = sent
  return {
    id,
    leaseId,
    status,
    dueAt,
    attempt: {
      endpointId: delivery.endpointId,
      eventId: delivery.eventId,
      eventType: delivery.eventType,
      attempt: delivery.attempt,
      trigger: delivery.trigger,
      result: outcome.succeeded ? 'succeeded' : 'failed',
      startedAt,
      durationMs,
      responseStatus: outcome.responseStatus,
      errorCode: outcome.errorCode,
      responseBody: outcome.responseBody,
    },
  }
}

/** Test events say nothing: their owner may be building the receiver. */
function healthOf(ends: readonly AttemptEnd[], now: Date): EndpointHealth[] {
  const told = ends.filter(({ delivery, sent }) => sent !== null && delivery.trigger !== 'test')
  const byEndpoint = Map.groupBy(told, ({ delivery }) => delivery.endpointId)
  return [...byEndpoint].map(([endpointId, group]) => {
    const outcomes = group.flatMap(({ sent }) => (sent === null ? [] : [sent.outcome]))
    const successes = outcomes.filter((outcome) => outcome.succeeded).length
    const waits = outcomes.flatMap(({ retryAfter }) => (retryAfter === null ? [] : [+retryAfter]))
    return {
      endpointId,
      successes,
      failures: outcomes.length - successes,
      isStrained: outcomes.some((outcome) => outcome.isStrained),
      at: now,
      parkedUntil: waits.length === 0 ? null : new Date(Math.max(...waits)),
    }
  })
}
