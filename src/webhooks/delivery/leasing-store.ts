/**
 * Leases deliveries for sending.
 *
 * Tables: reads and updates webhook_deliveries; reads webhook_endpoints, webhook_events and
 * webhook_secrets. Crash: a leased delivery keeps its lease until it expires; then
 * `releaseExpiredLeases` makes it pending again.
 */
import { type Db, type Queryable, sql } from '../../platform/db/db.ts'
import type { DatedSecret } from './secret.ts'
import type { DueEndpoint, Grant } from './slots.ts'

/** An endpoint with due deliveries, and its secrets that sign now or later, oldest first. */
export interface WalkedEndpoint extends DueEndpoint {
  secrets: readonly DatedSecret[]
}

export interface DuePage {
  endpoints: WalkedEndpoint[]
  /** Endpoint id to continue after, or null when every endpoint has been visited. */
  after: string | null
  /** Time at which the next delivery becomes due, or null when none is scheduled. */
  nextAt: Date | null
}

interface WalkedRow extends DueEndpoint {
  n: number
  isDue: boolean
  nextAt: Date | null
  versions: number[] | null
  kids: string[] | null
  sealeds: Buffer[] | null
  signsFrom: Date[] | null
}

/**
 * Returns up to `limit` endpoints with due deliveries and free capacity, in round-robin order after
 * `after`.
 *
 * The recursive query jumps from endpoint to endpoint along the index of pending deliveries, so the
 * cost depends on the number of endpoints and not on the length of a backlog.
 */
export async function findDueEndpoints(
  db: Queryable,
  { after, limit, now }: { after: string; limit: number; now: Date },
): Promise<DuePage> {
  const rows = await db.rows<WalkedRow>(sql`
    with recursive ahead(endpoint_id, due_at, n) as (
      (select endpoint_id, due_at, 1 from webhook_deliveries
       where status = 'pending' and endpoint_id > ${after}::uuid
       order by endpoint_id, due_at, id limit 1)
      union all
      select following.* from ahead w cross join lateral (
        select endpoint_id, due_at, w.n + 1 from webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id > w.endpoint_id
        order by d.endpoint_id, d.due_at, d.id limit 1
      ) as following
      where w.n < ${limit}::int
    ), behind(endpoint_id, due_at, n) as (
      (select endpoint_id, due_at, 1 + ${limit}::int from webhook_deliveries
       where status = 'pending' and endpoint_id <= ${after}::uuid
         and (select count(*) from ahead) < ${limit}::int
       order by endpoint_id, due_at, id limit 1)
      union all
      select following.* from behind w cross join lateral (
        select endpoint_id, due_at, w.n + 1 from webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id > w.endpoint_id
          and d.endpoint_id <= ${after}::uuid
        order by d.endpoint_id, d.due_at, d.id limit 1
      ) as following
      where w.n < 2 * ${limit}::int
    ), walked as (
      select w.endpoint_id, w.n, e.consecutive_failures >= 3 as is_failing,
        case when e.disabled_at is null and e.paused_at is null
          then greatest(w.due_at, e.parked_until, e.rate_from) end as ready_at,
        e.rate_per_second is not null as has_rate,
        least(floor(e.concurrency), e.concurrency_max)::int - (
          select count(*)::int from webhook_deliveries d
          where d.endpoint_id = w.endpoint_id and d.status = 'sending'
        ) as room
      from (select * from ahead union all select * from behind) w
      join webhook_endpoints e on e.id = w.endpoint_id
    ), judged as (
      select *, ready_at <= ${now} and room > 0 as is_due,
        min(ready_at) filter (where ready_at > ${now}) over () as next_at
      from walked
    )
    select w.endpoint_id as "endpointId", w.n, w.is_due as "isDue", w.next_at as "nextAt",
      w.is_failing as "isFailing", w.has_rate as "hasRate", w.room, s.*
    from judged w left join lateral (
      select array_agg(version order by version) as versions,
        array_agg(kid order by version) as kids, array_agg(sealed order by version) as sealeds,
        array_agg(signs_from order by version) as "signsFrom"
      from webhook_secrets s
      where s.endpoint_id = w.endpoint_id and (s.ends_at is null or s.ends_at > ${now})
    ) s on w.is_due
    where w.is_due or w.n = ${limit}::int or w.ready_at = w.next_at
    order by w.n`)
  const endpoints = rows.filter(({ isDue }) => isDue).map(endpointOf)
  const last = rows.find(({ n }) => n === limit)
  return { endpoints, after: last?.endpointId ?? null, nextAt: rows[0]?.nextAt ?? null }
}

