/** SQL of webhook_deliveries and webhook_attempts, except fan-out, leasing and acknowledging. */
import { fragment, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { EventType } from '../events/event-types.ts'
import { type EndpointOf, type EndpointOwner, ownerId } from './endpoint-store.ts'
import type { attemptResults, triggers } from './outcome.ts'

/**
 * Cancels the pending and leased deliveries of these endpoints. A leased delivery cannot become
 * pending again.
 */
export async function cancelDeliveries(
  db: Queryable,
  endpointIds: readonly string[],
  now: Date,
): Promise<number> {
  return db.run(sql`
    update webhook_deliveries
    set status = 'cancelled', finished_at = ${now}, lease_id = null, lease_until = null
    where endpoint_id = any(${endpointIds}::uuid[]) and status in ('pending', 'sending')`)
}

/** Cancels deliveries that fan-out added while their endpoint was being disabled. */
export async function cancelStrayDeliveries(db: Queryable, now: Date): Promise<number> {
  return db.run(sql`
    update webhook_deliveries d set status = 'cancelled', finished_at = ${now}
    from webhook_endpoints n
    where n.id = d.endpoint_id and n.disabled_at is not null and d.status = 'pending'`)
}

export interface DeliveryCounts {
  pending: number
  /** Due time of the delivery that waits longest, or null if none is due. */
  oldestDueAt: Date | null
  undispatched: number
  active: number
  failing: number
  paused: number
  disabled: number
}

/** Counts deliveries for metrics. */
export async function countDeliveries(db: Queryable, now: Date): Promise<DeliveryCounts> {
  const [row] = await db.rows<DeliveryCounts>(sql`
    select (select count(*)::int from webhook_deliveries where status = 'pending') as pending,
      (select min(due_at) from webhook_deliveries where status = 'pending' and due_at <= ${now})
        as "oldestDueAt",
      (select count(*)::int from webhook_events where position is null and withheld_at is null)
        as undispatched,
      count(*) filter (where disabled_at is null)::int as active,
      count(*) filter (where disabled_at is null and consecutive_failures >= 3)::int as failing,
      count(*) filter (where disabled_at is null and paused_at is not null)::int as paused,
      count(*) filter (where disabled_at is not null)::int as disabled
    from webhook_endpoints`)
  if (row === undefined) throw new Error('a count without an answer')
  return row
}

/** Inserts a delivery of an event that has its position and may be sent. */
export async function insertResend(
  tx: Tx,
  { endpointId, eventId, ref, at }: { endpointId: string; eventId: string; ref: string; at: Date },
): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries
      (endpoint_id, event_seq, event_id, event_type, trigger, trigger_ref, due_at, created_at)
    select ${endpointId}::uuid, seq, id, type, 'manual', ${ref}, ${at}, ${at} from webhook_events
    where id = ${eventId} and position is not null and withheld_at is null`)
}

/** Returns whether this event was sent again under this reference. */
export async function hasResend(
  tx: Tx,
  { endpointId, eventId, ref }: { endpointId: string; eventId: string; ref: string },
): Promise<boolean> {
  const rows = await tx.rows(sql`
    select 1 from webhook_events e join webhook_deliveries d
      on d.event_seq = e.seq and d.endpoint_id = ${endpointId}::uuid and d.trigger_ref = ${ref}
    where e.id = ${eventId}`)
  return rows.length > 0
}

/**
 * Inserts deliveries in the order of the feed, due at twenty a second. Calls for one endpoint take
 * turns by its lock, and each begins where the deliveries of the one before end.
 */
export async function insertRecovery(
  tx: Tx,
  { endpointId, eventTypes, since, at, ref, limit }: RecoveryRows,
): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries
      (endpoint_id, event_seq, event_id, event_type, trigger, trigger_ref, due_at, created_at)
    select ${endpointId}::uuid, seq, id, type, 'recovery', ${ref},
      greatest(${at}::timestamptz, (
        select max(due_at) from webhook_deliveries
        where endpoint_id = ${endpointId}::uuid and status = 'pending' and attempts = 0
          and trigger in ('recovery', 'manual')
      )) + row_number() over (order by position) * interval '50 milliseconds', ${at}
    from (
      select e.seq, e.id, e.type, e.position from webhook_events e
      where e.created_at >= ${since} and e.type = any(${eventTypes}::text[])
        and e.position is not null and e.withheld_at is null
        and not exists (
          select from webhook_deliveries d
          where d.event_seq = e.seq and d.endpoint_id = ${endpointId}::uuid
            and d.status in ('succeeded', 'pending', 'sending'))
      order by e.position limit ${limit}
    ) missed
    on conflict (event_seq, endpoint_id, trigger_ref) do nothing`)
}

