/** What came of attempts, written down: deliveries, attempts, and what they say of the endpoints. */
import type { Db, Tx } from '../platform/db.ts'
import {
  type Acknowledgement,
  type ClaimedDelivery,
  cancelDeliveries,
  settleDeliveries,
} from './delivery-store.ts'
import { type EndpointHealth, noteHealth, setDisabled } from './endpoint-store.ts'
import { type Notices, noNotices } from './notices.ts'
import type { Outcome } from './outcome.ts'

/** The end of one attempt. */
export interface AttemptEnd extends Pick<Acknowledgement, 'status' | 'dueAt'> {
  delivery: ClaimedDelivery
  /** Null where nothing was sent. */
  sent: { outcome: Outcome; startedAt: Date; durationMs: number } | null
}

/** All of them, or none. A receiver that answered 410 is disabled in the same transaction, and the operator is told. */
export async function acknowledgeBatch(
  { db, notices = noNotices }: { db: Db; notices?: Notices | undefined },
  ends: readonly AttemptEnd[],
  now: Date,
): Promise<void> {
  const settled = ends.map(acknowledgementOf).sort((a, b) => a.id - b.id)
  const health = healthOf(ends, now)
  const gone = ends.filter((end) => end.sent?.outcome.isGone)
  const disabled = await db.transaction(async (tx) => {
    // Endpoints before their deliveries, as whoever disables one does: else each would wait for the other.
    await noteHealth(tx, health)
    await settleDeliveries(tx, settled, now)
    return gone.length === 0 ? [] : await disableGone(tx, gone, { notices, now })
  })
  for (const id of disabled) notices.disabled(id, 'gone')
}

/** Those that were active until now. */
async function disableGone(
  tx: Tx,
  gone: readonly AttemptEnd[],
  { notices, now: at }: { notices: Notices; now: Date },
): Promise<string[]> {
  const ids = [...new Set(gone.map(({ delivery }) => delivery.endpointId))].sort()
  const reason = 'gone'
  const disabled = await setDisabled(tx, ids, { reason, at })
  await cancelDeliveries(tx, ids, at)
  if (disabled.length > 0) await notices.record(tx, { endpointIds: disabled, reason, at })
  return disabled
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
