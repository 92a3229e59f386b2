/**
 * The shared rate limiter: any number of nodes count in one table, and no limit is exceeded
 * (decision D11).
 *
 * Its parts: the table `rate_windows` with a row for each bucket, written only here; the function
 * `decide_rate`, which decides under the row's lock by the database's clock; batching, by which one
 * statement decides for all waiting calls; the denied cache, which spares the database calls that
 * cannot be granted; the fallback, which decides while the database does not answer.
 */
import { batched } from '../../platform/batching.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { type Db, type Queryable, sql, sqlState, type Tx } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { RateLimits } from '../http/contract.ts'
import { createDeniedCache } from './denied-cache.ts'
import type { RateLimiter } from './limiter.ts'
import { type BucketFill, bucketLimits, bucketName, type RateFill, verdictOf } from './verdict.ts'

export interface DatabaseRateLimiterOptions {
  /**
   * A small pool of its own with `synchronousCommit: 'off'`, because a decision must not wait for
   * the disk.
   */
  db: Db
  /** Decides while the database does not answer. Its grants are not counted in the database. */
  fallback: RateLimiter
  /** Called once when an outage begins. */
  onOutage?(error: Error): void
  /** Maximum of entries in the denied cache. */
  deniedMax?: number
  /** Milliseconds of a monotonic clock. */
  now?(): number
}

/** During an outage one call a second asks the database again; other calls do not wait for it. */
const probeEveryMs = 1_000

export function databaseRateLimiter(options: DatabaseRateLimiterOptions): RateLimiter {
  const { db, fallback, onOutage, deniedMax = 100_000, now = () => performance.now() } = options
  const ask = batched<Call, Decision>({
    name: 'rate limiter',
    run: (calls) => decideBatch(db, calls),
    deadline: 'databaseAnswer',
  })
  const denied = createDeniedCache(deniedMax)
  let probeAt: number | null = null

  return {
    async take(caller, policy) {
      const call = caller.buckets.map((bucket) => ({
        name: bucketName(policy, bucket),
        limits: bucketLimits(policy, bucket.factor),
        factor: bucket.factor,
      }))
      const time = now()
      const full = denied.find(call, time)
      if (full !== null) return verdictOf(false, policy, full)
      if (probeAt !== null) {
        if (time < probeAt) return fallback.take(caller, policy)
        probeAt = time + probeEveryMs
      }
      try {
        const { allowed, fills } = await ask(call)
        probeAt = null
        denied.remember(fills, now())
        return verdictOf(allowed, policy, fills)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        if (probeAt === null) onOutage?.(error)
        probeAt = now() + probeEveryMs
        return fallback.take(caller, policy)
      }
    },

    isFull(caller, policy) {
      const names = caller.buckets.map((bucket) => bucketName(policy, bucket))
      return denied.isFull(names, now()) || fallback.isFull(caller, policy)
    },
  }
}

interface Bucket {
  name: string
  limits: RateLimits
  factor: number
}

/** The buckets of a call, the caller's own first. */
type Call = readonly Bucket[]

/** The decision on one call, and the fill of its buckets after the batch. */
interface Decision {
  allowed: boolean
  fills: readonly BucketFill[]
}

/**
 * Decides a batch in one statement with its buckets in one order, so no two batches wait for each
 * other. If a call has several buckets and one of them is full, the grants of the others are taken
 * back in a transaction, so that no other process sees them.
 */
async function decideBatch(db: Db, calls: readonly Call[]): Promise<Decision[]> {
  const wanted = wantedOf(calls)
  if (calls.every((call) => call.length === 1)) return decisions(calls, await take(db, wanted))
  const whole = await takeWhole(db, wanted)
  return whole === null
    ? db.transaction((tx) => decideShort(tx, calls, wanted))
    : decisions(calls, whole)
}

async function decideShort(tx: Tx, calls: readonly Call[], wanted: Wanted): Promise<Decision[]> {
  const taken = await take(tx, wanted)
  const decided = decisions(calls, taken)
  const used = wantedOf(calls.filter((_, i) => decided[i]?.allowed))
  const unused: Wanted = new Map()
  for (const [name, { granted }] of taken) {
    const count = granted - (used.get(name)?.count ?? 0)
    const bucket = wanted.get(name)?.bucket
    if (count > 0 && bucket !== undefined) unused.set(name, { bucket, count: -count })
  }
  if (unused.size > 0) for (const [name, fill] of await take(tx, unused)) taken.set(name, fill)
  return calls.map((call, i) => ({
    allowed: decided[i]?.allowed === true,
    fills: fillsOf(call, taken),
  }))
}

/**
 * First come, first served: a call is allowed if each of its buckets has granted more than was used
 * up before it.
 */
function decisions(calls: readonly Call[], taken: Taken): Decision[] {
  const left = new Map([...taken].map(([name, { granted }]) => [name, granted]))
  return calls.map((call) => {
    const allowed = call.every(({ name }) => (left.get(name) ?? 0) > 0)
    if (allowed) for (const { name } of call) left.set(name, (left.get(name) ?? 0) - 1)
    return { allowed, fills: fillsOf(call, taken) }
  })
}

function fillsOf(call: Call, taken: Taken): BucketFill[] {
  return call.map(({ name, factor }) => ({ name, factor, fill: taken.get(name) as RateFill }))
}

/** Calls by bucket name; a negative count gives grants back. */
type Wanted = Map<string, { bucket: Bucket; count: number }>

/** Grants and fill by bucket name. */
type Taken = Map<string, RateFill & { granted: number }>

