/**
 * Acknowledges attempts: the delivery, the attempt and its effect on the endpoint. Tables: inserts
 * into webhook_attempts; updates webhook_deliveries and webhook_endpoints.
 */
import { type Db, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { cancelDeliveries, type AttemptEnd as StoredEnd } from './delivery-store.ts'
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

interface SentAttempt {
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

/** The end of a leased delivery, or of one attempt at it. */
interface Acknowledgement extends StoredEnd {
  id: number
  leaseId: string
  /** `cancelled`: nothing was sent, and nothing will be. */
  status: 'succeeded' | 'pending' | 'exhausted' | 'cancelled'
  /** Set for `pending`. */
  dueAt: Date | null
  /** Null if nothing was sent: then no attempt was made, and none is counted. */
  startedAt: Date | null
  responseBody: string | null
  /** As JSON. */
  responseHeaders: string | null
  sentAt: Date | null
  /** As JSON. */
  signatures: string | null
}

/** The effect of a batch of attempts on one endpoint. */
interface EndpointHealth {
  endpointId: string
  successes: number
  failures: number
  /** Whether a failure was a sign of overload or outage. */
  isStrained: boolean
  parkedUntil: Date | null
}

/**
 * Acknowledges a batch in one statement: one round trip and one commit. Returns the leases that
 * held until now.
 *
 * Only the process that still holds the lease decides the state of a delivery. A process whose
 * lease has expired adds its attempt and changes nothing else, because another process may have
 * tried since.
 *
 * A success ends the pending retries of the same event at the same endpoint, and what waited before
 * it. It skips a row that another process leases now: that process sends it, and its next retry is
 * cancelled when it is leased.
 *
 * One success in a batch clears the failing state of an endpoint. The endpoint is written only if
 * something changes, and the time of the last success may be a minute old, so a healthy endpoint
 * costs no write. Endpoints are locked before deliveries and in the order of their ids, as in
 * disabling, so processes never wait for each other in a circle.
 */
async function acknowledge(
  db: Queryable,
  ended: readonly Acknowledgement[],
  { health, now }: { health: readonly EndpointHealth[]; now: Date },
): Promise<ReadonlySet<string>> {
  const column = <Name extends keyof Acknowledgement>(name: Name) => ended.map((one) => one[name])
  const healthColumn = <Name extends keyof EndpointHealth>(name: Name) =>
    health.map((one) => one[name])
  const rows = await db.rows<{ leaseId: string }>(sql`
    with ended as materialized (
      select * from unnest(${column('id')}::bigint[], ${column('leaseId')}::uuid[],
        ${column('status')}::text[], ${column('dueAt')}::timestamptz[],
        ${column('attempt')}::smallint[], ${column('startedAt')}::timestamptz[],
        ${column('durationMs')}::int[], ${column('responseStatus')}::smallint[],
        ${column('errorCode')}::text[], ${column('errorCause')}::text[],
        ${column('responseBody')}::text[], ${column('responseHeaders')}::jsonb[],
        ${column('sentAt')}::timestamptz[], ${column('signatures')}::jsonb[])
        as e(id, lease_id, status, due_at, attempt, started_at, duration_ms, response_status,
          error_code, error_cause, response_body, response_headers, sent_at, signatures)
    ), noted as materialized (
      select * from unnest(${healthColumn('endpointId')}::uuid[], ${healthColumn('successes')}::int[],
        ${healthColumn('failures')}::int[], ${healthColumn('isStrained')}::boolean[],
        ${healthColumn('parkedUntil')}::timestamptz[])
        as h(endpoint_id, successes, failures, is_strained, parked_until)
    ), locked as materialized (
      select n.id from webhook_endpoints n join noted h on h.endpoint_id = n.id
      where h.failures > 0 or n.failing_since is not null or n.concurrency < 16
        or n.last_success_at is null
        or n.last_success_at < ${now}::timestamptz - interval '1 minute'
      order by n.id for no key update of n
    ), health as (
      update webhook_endpoints n
      set concurrency = case when h.is_strained then greatest(1, n.concurrency / 2)
          else least(16, n.concurrency + h.successes / 20.0) end,
        last_success_at = case when h.successes > 0 then ${now} else n.last_success_at end,
        last_failure_at = case when h.failures > 0 then ${now} else n.last_failure_at end,
        failing_since = case when h.successes > 0 then null
          else coalesce(n.failing_since, ${now}) end,
        consecutive_failures = case when h.successes > 0 then 0
          else n.consecutive_failures + h.failures end,
        warned_hours = case when h.successes > 0 then 0 else n.warned_hours end,
        parked_until = greatest(n.parked_until, h.parked_until)
      from locked l join noted h on h.endpoint_id = l.id
      where n.id = l.id
    ), settled as (
      update webhook_deliveries d
      set status = e.status, due_at = coalesce(e.due_at, d.due_at), lease_id = null,
        lease_until = null, attempts = d.attempts - (e.started_at is null)::int,
        finished_at = case when e.status = 'pending' then null else ${now}::timestamptz end
      from ended e
      where d.id = e.id and d.status = 'sending' and d.lease_id = e.lease_id
        and (select count(*) from locked) >= 0
      returning e.lease_id, d.id, d.status, d.event_seq, d.endpoint_id
    ), taken as materialized (
      select o.id from settled s cross join lateral (
        select o.id from webhook_deliveries o
        where o.event_seq = s.event_seq and o.endpoint_id = s.endpoint_id
          and o.status = 'pending' and (o.attempts > 0 or o.id < s.id)
        for update skip locked
      ) o
      where s.status = 'succeeded'
    ), superseded as (
      update webhook_deliveries d set status = 'cancelled', finished_at = ${now}
      from taken t where d.id = t.id
    ), attempts as (
      insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, event_type, attempt,
        trigger, result, started_at, duration_ms, response_status, error_code, error_cause,
        response_body, next_attempt_at, response_headers, sent_at, signatures)
      select e.lease_id, d.id, d.endpoint_id, d.event_id, d.event_type, e.attempt, d.trigger,
        case when e.status = 'succeeded' then 'succeeded' else 'failed' end, e.started_at,
        e.duration_ms, e.response_status, e.error_code, e.error_cause, e.response_body, e.due_at,
        e.response_headers, e.sent_at, e.signatures
      from ended e join webhook_deliveries d on d.id = e.id
      where e.started_at is not null
      on conflict (id) do nothing
    )
    select lease_id as "leaseId" from settled`)
  return new Set(rows.map(({ leaseId }) => leaseId))
}
