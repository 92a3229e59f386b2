/**
 * Pure: the exact sliding windows of a rate limit (decision D11). Never more than `perMinute` grants in any 60 seconds, nor more than
 * `perDay` in any 24 hours. The minute is a log of times; the day is counted by quarter hours, and a quarter hour leaves as a whole,
 * so the day may refuse up to 15 minutes early, never late. `decide_rate` of the migrations decides by the same rules in the database.
 */
import type { RateLimits } from './endpoint.ts'
import type { ClientNetwork, RateVerdict, RateWindow } from './rate-limiter.ts'

export const minuteMs = 60_000
export const quarterMs = 900_000
const dayMs = 86_400_000

/** What one bucket remembers. Times are milliseconds of one clock, ascending. */
export interface RateLog {
  /** When the calls of the last minute were granted. */
  readonly hits: readonly number[]
  /** Quarter hours with a grant: when each began, and its grants. */
  readonly quarters: readonly { readonly start: number; readonly count: number }[]
}

export const emptyLog: RateLog = { hits: [], quarters: [] }

/** How full a bucket is, after a decision. */
export interface RateFill {
  minuteCount: number
  /** Milliseconds until the oldest counted call leaves the minute; 0 where none counts. */
  minuteResetMs: number
  dayCount: number
  dayResetMs: number
  /** Milliseconds until one more call is granted, if no other comes first; 0 where it would be now. */
  freeMs: number
}

/** One of a caller's buckets: `factor` is how many times the limits it holds. */
export interface BucketFill {
  name: string
  factor: number
  fill: RateFill
}

/** How many of `wanted` calls are granted now, and the log after that. What is refused leaves no trace in it. */
export function decide(
  log: RateLog,
  now: number,
  wanted: number,
  limits: RateLimits,
): { granted: number; log: RateLog } {
  const { hits, quarters } = current(log, now)
  const room = Math.min(limits.perMinute - hits.length, limits.perDay - dayCount(quarters))
  const granted = Math.max(0, Math.min(wanted, room))
  if (granted === 0) return { granted, log: { hits, quarters } }
  hits.push(...Array<number>(granted).fill(now))
  addTo(quarters, quarterOf(now), granted)
  return { granted, log: { hits, quarters } }
}

/** `log` as `decide` returned it for the same `now`. */
export function fillOf(log: RateLog, now: number, limits: RateLimits): RateFill {
  const { hits, quarters } = log
  const count = dayCount(quarters)
  const minuteLeaves = (hit: number | undefined): number =>
    hit === undefined ? 0 : hit + minuteMs - now
  const dayLeaves = (start: number | undefined): number =>
    start === undefined ? 0 : start + quarterMs + dayMs - now
  const minuteFull = hits.length >= limits.perMinute
  return {
    minuteCount: hits.length,
    minuteResetMs: minuteLeaves(hits[0]),
    dayCount: count,
    dayResetMs: dayLeaves(quarters[0]?.start),
    freeMs: Math.max(
      minuteFull ? minuteLeaves(hits[hits.length - limits.perMinute]) : 0,
      dayLeaves(freeing(quarters, count - limits.perDay)),
    ),
  }
}

/** The start of the quarter hour with whose leaving `excess` turns below zero; undefined where it is. */
function freeing(quarters: RateLog['quarters'], excess: number): number | undefined {
  if (excess < 0) return undefined
  let left = excess
  return quarters.find((quarter) => {
    left -= quarter.count
    return left < 0
  })?.start
}

/** What still counts. Where the clock was set back, calls of the future count as calls of now. */
function current(log: RateLog, now: number) {
  const start = quarterOf(now)
  const hits = log.hits.filter((hit) => hit > now - minuteMs).map((hit) => Math.min(hit, now))
  const quarters: { start: number; count: number }[] = []
  for (const quarter of log.quarters) {
    if (quarter.start > start - quarterMs - dayMs)
      addTo(quarters, Math.min(quarter.start, start), quarter.count)
  }
  return { hits, quarters }
}

function addTo(quarters: { start: number; count: number }[], start: number, count: number): void {
  const last = quarters.at(-1)
  if (last?.start === start) last.count += count
  else quarters.push({ start, count })
}

function quarterOf(now: number): number {
  return Math.floor(now / quarterMs) * quarterMs
}

function dayCount(quarters: RateLog['quarters']): number {
  let count = 0
  for (const quarter of quarters) count += quarter.count
  return count
}

/** The limits of one of a caller's buckets. */
export function bucketLimits(limits: RateLimits, factor: number): RateLimits {
  return { perMinute: limits.perMinute * factor, perDay: limits.perDay * factor }
}

/** What the caller is told: of each window, the bucket that has the least left; the wait is the longest of all. */
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
