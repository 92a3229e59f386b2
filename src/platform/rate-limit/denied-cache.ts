/**
 * Pure: the denied cache remembers full buckets, so that a flood of denied calls costs the database
 * nothing. Time only removes grants from a bucket, on any node, so a bucket that is full until a
 * time stays full until then.
 */

import { RecentMap } from '../recent-map.ts'
import { type BucketFill, minuteMs, type RateFill } from './window.ts'

interface Refusal {
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

export interface Refusals {
  /**
   * Returns the full buckets among the caller's at `now`, or null if the database must be asked.
   */
  find(buckets: readonly { name: string; factor: number }[], now: number): BucketFill[] | null
  /**
   * Stores the database's verdict at the time of its arrival. The first bucket is the caller's own.
   */
  remember(fills: readonly BucketFill[], now: number): void
}

/**
 * Holds at most `refusalsMax` buckets. The oldest is forgotten first, and the database decides
 * again.
 */
export function rememberRefusals(refusalsMax: number): Refusals {
  const refusals = new RecentMap<Refusal>(refusalsMax)

  function full(name: string, now: number): Refusal | undefined {
    const refusal = refusals.get(name)
    if (refusal === undefined || refusal.at + refusal.fill.freeMs > now) return refusal
    refusals.delete(name)
    return undefined
  }

  return {
    find(buckets, now) {
      for (const [i, { name, factor }] of buckets.entries()) {
        const refusal = full(name, now)
        if (refusal === undefined) continue
        if (i > 0 && refusal.asked++ < askedMax) return null
        return [{ name, factor, fill: later(refusal.fill, now - refusal.at) }]
      }
      return null
    },

    remember(fills, now) {
      for (const [i, { name, fill }] of fills.entries()) {
        // A caller with this bucket has the wider ones too.
        const freeMs = Math.max(...fills.slice(i).map((wider) => wider.fill.freeMs))
        if (freeMs === 0) continue
        const asked = full(name, now)?.asked ?? 0
        refusals.set(name, { fill: { ...fill, freeMs }, at: now, asked })
      }
    },
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
