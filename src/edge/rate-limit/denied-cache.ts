/**
 * The denied cache remembers full buckets, so that a flood of denied calls costs the database
 * nothing. Time only removes grants from a bucket, on any node, so a bucket that is full until a
 * time stays full until then.
 */
import { RecentMap } from '../../platform/recent-map.ts'
import { type BucketFill, minuteMs, type RateFill } from './verdict.ts'

interface FullBucket {
  fill: RateFill
  at: number
  /** Callers that were let through to the database although this wider bucket is full. */
  asked: number
}

/**
 * If only a wider bucket is known to be full, the database is still asked, so that the caller
 * learns the longer wait if its own bucket is full too (another node may know). Beyond this many
 * times for one full bucket it is a flood.
 */
const askedMax = 256

export interface DeniedCache {
  /**
   * Returns the full buckets among the caller's at `now`, or null if the database must be asked.
   */
  find(buckets: readonly { name: string; factor: number }[], now: number): BucketFill[] | null
  /**
   * Stores the database's verdict at the time of its arrival. The first bucket is the caller's own.
   */
  remember(fills: readonly BucketFill[], now: number): void
  /** Returns whether one of the buckets is known to be full at `now`. */
  isFull(names: readonly string[], now: number): boolean
}

/**
 * Holds at most `bucketsMax` buckets. The oldest is forgotten first, and the database decides
 * again.
 */
export function createDeniedCache(bucketsMax: number): DeniedCache {
  const buckets = new RecentMap<FullBucket>(bucketsMax)

  function full(name: string, now: number): FullBucket | undefined {
    const bucket = buckets.get(name)
    if (bucket === undefined || bucket.at + bucket.fill.freeMs > now) return bucket
    buckets.delete(name)
    return undefined
  }

  return {
    find(callerBuckets, now) {
      for (const [i, { name, factor }] of callerBuckets.entries()) {
        const bucket = full(name, now)
        if (bucket === undefined) continue
        if (i > 0 && bucket.asked++ < askedMax) return null
        return [{ name, factor, fill: later(bucket.fill, now - bucket.at) }]
      }
      return null
    },

    remember(fills, now) {
      for (const [i, { name, fill }] of fills.entries()) {
        // A caller with this bucket has the wider ones too.
        const freeMs = Math.max(...fills.slice(i).map((wider) => wider.fill.freeMs))
        if (freeMs === 0) continue
        const asked = full(name, now)?.asked ?? 0
        buckets.set(name, { fill: { ...fill, freeMs }, at: now, asked })
      }
    },

    isFull: (names, now) => names.some((name) => full(name, now) !== undefined),
  }
}

/** Returns the fill of a full bucket `ms` later, with no grant in between. */
function later(fill: RateFill, ms: number): RateFill {
  return {
    minuteCount: ms < minuteMs ? fill.minuteCount : 0,
    minuteResetMs: Math.max(0, fill.minuteResetMs - ms),
    dayCount: fill.dayCount,
    dayResetMs: Math.max(0, fill.dayResetMs - ms),
    freeMs: fill.freeMs - ms,
  }
}
