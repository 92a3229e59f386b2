/**
 * SQL of endpoint rates. A bucket holds the deliveries of a tenth of a second, at least one. It
 * fills so slowly that a full bucket and its refill stay within the rate in every period of 1.25
 * seconds: a delivery begins up to a quarter of a second after its grant (`startWithinMs`), so the
 * receiver sees at most the rate in every second. Grants are taken before leasing by one process at
 * a time, so all processes together keep the rate. The commit does not wait for the disk: a crash
 * of the database forgets a fraction of a second. An endpoint without a rate costs nothing.
 */
import { type Db, fragment, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { ClaimedDelivery } from './leasing-store.ts'
import type { DueEndpoint, Grant } from './slots.ts'

const bucket = fragment`ceil(n.rate_per_second / 10.0)`
const step = fragment`make_interval(secs =>
  1.25 / (n.rate_per_second + 1 - ceil(n.rate_per_second / 10.0)))`

/**
 * Returns the part of these grants for which there is room. Every grant names an endpoint with a
 * rate.
 */
export function takeFromRates(
  db: Queryable,
  grants: readonly Grant[],
  now: Date,
): Promise<Grant[]> {
  return db.rows<Grant>(sql`
    with locked as materialized (
      select n.id, g.count, ${step} as step,
        greatest(n.rate_from, ${now}::timestamptz - (${bucket} - 1)::float8 * ${step}) as free
      from unnest(${grants.map((grant) => grant.endpointId)}::uuid[],
        ${grants.map((grant) => grant.count)}::int[]) as g(endpoint_id, count)
      join webhook_endpoints n on n.id = g.endpoint_id
      cross join (select set_config('synchronous_commit', 'off', true)) as later
      where n.rate_per_second is not null
      order by n.id for no key update of n
    ), taken as (
      select id, step, free, least(count, 1 + floor(
        extract(epoch from ${now}::timestamptz - free) / extract(epoch from step))::int) as count
      from locked where free <= ${now}
    )
    update webhook_endpoints n set rate_from = t.free + t.count * t.step
    from taken t where n.id = t.id
    returning n.id as "endpointId", t.count`)
}

/**
 * Returns grants that were taken and not leased, because less was due or another process had leased
 * it.
 */
export async function giveBackToRates(db: Queryable, grants: readonly Grant[]): Promise<void> {
  await db.run(sql`
    with locked as materialized (
      select n.id, g.count from unnest(${grants.map((grant) => grant.endpointId)}::uuid[],
        ${grants.map((grant) => grant.count)}::int[]) as g(endpoint_id, count)
      join webhook_endpoints n on n.id = g.endpoint_id
      cross join (select set_config('synchronous_commit', 'off', true)) as later
      order by n.id for no key update of n
    )
    update webhook_endpoints n
    set rate_from = n.rate_from - l.count * ${step}
    from locked l where n.id = l.id and n.rate_per_second is not null`)
}

/** An undefined member stays as it is. A rate of null means no rate. */
export interface DeliveryLimits {
  perSecond?: number | null
  /** Maximum of attempts in flight. */
  atOnce?: number
}

export async function setLimits(
  tx: Tx,
  id: string,
  { perSecond, atOnce }: DeliveryLimits,
): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
    set rate_per_second = case when ${perSecond !== undefined}::boolean
        then ${perSecond ?? null}::smallint else rate_per_second end,
      rate_from = case when ${perSecond !== undefined}::boolean then null else rate_from end,
      concurrency_max = coalesce(${atOnce ?? null}::smallint, concurrency_max)
    where id = ${id}::uuid`)
}

/** Returns the grants that may be leased, in their order. */
export async function withinRates(
  db: Db,
  grants: readonly Grant[],
  { due, now }: { due: readonly DueEndpoint[]; now: Date },
): Promise<Grant[]> {
  const rated = new Set(due.filter((one) => one.hasRate).map(({ endpointId }) => endpointId))
  const asked = grants.filter(({ endpointId }) => rated.has(endpointId))
  if (asked.length === 0) return [...grants]
  const taken = new Map(
    (await takeFromRates(db, asked, now)).map(({ endpointId, count }) => [endpointId, count]),
  )
  return grants.flatMap((grant) => {
    const { endpointId } = grant
    if (!rated.has(endpointId)) return [grant]
    const count = taken.get(endpointId) ?? 0
    return count > 0 ? [{ endpointId, count }] : []
  })
}

/**
 * Returns unused grants after leasing. A crash before it loses a fraction of a second's deliveries
 * and nothing else.
 */
export async function returnUnused(
  db: Db,
  grants: readonly Grant[],
  { due, claimed }: { due: readonly DueEndpoint[]; claimed: readonly ClaimedDelivery[] },
): Promise<void> {
  const rated = new Set(due.filter((one) => one.hasRate).map(({ endpointId }) => endpointId))
  const unused = grants
    .filter(({ endpointId }) => rated.has(endpointId))
    .map(({ endpointId, count }) => ({
      endpointId,
      count: count - claimed.filter((delivery) => delivery.endpointId === endpointId).length,
    }))
    .filter(({ count }) => count > 0)
  if (unused.length > 0) await giveBackToRates(db, unused)
}
