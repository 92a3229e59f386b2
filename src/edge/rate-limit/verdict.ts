/** Pure: renders the state of a caller's buckets as the verdict on its call. */
import type { RateLimits } from '../http/contract.ts'
import type { ClientNetwork, RateVerdict, RateWindow } from './limiter.ts'

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** Fill of a bucket after a decision. */
export interface RateFill {
  minuteCount: number
  /** Milliseconds until the oldest counted call leaves the minute; 0 if none counts. */
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

/** The limits of one of a caller's buckets. */
export function bucketLimits(limits: RateLimits, factor: number): RateLimits {
  return { perMinute: limits.perMinute * factor, perDay: limits.perDay * factor }
}

/**
 * Builds the verdict: of each window, the bucket that has the least left; the wait is the longest
 * of all. A reset is at most its window away, as the policy says, although a call may count up to
 * 15 minutes longer; the wait includes them.
 */
export function verdictOf(
  allowed: boolean,
  limits: RateLimits,
  fills: readonly BucketFill[],
): RateVerdict {
  const minutes = fills.map(({ factor, fill }) =>
    windowOf(limits.perMinute, factor, fill.minuteCount, Math.min(fill.minuteResetMs, minuteMs)),
  )
  const days = fills.map(({ factor, fill }) =>
    windowOf(limits.perDay, factor, fill.dayCount, Math.min(fill.dayResetMs, dayMs)),
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