/** The events of a bulk resend: the named ones, or those that the endpoint has not taken. */
export interface BulkOf {
  eventIds: readonly string[] | null
  /** Of events without a name: only this type, and only deliveries since this time. */
  eventType: string | null
  since: Date
}

interface BulkRows extends BulkOf {
  endpointId: string
  at: Date
  ref: string
  limit: number
}

/**
 * Inserts deliveries of a bulk resend like `insertRecovery`, and returns the ids of their events. An
 * event without a name is chosen if its latest delivery failed at least once and did not succeed.
 */
export async function insertBulkResend(tx: Tx, bulk: BulkRows): Promise<string[]> {
  const { endpointId, eventIds, eventType, since, at, ref, limit } = bulk
  const chosen =
    eventIds === null
      ? await findUndelivered(tx, { endpointId, eventType, since, limit })
      : eventIds
  const rows = await tx.rows<{ eventId: string }>(sql`
    insert into webhook_deliveries
      (endpoint_id, event_seq, event_id, event_type, trigger, trigger_ref, due_at, created_at)
    select ${endpointId}::uuid, seq, id, type, 'manual', ${ref},
      greatest(${at}::timestamptz, (
        select max(due_at) from webhook_deliveries
        where endpoint_id = ${endpointId}::uuid and status = 'pending' and attempts = 0
          and trigger in ('recovery', 'manual')
      )) + row_number() over (order by position) * interval '50 milliseconds', ${at}
    from webhook_events
    where id = any(${chosen}::text[]) and position is not null and withheld_at is null
    returning event_id as "eventId"`)
  return rows.map(({ eventId }) => eventId)
}

/** Returns the events that an endpoint has not taken and that may still be sent, oldest first. */
export async function findUndelivered(
  db: Queryable,
  {
    endpointId,
    eventType,
    since,
    limit,
  }: Omit<BulkOf, 'eventIds'> & { endpointId: string; limit: number },
): Promise<string[]> {
  const rows = await db.rows<{ eventId: string }>(sql`
    select d.event_id as "eventId" from webhook_deliveries d
    where d.endpoint_id = ${endpointId}::uuid and d.created_at >= ${since}
      and (d.status = 'exhausted' or (d.status = 'pending' and d.attempts > 0))
      and (${eventType}::text is null or d.event_type = ${eventType})
      and exists (
        select from webhook_events e
        where e.seq = d.event_seq and e.position is not null and e.withheld_at is null)
      and not exists (
        select from webhook_deliveries n
        where n.event_seq = d.event_seq and n.endpoint_id = d.endpoint_id and n.id > d.id)
    order by d.id limit ${limit}`)
  return rows.map(({ eventId }) => eventId)
}

