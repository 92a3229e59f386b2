/**
 * The shared rate limiter: any number of nodes count in one table, and none lets a call too many through (decision D11).
 *
 * Cast: `rate_windows`, a row for each bucket, written here alone; `decide_rate`, which decides under the row's lock by the
 * database's clock; the coalescer, by which one statement decides for all calls that wait; the memory of refusals, which spares
 * the database what cannot be granted; the fallback, which answers while the database does not.
 */
import { sha256Hex } from './bytes.ts'
import { coalesce } from './coalesce.ts'
import { type Db, type Queryable, sql } from './db.ts'
import type { RateLimits } from './endpoint.ts'
import { UnavailableError } from './errors.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { rememberRefusals } from './rate-refusals.ts'
import {
  type BucketFill,
  bucketLimits,
  bucketName,
  type RateFill,
  verdictOf,
} from './rate-window.ts'
import { RecentMap } from './recent-map.ts'
import { tokenArray } from './sql-arrays.ts'

export interface DatabaseRateLimiterOptions {
  /** A small pool of its own, with `synchronousCommit: 'off'`: a decision must not wait for the disk. */
  db: Db
  /** Answers while the database does not. What it grants is not counted in the database. */
  fallback: RateLimiter
  /** Told once when an outage begins. */
  onOutage?(error: Error): void
  /** Refusals remembered at most. */
  refusalsMax?: number
  /** Milliseconds of a clock that only goes forward. */
  now?(): number
}

/** During an outage one call a second asks the database again; the others don't wait for it. */
const probeEveryMs = 1_000
/** A silent database is one that is down: behind us the call's own question waits for it once more, all within a second (decision D13). */
const answerWithinMs = 400

export function databaseRateLimiter(options: DatabaseRateLimiterOptions): RateLimiter {
  const { db, fallback, onOutage, refusalsMax = 100_000, now = () => performance.now() } = options
  const ask = coalesce<Call, Decision>({
    name: 'rate limiter',
    run: (calls) => decideBatch(db, calls),
    deadlineMs: answerWithinMs,
  })
  const refusals = rememberRefusals(refusalsMax)
  let probeAt: number | null = null

  return {
    async take(caller, policy) {
      const call = caller.buckets.map((bucket) => ({
        name: bucketName(policy, bucket),
        limits: bucketLimits(policy, bucket.factor),
        factor: bucket.factor,
      }))
      const time = now()
      const refused = refusals.find(call, time)
      if (refused !== null) return verdictOf(false, policy, refused)
      if (probeAt !== null) {
        if (time < probeAt) return fallback.take(caller, policy)
        probeAt = time + probeEveryMs
      }
      try {
        const { allowed, fills } = await ask(call)
        probeAt = null
        refusals.remember(fills, now())
        return verdictOf(allowed, policy, fills)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        if (probeAt === null) onOutage?.(error)
        probeAt = now() + probeEveryMs
        return fallback.take(caller, policy)
      }
    },
  }
}

interface Bucket {
  name: string
  limits: RateLimits
  factor: number
}

/** The buckets a call must fit into, the narrowest network first. */
type Call = readonly Bucket[]

/** Of one call: whether it was granted, and how full its buckets are after the batch it was in. */
interface Decision {
  allowed: boolean
  fills: readonly BucketFill[]
}

/** One statement where every call has one bucket; else a transaction, so that nobody sees a grant that is taken back. */
function decideBatch(db: Db, calls: readonly Call[]): Promise<Decision[]> {
  const levels = Math.max(...calls.map((call) => call.length))
  return levels === 1
    ? decideAll(db, calls, 1)
    : db.transaction((tx) => decideAll(tx, calls, levels))
}

/**
 * Level by level: a wider network is asked for what the narrower ones granted, first come first served, and what it refuses is
 * taken back. Every batch locks narrower before wider and each level in order, so no two batches wait for each other.
 */
