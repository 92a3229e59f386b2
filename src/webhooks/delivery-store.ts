/** All SQL of webhook_deliveries and webhook_attempts. */
import { type Db, type Queryable, sql, type Tx } from '../platform/db.ts'
import type { DueEndpoint, Grant } from './slots.ts'

/**
 * One delivery for each of the events and each active endpoint that was there when the event happened and wants its type. An event
 * that is sent again by itself changes nothing.
 */
export async function fanOut(tx: Tx, eventIds: readonly string[]): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries
      (endpoint_id, event_seq, event_id, event_type, trigger, due_at, created_at)
    select n.id, e.seq, e.id, e.type, 'event', e.created_at, e.created_at
    from webhook_events e
    join webhook_endpoints n on e.type = any(n.event_types)
      and n.disabled_at is null and n.created_at <= e.created_at
    where e.id = any(${eventIds}::text[])
    order by e.position, n.id
    on conflict (event_seq, endpoint_id, trigger_ref) do nothing`)
}

export interface DuePage {
  endpoints: DueEndpoint[]
  /** Where the next page begins; null at the end. */
  after: string | null
}

interface DueRow extends DueEndpoint {
  isDue: boolean
}

/**
 * The next endpoints after `after` that have something due and room for it. Walks from one endpoint to the next through the index of
 * what is pending, so that a backlog of one costs the others nothing.
 */
export async function findDueEndpoints(
  db: Queryable,
  { after, limit, now }: { after: string; limit: number; now: Date },
): Promise<DuePage> {
  const rows = await db.rows<DueRow>(sql`
    with recursive walk(endpoint_id, due_at, n) as (
      (select endpoint_id, due_at, 1 from webhook_deliveries
       where status = 'pending' and endpoint_id > ${after}::uuid
       order by endpoint_id, due_at, id limit 1)
      union all
      select following.* from walk w cross join lateral (
        select endpoint_id, due_at, w.n + 1 from webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id > w.endpoint_id
        order by d.endpoint_id, d.due_at, d.id limit 1
      ) as following
      where w.n < ${limit}::int
    )
    select w.endpoint_id as "endpointId",
      w.due_at <= ${now} and e.disabled_at is null and e.paused_at is null
        and (e.parked_until is null or e.parked_until <= ${now}) as "isDue",
      e.consecutive_failures >= 3 as "isFailing",
      greatest(0, least(floor(e.concurrency), e.concurrency_max)::int - (
        select count(*)::int from webhook_deliveries d
        where d.endpoint_id = w.endpoint_id and d.status = 'sending'
      )) as room
    from walk w join webhook_endpoints e on e.id = w.endpoint_id
    order by w.n`)
  const endpoints = rows.filter((row) => row.isDue && row.room > 0)
  return { endpoints, after: rows.length < limit ? null : (rows.at(-1)?.endpointId ?? null) }
}

export interface ClaimedDelivery {
  id: number
  leaseId: string
  endpointId: string
  url: string
  eventId: string
  eventType: string
  /** Null: the event may no longer leave. */
  body: string | null
  position: number | null
  attempt: number
  trigger: string
  /** When the event happened, or was asked for again. */
  createdAt: Date
}

export interface Lease {
  /** At least as many as deliveries are granted. */
  ids: readonly string[]
  now: Date
  until: Date
}

/**
 * Leases what is due, oldest first for each endpoint; skips what another worker holds, so workers never wait for each other. The commit
 * is seen at once and reaches the disk soon after: nothing waits for it. Were it lost in a crash of the database, the delivery would be
 * leased once more, as one whose worker died; not in a transaction of the caller, which would be lost with it.
 */
export function claimDeliveries(
  db: Db,
  grants: readonly Grant[],
  { ids, now, until }: Lease,
): Promise<ClaimedDelivery[]> {
  const endpointIds = grants.map((grant) => grant.endpointId)
  const counts = grants.map((grant) => grant.count)
  return db.rows<ClaimedDelivery>(sql`
    with granted as materialized (
      select n.id as endpoint_id, n.url, g.count
      from unnest(${endpointIds}::uuid[], ${counts}::int[]) as g(endpoint_id, count)
      join webhook_endpoints n on n.id = g.endpoint_id and n.disabled_at is null
      cross join (select set_config('synchronous_commit', 'off', true)) as later
    ), picked as materialized (
      select due.id, g.url from granted g cross join lateral (
        select d.id from webhook_deliveries d
        where d.endpoint_id = g.endpoint_id and d.status = 'pending' and d.due_at <= ${now}
        order by d.due_at, d.id limit g.count for update skip locked
      ) as due
    ), numbered as (
      select p.id, p.url, l.id as lease_id
      from (select id, url, row_number() over () as n from picked) p
      join unnest(${ids}::uuid[]) with ordinality as l(id, n) on l.n = p.n
    ), leased as (
      update webhook_deliveries d
      set status = 'sending', attempts = d.attempts + 1, lease_id = n.lease_id,
        lease_until = ${until}
      from numbered n where d.id = n.id
      returning d.id, d.lease_id, d.endpoint_id, n.url, d.event_seq, d.event_id, d.event_type,
        d.body, d.attempts, d.trigger, d.created_at
    )
    select l.id, l.lease_id as "leaseId", l.endpoint_id as "endpointId", l.url,
      l.event_id as "eventId", l.event_type as "eventType",
      coalesce(l.body, case when e.withheld_at is null then e.body end) as body, e.position,
      l.attempts as attempt, l.trigger, l.created_at as "createdAt"
    from leased l left join webhook_events e on e.seq = l.event_seq
    order by l.id`)
}

/** Which of these leases still hold: the delivery is neither cancelled nor taken for dead. */
export async function findLeased(
  db: Queryable,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'leaseId'>[],
): Promise<ReadonlySet<string>> {
  const ids = deliveries.map(({ id }) => id)
  const leaseIds = deliveries.map(({ leaseId }) => leaseId)
  const rows = await db.rows<{ leaseId: string }>(sql`
    select lease_id as "leaseId" from webhook_deliveries
    where id = any(${ids}::bigint[]) and lease_id = any(${leaseIds}::uuid[])`)
  return new Set(rows.map(({ leaseId }) => leaseId))
}

export interface Acknowledgement {
  id: number
  leaseId: string
  status: 'succeeded' | 'pending' | 'exhausted' | 'cancelled'
  /** For `pending`. */
  dueAt: Date | null
  /** Null for what was not sent at all. */
  attempt: AttemptRow | null
}

export interface AttemptRow {
  endpointId: string
  eventId: string
  eventType: string
  attempt: number
  trigger: string
  result: 'succeeded' | 'failed'
  startedAt: Date
  durationMs: number
  responseStatus: number | null
  errorCode: string | null
  responseBody: string | null
}

/**
 * What became of leased deliveries. Only who still holds the lease may say so: a worker that was away for too long changes nothing, for
 * somebody else has tried since.
 */
export async function settleDeliveries(
  tx: Tx,
  settled: readonly Acknowledgement[],
  now: Date,
): Promise<void> {
  const column = <Name extends keyof Acknowledgement>(name: Name) => settled.map((one) => one[name])
  await tx.run(sql`
    update webhook_deliveries d
    set status = s.status, due_at = coalesce(s.due_at, d.due_at), lease_id = null,
      lease_until = null, finished_at = case when s.status = 'pending' then null else ${now}::timestamptz end
    from unnest(${column('id')}::bigint[], ${column('leaseId')}::uuid[], ${column('status')}::text[],
      ${column('dueAt')}::timestamptz[]) as s(id, lease_id, status, due_at)
    where d.id = s.id and d.status = 'sending' and d.lease_id = s.lease_id`)
  const attempts = settled.filter((one) => one.attempt !== null)
  const value = <Name extends keyof AttemptRow>(name: Name) =>
    attempts.map((one) => one.attempt?.[name] ?? null)
  await tx.run(sql`
    insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, event_type, attempt,
      trigger, result, started_at, duration_ms, response_status, error_code, response_body,
      next_attempt_at)
    select a.* from unnest(${attempts.map((one) => one.leaseId)}::uuid[],
      ${attempts.map((one) => one.id)}::bigint[], ${value('endpointId')}::uuid[],
      ${value('eventId')}::text[], ${value('eventType')}::text[], ${value('attempt')}::smallint[],
      ${value('trigger')}::text[], ${value('result')}::text[], ${value('startedAt')}::timestamptz[],
      ${value('durationMs')}::int[], ${value('responseStatus')}::smallint[],
      ${value('errorCode')}::text[], ${value('responseBody')}::text[],
      ${attempts.map((one) => one.dueAt)}::timestamptz[])
      as a(id, delivery_id, endpoint_id, event_id, event_type, attempt, trigger, result, started_at,
        duration_ms, response_status, error_code, response_body, next_attempt_at)
    join webhook_deliveries d on d.id = a.delivery_id
    on conflict (id) do nothing`)
}

/**
 * What a worker took and did not bring to an end: it died. Due again at once, and the attempt does not count; given up after the fifth
 * time, for then the delivery may be what kills workers. Returns how many.
 */
export async function reapLeases(db: Queryable, now: Date): Promise<number> {
  return db.run(sql`
    with dead as materialized (
      select id, lease_id from webhook_deliveries
      where status = 'sending' and lease_until < ${now}
      order by id limit 1000 for update skip locked
    ), freed as (
      update webhook_deliveries d
      set status = case when d.interruptions >= 4 then 'exhausted' else 'pending' end,
        finished_at = case when d.interruptions >= 4 then ${now}::timestamptz end,
        attempts = d.attempts - 1, interruptions = d.interruptions + 1, due_at = ${now},
        lease_id = null, lease_until = null
      from dead where d.id = dead.id
      returning d.id, dead.lease_id, d.endpoint_id, d.event_id, d.event_type, d.attempts, d.trigger
    )
    insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, event_type, attempt,
      trigger, result, started_at)
    select lease_id, id, endpoint_id, event_id, event_type, attempts + 1, trigger, 'interrupted',
      ${now}
    from freed
    on conflict (id) do nothing`)
}

/** Nothing more is sent to these endpoints; what is under way cannot come back. */
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

/** What fan-out added while an endpoint was being disabled. */
export async function cancelStrayDeliveries(db: Queryable, now: Date): Promise<number> {
  return db.run(sql`
    update webhook_deliveries d set status = 'cancelled', finished_at = ${now}
    from webhook_endpoints n
    where n.id = d.endpoint_id and n.disabled_at is not null and d.status = 'pending'`)
}

export interface DeliveryCounts {
  pending: number
  /** When the one that waits longest was due; null where none is due. */
  oldestDueAt: Date | null
  unplaced: number
  active: number
  failing: number
  paused: number
  disabled: number
}

/** For metrics. */
export async function countDeliveries(db: Queryable, now: Date): Promise<DeliveryCounts> {
  const [row] = await db.rows<DeliveryCounts>(sql`
    select (select count(*)::int from webhook_deliveries where status = 'pending') as pending,
      (select min(due_at) from webhook_deliveries where status = 'pending' and due_at <= ${now})
        as "oldestDueAt",
      (select count(*)::int from webhook_events where position is null and withheld_at is null)
        as unplaced,
      count(*) filter (where disabled_at is null)::int as active,
      count(*) filter (where disabled_at is null and consecutive_failures >= 3)::int as failing,
      count(*) filter (where disabled_at is null and paused_at is not null)::int as paused,
      count(*) filter (where disabled_at is not null)::int as disabled
    from webhook_endpoints`)
  if (row === undefined) throw new Error('a count without an answer')
  return row
}

/** A delivery of an event that has its position and may leave. */
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

/** In the order of the feed, twenty a second. */
export async function insertRecovery(
  tx: Tx,
  { endpointId, eventTypes, since, at, ref, limit }: RecoveryRows,
): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries
      (endpoint_id, event_seq, event_id, event_type, trigger, trigger_ref, due_at, created_at)
    select ${endpointId}::uuid, seq, id, type, 'recovery', ${ref},
      ${at}::timestamptz + row_number() over (order by position) * interval '50 milliseconds', ${at}
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

interface RecoveryRows {
  endpointId: string
  eventTypes: readonly string[]
  since: Date
  at: Date
  ref: string
  limit: number
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

export interface ShownAttempt {
  id: string
  eventId: string
  eventType: string
  attempt: number
  trigger: string
  status: 'succeeded' | 'failed' | 'interrupted'
  responseStatus: number | null
  errorCode: string | null
  durationMs: number | null
  responseBody: string | null
  requestedAt: Date
  nextAttemptAt: Date | null
}

/** The attempts at an endpoint, newest first. No secret and no signature is among what is kept. */
export function findAttempts(
  db: Queryable,
  endpointId: string,
  limit: number,
): Promise<ShownAttempt[]> {
  return db.rows<ShownAttempt>(sql`
    select id, event_id as "eventId", event_type as "eventType", attempt, trigger,
      result as status, response_status as "responseStatus", error_code as "errorCode",
      duration_ms as "durationMs", response_body as "responseBody", started_at as "requestedAt",
      next_attempt_at as "nextAttemptAt"
    from webhook_attempts where endpoint_id = ${endpointId}::uuid
    order by started_at desc, id desc limit ${limit}`)
}
