/**
 * The rate limiter of one process: the fallback while the shared limiter's database does not
 * answer. It logs the time of each granted call. Its memory is bounded: if more calls are logged
 * than it may hold, it forgets the bucket that called longest ago instead of denying newcomers. A
 * caller with that many addresses is not held by a limit per address, and all others must still be
 * served.
 */
import type { RateLimits } from '../http/contract.ts'
import type { RateLimiter } from './limiter.ts'
import { bucketLimits, bucketName, dayMs, minuteMs, type RateFill, verdictOf } from './verdict.ts'

export interface InProcessRateLimiterOptions {
  /**
   * Number of processes that count for themselves. Each grants its share of the limit, rounded
   * down, and at least one call.
   */
  nodes: number
  /** Maximum of logged calls and buckets together. */
  entriesMax?: number
  /** Milliseconds of a monotonic clock. */
  now?(): number
}

interface CallLog {
  /** The times of the granted calls of the last day, ascending. */
  times: number[]
  /** The time from which the bucket has room, as far as its last call found. */
  freeAt: number
}

export function inProcessRateLimiter(options: InProcessRateLimiterOptions): RateLimiter {
  const { nodes, entriesMax = 2_000_000, now: clock = () => performance.now() } = options
  /** The logs by bucket name. The bucket whose last call is oldest comes first. */
  const logs = new Map<string, CallLog>()
  let entries = 0
  const share = (limit: number): number => Math.max(1, Math.floor(limit / nodes))

  /** Returns the log of a bucket without calls that no longer count, as the latest of all. */
  function logOf(name: string, now: number): CallLog {
    const log = logs.get(name) ?? { times: [], freeAt: 0 }
    const counted = log.times.findIndex((time) => time > now - dayMs)
    entries -= log.times.splice(0, counted === -1 ? log.times.length : counted).length
    if (!logs.delete(name)) entries++
    logs.set(name, log)
    return log
  }

  function forgetOldest(): void {
    for (const [name, { times }] of logs) {
      if (entries <= entriesMax) return
      logs.delete(name)
      entries -= 1 + times.length
    }
  }

  return {
    take(caller, policy) {
      const now = clock()
      const limits = { perMinute: share(policy.perMinute), perDay: share(policy.perDay) }
      const buckets = caller.buckets.map((bucket) => {
        const name = bucketName(policy, bucket)
        const own = bucketLimits(limits, bucket.factor)
        return { name, factor: bucket.factor, own, log: logOf(name, now) }
      })
      const allowed = buckets.every(({ own, log }) => fillOf(log, now, own).freeMs === 0)
      const fills = buckets.map(({ name, factor, own, log }) => {
        if (allowed) {
          log.times.push(now)
          entries++
        }
        const fill = fillOf(log, now, own)
        log.freeAt = now + fill.freeMs
        return { name, factor, fill }
      })
      forgetOldest()
      return Promise.resolve(verdictOf(allowed, limits, fills))
    },

    isFull(caller, policy) {
      const now = clock()
      return caller.buckets.some(
        (bucket) => (logs.get(bucketName(policy, bucket))?.freeAt ?? now) > now,
      )
    },
  }
}

/** Returns the fill of a log in which every call counts for the day. */
function fillOf({ times }: CallLog, now: number, { perMinute, perDay }: RateLimits): RateFill {
  const minuteBegin = times.findLastIndex((time) => time <= now - minuteMs) + 1
  const leaves = (time: number | undefined, ms: number): number =>
    time === undefined ? 0 : time + ms - now
  return {
    minuteCount: times.length - minuteBegin,
    minuteResetMs: leaves(times[minuteBegin], minuteMs),
    dayCount: times.length,
    dayResetMs: leaves(times[0], dayMs),
    // With the leaving of the call that stands so far from the end, the window has room.
    freeMs: Math.max(0, leaves(times.at(-perMinute), minuteMs), leaves(times.at(-perDay), dayMs)),
  }
}
