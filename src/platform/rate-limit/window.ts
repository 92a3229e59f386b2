/**
 * Pure: the exact sliding windows of a rate limit (decision D11). Never more than `perMinute`
 * grants in any 60 seconds, nor more than `perDay` in any 24 hours. The minute is a log of times,
 * of half seconds for a large limit; the day is counted by quarter hours. Such a run of grants
 * leaves as a whole, so a denial may last half a second or 15 minutes longer than needed, and a
 * grant is never too early. `decide_rate` of the migrations decides by the same rules in the
 * database.
 */
import type { RateLimits } from '../http/contract.ts'
import type { ClientNetwork, RateVerdict, RateWindow } from './limiter.ts'

export const minuteMs = 60_000
export const quarterMs = 900_000
const dayMs = 86_400_000

/** Grants that leave together. */
export interface Run {
  /** In the minute, the time of the last grant; in the day, the begin of the quarter hour. */
  readonly at: number
  readonly count: number
}

/** State of one bucket. Times are milliseconds of one clock, ascending. */
export interface RateLog {
  readonly minute: readonly Run[]
  readonly day: readonly Run[]
}

export const emptyLog: RateLog = { minute: [], day: [] }

/** Fill of a bucket after a decision. */
export interface RateFill {
  minuteCount: number
  /** Milliseconds until the oldest counted run leaves the minute; 0 if none counts. */
  minuteResetMs: number
  dayCount: number
  dayResetMs: number
  /** Milliseconds until one more call is granted, if no other comes first. */
  freeMs: number
}

/** One of a caller's buckets: `factor` is how many times the limits it holds. */
export interface BucketFill {
  name: string
  factor: number
  fill: RateFill
}

/**
 * How many of `wanted` calls are granted now, and the log after that. What is refused leaves no
 * trace in it.
 */
export function decide(
  log: RateLog,
  now: number,
  wanted: number,
  limits: RateLimits,
): { granted: number; log: RateLog } {
  const { minute, day } = current(log, now)
  const room = Math.min(limits.perMinute - countOf(minute), limits.perDay - countOf(day))
  const granted = Math.max(0, Math.min(wanted, room))
  if (granted === 0) return { granted, log: { minute, day } }
  return {
    granted,
    log: {
      minute: withGrants(minute, now, granted, limits),
      day: added(day, { at: quarterOf(now), count: granted }),
    },
  }
}

/** Up to so many calls a minute every time is kept. */
const exactUpTo = 120
/**
 * Above, the grants of so long are one run: a row of the database would hold thousands of times.
 */
const grainMs = 500

function withGrants(
  minute: readonly Run[],
  now: number,
  count: number,
  { perMinute }: RateLimits,
): readonly Run[] {
  const last = minute.at(-1)
  const joins = perMinute > exactUpTo && last !== undefined && last.at >= floor(now, grainMs)
  return joins
    ? [...minute.slice(0, -1), { at: now, count: last.count + count }]
    : added(minute, { at: now, count })
}

/** `log` as `decide` returned it for the same `now`. */
export function fillOf({ minute, day }: RateLog, now: number, limits: RateLimits): RateFill {
  const [minuteCount, dayCount] = [countOf(minute), countOf(day)]
  const leaves = (run: Run | undefined, ms: number): number =>
    run === undefined ? 0 : run.at + ms - now
  const dayLeavesMs = quarterMs + dayMs
  return {
    minuteCount,
    minuteResetMs: leaves(minute[0], minuteMs),
    dayCount,
    dayResetMs: leaves(day[0], dayLeavesMs),
    freeMs: Math.max(
      leaves(freeing(minute, minuteCount - limits.perMinute), minuteMs),
      leaves(freeing(day, dayCount - limits.perDay), dayLeavesMs),
    ),
  }
}

/** The run with whose leaving `excess` turns below zero; undefined where it is. */
function freeing(runs: readonly Run[], excess: number): Run | undefined {
  if (excess < 0) return undefined
  let left = excess
  return runs.find(({ count }) => {
    left -= count
    return left < 0
  })
}

/** What still counts. Where the clock was set back, calls of the future count as calls of now. */
function current({ minute, day }: RateLog, now: number): RateLog {
  const quarter = quarterOf(now)
  return {
    minute: since(minute, now - minuteMs, now),
    day: since(day, quarter - quarterMs - dayMs, quarter),
  }
}

function since(runs: readonly Run[], start: number, now: number): readonly Run[] {
  const kept = runs.filter(({ at }) => at > start && at <= now)
  const future = countOf(runs.filter(({ at }) => at > now))
  return future === 0 ? kept : added(kept, { at: now, count: future })
}

function added(runs: readonly Run[], { at, count }: Run): readonly Run[] {
  const last = runs.at(-1)
  return last?.at === at
    ? [...runs.slice(0, -1), { at, count: last.count + count }]
    : [...runs, { at, count }]
}

function quarterOf(now: number): number {
  return floor(now, quarterMs)
}

function floor(now: number, stepMs: number): number {
  return Math.floor(now / stepMs) * stepMs
}

function countOf(runs: readonly Run[]): number {
  return runs.reduce((sum, { count }) => sum + count, 0)
}

/** The limits of one of a caller's buckets. */
export function bucketLimits(limits: RateLimits, factor: number): RateLimits {
  return { perMinute: limits.perMinute * factor, perDay: limits.perDay * factor }
}

/**
 * What the caller is told: of each window, the bucket that has the least left; the wait is the
 * longest of all.
 */
export function verdictOf(
  allowed: boolean,
  limits: RateLimits,
  fills: readonly BucketFill[],
): RateVerdict {
  const minutes = fills.map(({ factor, fill }) =>
    windowOf(limits.perMinute, factor, fill.minuteCount, fill.minuteResetMs),
  )
  const days = fills.map(({ factor, fill }) =>
    windowOf(limits.perDay, factor, fill.dayCount, fill.dayResetMs),
  )
  const waitMs = Math.max(...fills.map(({ fill }) => fill.freeMs))
  return {
    allowed,
    retryAfterSeconds: allowed ? 0 : Math.max(1, seconds(waitMs)),
    minute: tightest(minutes),
    day: tightest(days),
    full: fills.flatMap(({ name, fill: { freeMs } }) =>
      freeMs > 0 ? { name, freeMs: Math.ceil(freeMs) } : [],
    ),
  }
}

function windowOf(limit: number, factor: number, count: number, resetMs: number): RateWindow {
  const remaining = Math.min(limit, Math.max(0, limit * factor - count))
  return { limit, remaining, resetSeconds: seconds(resetMs) }
}

function tightest(windows: readonly RateWindow[]): RateWindow {
  return windows.reduce((least, window) => (window.remaining < least.remaining ? window : least))
}

function seconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1_000))
}

/** The name of a bucket, apart for each policy. */
export function bucketName(policy: { name: string }, bucket: ClientNetwork['buckets'][number]) {
  return `${policy.name}|${bucket.key}`
}
