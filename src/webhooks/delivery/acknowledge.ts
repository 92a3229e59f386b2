/** Acknowledges attempts: the delivery, the attempt and its effect on the endpoint. */
import type { Db, Tx } from '../../platform/db/db.ts'
import { type Acknowledgement, acknowledge, type EndpointHealth } from './acknowledge-store.ts'
import { cancelDeliveries } from './delivery-store.ts'
import { setDisabled } from './endpoint-store.ts'
import type { ClaimedDelivery } from './leasing-store.ts'
import { type Notices, noNotices } from './notices.ts'
import type { Outcome } from './outcome.ts'

/** The end of one attempt. */
export interface AttemptEnd extends Pick<Acknowledgement, 'status' | 'dueAt'> {
  delivery: ClaimedDelivery
  /** Null if nothing was sent. */
  sent: SentAttempt | null
}

export interface SentAttempt {
  outcome: Outcome
  startedAt: Date
  durationMs: number
  /** The time in the headers, and their signatures. Absent: no byte was sent. */
  sentAt?: Date
  signatures?: Readonly<Record<string, string>>
}

/**
 * Acknowledges all of them or none, in one transaction. Returns how many leases had expired, so
 * that another attempt decides.
 *
 * If a receiver answered 410, its endpoint is disabled in the same transaction and the operator
 * gets a notice. An attempt whose lease has expired disables nothing, because the endpoint may have
 * been enabled again since. Test events never change their endpoint: its owner may be building the
 * receiver.
 */
export async function acknowledgeBatch(
  { db, notices = noNotices }: { db: Db; notices?: Notices | undefined },
  ends: readonly AttemptEnd[],
  now: Date,
): Promise<number> {
  const ended = ends.map(acknowledgementOf).sort((a, b) => a.id - b.id)
  const attempted = ends.filter(
    ({ delivery, sent }) => sent !== null && delivery.trigger !== 'test',
  )
  const said = { health: healthOf(attempted), now }
  const gone = attempted.filter(({ sent }) => sent?.outcome.isGone)
  if (gone.length === 0) return ends.length - (await acknowledge(db, ended, said)).size
  const { settled, disabled } = await db.transaction(async (tx) => {
    const leases = await acknowledge(tx, ended, said)
    const held = gone.filter(({ delivery }) => leases.has(delivery.leaseId))
    return { settled: leases.size, disabled: await disableGone(tx, held, { notices, now }) }
  })
  for (const id of disabled) notices.disabled(id, 'gone')
  return ends.length - settled
}

/** Returns the endpoints that were active until now. */
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
  const { id, leaseId, attempt } = delivery
  return {
    id,
    leaseId,
    status,
    dueAt,
    attempt,
    startedAt: sent?.startedAt ?? null,
    durationMs: sent?.durationMs ?? null,
    responseStatus: sent?.outcome.responseStatus ?? null,
    errorCode: sent?.outcome.errorCode ?? null,
    errorCause: sent?.outcome.errorCause ?? null,
    responseBody: sent?.outcome.responseBody ?? null,
    responseHeaders: jsonOf(sent?.outcome.responseHeaders),
    sentAt: sent?.sentAt ?? null,
    signatures: jsonOf(sent?.signatures),
  }
}

function jsonOf(headers: Readonly<Record<string, string>> | null | undefined): string | null {
  return headers == null ? null : JSON.stringify(headers)
}

function healthOf(ends: readonly AttemptEnd[]): EndpointHealth[] {
  const byEndpoint = Map.groupBy(ends, ({ delivery }) => delivery.endpointId)
  return [...byEndpoint].map(([endpointId, group]) => {
    const outcomes = group.flatMap(({ sent }) => (sent === null ? [] : [sent.outcome]))
    const successes = outcomes.filter((outcome) => outcome.succeeded).length
    const waits = outcomes.flatMap(({ retryAfter }) => (retryAfter === null ? [] : [+retryAfter]))
    return {
      endpointId,
      successes,
      failures: outcomes.length - successes,
      isStrained: outcomes.some((outcome) => outcome.isStrained),
      parkedUntil: waits.length === 0 ? null : new Date(Math.max(...waits)),
    }
  })
}