function endpointOf(row: WalkedRow): WalkedEndpoint {
  const { endpointId, room, isFailing, hasRate, versions, kids, sealeds, signsFrom } = row
  const secrets = (versions ?? []).map((version, i) => ({
    endpointId,
    version,
    kid: kids?.[i] as string,
    sealed: sealeds?.[i] as Buffer,
    signsFrom: signsFrom?.[i] as Date,
  }))
  return { endpointId, room, isFailing, hasRate, secrets }
}

export interface ClaimedDelivery {
  id: number
  leaseId: string
  endpointId: string
  url: string
  eventId: string
  eventType: string
  /** Null if the event may no longer be sent, or has reached the endpoint since. */
  body: string | null
  position: number | null
  attempt: number
  trigger: string
  /** Time of the event, or of the request to send it again. */
  createdAt: Date
  /** The trace that caused the event. */
  traceparent: string | null
}

export interface ClaimGrant extends Grant {
  /** The newest secret of the endpoint that the leasing process has read. */
  secretVersion: number
}

export interface Lease {
  /** At least as many ids as deliveries are granted. */
  ids: readonly string[]
  now: Date
  until: Date
}

/**
 * Leases due deliveries, oldest first for each endpoint. Skips rows that another process holds, so
 * processes never wait for each other. The commit does not wait for the disk: if a crash of the
 * database loses it, the deliveries are leased once more. Therefore it must not run in a caller's
 * transaction, whose other changes would be lost as well.
 *
 * If an endpoint has a newer secret than the one that the grant names, its deliveries are skipped:
 * the secrets were read before the lease, and the older ones may have been dropped since. The next
 * pass reads them again.
 */
export function claimDeliveries(
  db: Db,
  grants: readonly ClaimGrant[],
  { ids, now, until }: Lease,
): Promise<ClaimedDelivery[]> {
  const endpointIds = grants.map((grant) => grant.endpointId)
  const counts = grants.map((grant) => grant.count)
  const secretVersions = grants.map((grant) => grant.secretVersion)
  return db.rows<ClaimedDelivery>(sql`
    with granted as materialized (
      select n.id as endpoint_id, n.url, g.count
      from unnest(${endpointIds}::uuid[], ${counts}::int[], ${secretVersions}::int[])
        as g(endpoint_id, count, secret_version)
      join webhook_endpoints n on n.id = g.endpoint_id and n.disabled_at is null
        and not exists (
          select from webhook_secrets s where s.endpoint_id = n.id and s.version > g.secret_version)
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
      coalesce(l.body, case when e.withheld_at is null and not exists (
        select from webhook_deliveries o
        where o.event_seq = l.event_seq and o.endpoint_id = l.endpoint_id
          and o.status = 'succeeded'
          and (o.id > l.id or (l.attempts > 1 and o.finished_at >= l.created_at))
      ) then e.body end) as body, e.position,
      l.attempts as attempt, l.trigger, l.created_at as "createdAt", e.traceparent
    from leased l left join webhook_events e on e.seq = l.event_seq
    order by l.id`)
}

/**
 * Returns the secrets of each lease that still holds, by lease id, oldest first. A lease without an
 * entry was cancelled or has expired.
 */
export async function findLeaseSecrets(
  db: Queryable,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'leaseId'>[],
  now: Date,
): Promise<ReadonlyMap<string, readonly DatedSecret[]>> {
  const ids = deliveries.map(({ id }) => id)
  const leaseIds = deliveries.map(({ leaseId }) => leaseId)
  const rows = await db.rows<DatedSecret & { leaseId: string }>(sql`
    select d.lease_id as "leaseId", s.endpoint_id as "endpointId", s.version, s.kid, s.sealed,
      s.signs_from as "signsFrom"
    from webhook_deliveries d
    join webhook_secrets s on s.endpoint_id = d.endpoint_id
      and (s.ends_at is null or s.ends_at > ${now})
    where d.id = any(${ids}::bigint[]) and d.lease_id = any(${leaseIds}::uuid[])
    order by s.version`)
  return Map.groupBy(rows, ({ leaseId }) => leaseId)
}

/**
 * Makes deliveries with an expired lease pending again, due at once. The interrupted attempt does
 * not count. After the fifth interruption the delivery is given up, because it may be what kills
 * the process. Returns how many.
 */
export async function releaseExpiredLeases(db: Queryable, now: Date): Promise<number> {
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
