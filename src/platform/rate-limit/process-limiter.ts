/**
 * The rate limiter of one process: the fallback while the shared limiter's database does not
 * answer. Its memory is bounded. If more buckets are active than it holds, it forgets the one that
 * called longest ago instead of denying newcomers: a caller with that many addresses is not held by
 * a limit per address, and all others must still be served.
 */

import { RecentMap } from '../recent-map.ts'
import type { RateLimiter } from './limiter.ts'
import {
  bucketLimits,
  bucketName,
  decide,
  emptyLog,
  fillOf,
  type RateLog,
  verdictOf,
} from './window.ts'

export interface InProcessRateLimiterOptions {
  /**
   * Number of processes that count for themselves. Each grants its share of the limit, rounded
   * down, and at least one call.
   */
  nodes: number
  /** Maximum of buckets. */
  bucketsMax?: number
  /** Milliseconds of a monotonic clock. */
  now?(): number
}

export function inProcessRateLimiter(options: InProcessRateLimiterOptions): RateLimiter {
  const { nodes, bucketsMax = 100_000, now: clock = () => performance.now() } = options
  const logs = new RecentMap<RateLog>(bucketsMax)
  const share = (limit: number): number => Math.max(1, Math.floor(limit / nodes))

  return {
    take(caller, policy) {
      const now = clock()
      const limits = { perMinute: share(policy.perMinute), perDay: share(policy.perDay) }
      const buckets = caller.buckets.map((bucket) => {
        const name = bucketName(policy, bucket)
        const own = bucketLimits(limits, bucket.factor)
        const log = logs.get(name) ?? emptyLog
        return { name, own, factor: bucket.factor, ...decide(log, now, 1, own), before: log }
      })
      const allowed = buckets.every(({ granted }) => granted === 1)
      const fills = buckets.map(({ name, own, factor, log, before }) => {
        const kept = allowed ? log : decide(before, now, 0, own).log
        logs.set(name, kept)
        return { name, factor, fill: fillOf(kept, now, own) }
      })
      return Promise.resolve(verdictOf(allowed, limits, fills))
    },
  }
}
