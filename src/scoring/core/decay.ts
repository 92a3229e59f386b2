/** Pure: the share of an item that is left at an age (rule 4). */
import { halves } from './decay-table.ts'
import { floorOf } from './whole.ts'

/** The share of an item of today: 2^20. */
export const undecayed = 1_048_576

/** A month is 30.4375 days: 487 / 16. */
const sixteenthDaysPerMonth = 487

/** After more half-lives the share is 0. A shift by 32 would shift by 0. */
export const halfLivesMax = 20

/**
 * Returns the share after `ageDays`: halved for each whole half-life, in between read from the
 * table and interpolated. It differs from the curve by less than 2.4 parts of 2^20: 0.5 of the
 * table, 0.9 of the straight line, 1 of the rounding. With a half-life of 0 nothing decays.
 */
export function decayOf(ageDays: number, halfLifeMonths: number): number {
  if (halfLifeMonths === 0) return undecayed
  const elapsed = ageDays * 16
  const halfLife = halfLifeMonths * sixteenthDaysPerMonth
  const halvings = floorOf(elapsed, halfLife)
  if (halvings > halfLivesMax) return 0
  const steps = (elapsed % halfLife) * 256
  const step = floorOf(steps, halfLife)
  const before = halves[step] ?? 0
  const after = halves[step + 1] ?? 0
  return (before - floorOf((before - after) * (steps % halfLife), halfLife)) >> halvings
}

/** Returns the whole days after which at most half the mass is left; null without decay. */
export function halvesInDays(halfLifeMonths: number): number | null {
  if (halfLifeMonths === 0) return null
  return floorOf(halfLifeMonths * sixteenthDaysPerMonth + 15, 16)
}