function wantedOf(calls: readonly Call[]): Wanted {
  const wanted: Wanted = new Map()
  for (const bucket of calls.flat()) {
    const sum = wanted.get(bucket.name)
    if (sum === undefined) wanted.set(bucket.name, { bucket, count: 1 })
    else sum.count++
  }
  return wanted
}

/** Returns null, with nothing taken, if not all of it was granted. */
async function takeWhole(db: Queryable, wanted: Wanted): Promise<Taken | null> {
  const count = [...wanted.values()].reduce((sum, { count }) => sum + count, 0)
  try {
    return await take(db, wanted, count)
  } catch (error) {
    if (sqlState(error) === notWhole) return null
    throw error
  }
}

/** Error code raised by `whole_or_none`. */
const notWhole = 'RL001'

async function take(db: Queryable, wanted: Wanted, atLeast: number | null = null): Promise<Taken> {
  const names = new Map([...wanted.keys()].map((name) => [bucketId(name), name]))
  const rows = await takeRows(db, [...names.keys()], [...wanted.values()], atLeast)
  return new Map(rows.map(({ bucket, ...taken }) => [names.get(bucket) as string, taken]))
}

/**
 * Takes grants from rows. The proposed row is the decision for a bucket without a row. An existing
 * row is locked first and decided on by its present state and time; the clock must stay an argument
 * beside the row, or the executor would read it once a statement. `order by` makes all batches lock
 * in one order. Throws `notWhole`, with nothing taken, if fewer than `atLeast` are granted in all.
 */
function takeRows(
  db: Queryable,
  ids: readonly string[],
  wanted: readonly { bucket: Bucket; count: number }[],
  atLeast: number | null,
): Promise<(RateFill & { bucket: string; granted: number })[]> {
  return db.rows(sql`
    with taken as (
      insert into rate_windows as w
        (bucket, hits, hit_totals, hit_base, quarters, totals, base, granted, per_minute, per_day, decided_at)
      select bucket, case when n > 0 then array[now] else '{}' end,
        case when n > 0 then array[n] else '{}' end, 0,
        case when n > 0 then array[date_bin('15 minutes', now, 'epoch')] else '{}' end,
        case when n > 0 then array[n] else '{}' end, 0, n, per_minute, per_day, now
      from (
        select bucket, least(wanted, per_minute, per_day) as n, per_minute, per_day, clock_timestamp() as now
        from unnest(
          ${ids}::uuid[], ${wanted.map(({ count }) => count)}::integer[],
          ${wanted.map(({ bucket }) => bucket.limits.perMinute)}::integer[],
          ${wanted.map(({ bucket }) => bucket.limits.perDay)}::integer[]
        ) as asked (bucket, wanted, per_minute, per_day)
        order by bucket
        offset 0
      ) as proposed
      on conflict (bucket) do update set
        (hits, hit_totals, hit_base, quarters, totals, base, granted, per_minute, per_day, decided_at) = (
          select d.hits, d.hit_totals, d.hit_base, d.quarters, d.totals, d.base, d.granted,
            excluded.per_minute, excluded.per_day, d.now
          from decide_rate(w.hits, w.hit_totals, w.hit_base, w.quarters, w.totals, w.base, clock_timestamp(),
            excluded.granted, excluded.per_minute, excluded.per_day) as d
        )
      returning bucket, granted,
        coalesce(hit_totals[cardinality(hit_totals)] - hit_base, 0) as "minuteCount",
        rate_ms(decided_at, hits[1] + interval '60 seconds') as "minuteResetMs",
        coalesce(totals[cardinality(totals)] - base, 0) as "dayCount",
        rate_ms(decided_at, quarters[1] + interval '24 hours 15 minutes') as "dayResetMs",
        rate_ms(decided_at, greatest(
          case when hit_totals[cardinality(hit_totals)] - hit_base >= per_minute
            then hits[1 + width_bucket(hit_totals[cardinality(hit_totals)] - per_minute, hit_totals)]
              + interval '60 seconds' end,
          case when totals[cardinality(totals)] - base >= per_day
            then quarters[1 + width_bucket(totals[cardinality(totals)] - per_day, totals)]
              + interval '24 hours 15 minutes' end)) as "freeMs"
    )
    select taken.*, whole_or_none(sum(granted) over (), ${atLeast}::bigint) from taken`)
}

/** Returns 128 bits of SHA-256 as a UUID in the database's form. */
export function bucketId(name: string): string {
  const hex = sha256Hex(name)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** Rows of one step of the sweep, so that locks are short. */
const sweepPage = 5_000

/**
 * Removes the rows in which nothing counts any more and returns how many. Walks the primary key,
 * because an index on time would cost every call. Never waits for a row, so neither a batch of
 * calls nor another sweep can wait for it in a circle.
 */
export async function sweepRateWindows(db: Queryable): Promise<number> {
  let removed = 0
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const [page] = await db.rows<{ last: string | null; removed: number }>(sql`
      with page as (
        select bucket from rate_windows where bucket > ${after}::uuid order by bucket limit ${sweepPage}
      ), dead as (
        select bucket from rate_windows
        where bucket in (select bucket from page)
          and decided_at < clock_timestamp() - interval '24 hours 15 minutes'
        for update skip locked
      ), gone as (
        delete from rate_windows where bucket in (select bucket from dead) returning bucket
      )
      select (select bucket from page order by bucket desc limit 1) as last, (select count(*) from gone) as removed`)
    if (page === undefined || page.last === null) return removed
    removed += page.removed
    after = page.last
  }
}