/** Returns how many deliveries of a bulk resend wait for their first attempt. */
export async function countBulkWaiting(db: Queryable, endpointId: string): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*)::int as count from webhook_deliveries
    where endpoint_id = ${endpointId}::uuid and status = 'pending'
      and attempts = 0 and trigger_ref like 'bulk %'`)
  return row?.count ?? 0
}

interface RecoveryRows extends Omit<BulkRows, 'eventIds' | 'eventType'> {
  eventTypes: readonly string[]
}

export async function insertTest(
  tx: Tx,
  { endpointId, eventId, type, body, at }: TestRow,
): Promise<void> {
  await tx.run(sql`
    insert into webhook_deliveries
      (endpoint_id, event_id, event_type, body, trigger, due_at, created_at)
    values (${endpointId}, ${eventId}, ${type}, ${body}, 'test', ${at}, ${at})`)
}

interface TestRow {
  endpointId: string
  eventId: string
  type: string
  body: string
  at: Date
}

export async function deleteFinishedDeliveries(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  return db.run(sql`
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries where finished_at < ${before}
      order by finished_at, id limit ${limit})`)
}

/** What came of an attempt. */
export interface AttemptEnd {
  attempt: number
  durationMs: number | null
  responseStatus: number | null
  errorCode: string | null
  /** Why no connection was made, in words. */
  errorCause: string | null
}

export interface ShownAttempt extends AttemptEnd {
  id: string
  eventId: string
  eventType: EventType
  trigger: (typeof triggers)[number]
  status: (typeof attemptResults)[number]
  /** The HTTP request that caused the delivery, or null if none did. */
  requestId: string | null
  responseBody: string | null
  requestedAt: Date
  nextAttemptAt: Date | null
}

export interface AttemptsWanted extends EndpointOf {
  /** The id of the last attempt of the page before. */
  after?: string | null
  limit: number
}

/** Columns of attempt `a` for a `ShownAttempt`. No secret and no signature is among them. */
export const attemptColumns = fragment`
  a.id, a.event_id as "eventId", a.event_type as "eventType", a.attempt, a.trigger,
  a.result as status, a.response_status as "responseStatus", a.error_code as "errorCode",
  a.error_cause as "errorCause", a.duration_ms as "durationMs", a.response_body as "responseBody",
  a.started_at as "requestedAt"`

/**
 * Columns of delivery `d` and endpoint `n` for the same. A delivery that has ended announces no
 * further attempt, and neither does a paused endpoint.
 */
export const plannedColumns = fragment`
  d.request_id as "requestId",
  case when d.finished_at is null and n.paused_at is null
    then a.next_attempt_at end as "nextAttemptAt"`

/**
 * Returns the attempts at an endpoint, newest first, or null if the account has no such endpoint.
 */
export async function findAttempts(
  db: Queryable,
  { endpointId, owner, after = null, limit }: AttemptsWanted,
): Promise<ShownAttempt[] | null> {
  const userId = ownerId(owner)
  const rows = await db.rows<ShownAttempt | { id: null }>(sql`
    select a.* from webhook_endpoints n left join lateral (
      select ${attemptColumns}, ${plannedColumns}
      from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
      where a.endpoint_id = n.id and (a.started_at, a.id) < (
        case when ${after}::uuid is null then 'infinity'::timestamptz else (
          select b.started_at from webhook_attempts b
          where b.id = ${after}::uuid and b.endpoint_id = n.id) end,
        coalesce(${after}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
      order by a.started_at desc, a.id desc limit ${limit}
    ) a on true
    where n.id = ${endpointId}::uuid and (${userId}::uuid is null or n.user_id = ${userId}::uuid)
    order by a."requestedAt" desc, a.id desc`)
  return rows.length === 0 ? null : rows.filter((row) => row.id !== null)
}

export interface ExhaustedDelivery {
  id: string
  endpointId: string
  userId: string
  url: string
  eventId: string
  eventType: EventType
  attempts: number
  createdAt: Date
  finishedAt: Date
  /** Of the last attempt. */
  responseStatus: number | null
  errorCode: string | null
}

/** Returns deliveries whose every attempt failed, the newest first, without test events. */
export function findExhausted(
  db: Queryable,
  { owner, after, limit }: { owner: EndpointOwner; after: string | null; limit: number },
): Promise<ExhaustedDelivery[]> {
  const userId = ownerId(owner)
  return db.rows<ExhaustedDelivery>(sql`
    select d.id::text, d.endpoint_id as "endpointId", n.user_id as "userId", n.url,
      d.event_id as "eventId", d.event_type as "eventType", d.attempts,
      d.created_at as "createdAt", d.finished_at as "finishedAt",
      a.response_status as "responseStatus", a.error_code as "errorCode"
    from webhook_deliveries d join webhook_endpoints n on n.id = d.endpoint_id
    left join lateral (
      select response_status, error_code from webhook_attempts a
      where a.delivery_id = d.id order by a.started_at desc, a.id desc limit 1
    ) a on true
    where d.status = 'exhausted' and d.trigger <> 'test'
      and d.id < coalesce(${after}::bigint, 9223372036854775807)
      and (${userId}::uuid is null or n.user_id = ${userId}::uuid)
    order by d.id desc limit ${limit}`)
}