async function decideAll(
  db: Queryable,
  calls: readonly Call[],
  levels: number,
): Promise<Decision[]> {
  const allowed = calls.map(() => true)
  const fills = new Map<string, RateFill>()
  const takenBack = new Map<string, Wanted>()
  for (let level = 0; level < levels; level++) {
    const wanted = new Map<string, Wanted>()
    for (const [i, call] of calls.entries()) want(wanted, call[level], allowed[i] ? 1 : 0)
    const left = await take(db, wanted, fills)
    for (const [i, call] of calls.entries()) {
      const bucket = call[level]
      if (bucket === undefined || !allowed[i]) continue
      const granted = left.get(bucket.name) ?? 0
      left.set(bucket.name, granted - 1)
      if (granted > 0) continue
      allowed[i] = false
      for (const narrower of call.slice(0, level)) want(takenBack, narrower, -1)
    }
  }
  if (takenBack.size > 0) await take(db, takenBack, fills)
  return calls.map((call, i) => ({
    allowed: allowed[i] === true,
    fills: call.map(({ name, factor }) => ({ name, factor, fill: fills.get(name) as RateFill })),
  }))
}

interface Wanted {
  bucket: Bucket
  count: number
}

function want(wanted: Map<string, Wanted>, bucket: Bucket | undefined, count: number): void {
  if (bucket === undefined) return
  const sum = wanted.get(bucket.name)
  if (sum === undefined) wanted.set(bucket.name, { bucket, count })
  else sum.count += count
}

/** Takes what is wanted of each bucket, writes down how full it is then, and returns how many were granted. */
async function take(
  db: Queryable,
  wanted: ReadonlyMap<string, Wanted>,
  fills: Map<string, RateFill>,
): Promise<Map<string, number>> {
  const names = new Map<string, string>()
  for (const name of wanted.keys()) names.set(bucketId(name), name)
  const rows = await takeRows(db, [...names.keys()], [...wanted.values()])
  const granted = new Map<string, number>()
  for (const { bucket, granted: count, ...fill } of rows) {
    const name = names.get(bucket) as string
    granted.set(name, count)
    fills.set(name, fill)
  }
  return granted
}

/**
 * The proposed row is the decision for a bucket that has none yet; an existing row is locked first and decided on as it is then,
 * at the time it is then: the clock must stay an argument beside the row, or the executor would read it once a statement.
 * `order by` makes all batches lock in one order.
 */
function takeRows(
  db: Queryable,
  ids: readonly string[],
  wanted: readonly Wanted[],
): Promise<(RateFill & { bucket: string; granted: number })[]> {
  return db.rows(sql`
    insert into rate_windows as w
      (bucket, hits, hit_totals, hit_base, quarters, totals, base, granted, per_minute, per_day, decided_at)
    select bucket, case when n > 0 then array[now] else '{}' end,
      case when n > 0 then array[n] else '{}' end, 0,
      case when n > 0 then array[date_bin('15 minutes', now, 'epoch')] else '{}' end,
      case when n > 0 then array[n] else '{}' end, 0, n, per_minute, per_day, now
    from (
      select bucket, least(wanted, per_minute, per_day) as n, per_minute, per_day, clock_timestamp() as now
      from unnest(
        ${tokenArray(ids)}::uuid[], ${tokenArray(wanted.map(({ count }) => count))}::integer[],
        ${tokenArray(wanted.map(({ bucket }) => bucket.limits.perMinute))}::integer[],
        ${tokenArray(wanted.map(({ bucket }) => bucket.limits.perDay))}::integer[]
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
            + interval '24 hours 15 minutes' end)) as "freeMs"`)
}

const ids = new RecentMap<string>(10_000)

/** 128 bits of SHA-256 as a UUID, as the database writes it. */
export function bucketId(name: string): string {
  const known = ids.get(name)
  if (known !== undefined) return known
  const id = digestId(name)
  ids.set(name, id)
  return id
}

function digestId(name: string): string {
  const hex = sha256Hex(name)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** Rows of one step of the sweep: short locks, and nobody waits long for them. */
const sweepPage = 5_000

/**
 * Removes the rows of which nothing counts any more and returns how many. Walks the key, for an index on time
 * would cost every call. Never waits for a row, so no batch of calls and no other sweep waits for it in a circle.
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
