/** Pure: how much of an item's weight is left at an age (HSC-1 step 4). */
import { halves } from './decay-table.ts'
import { floorOf } from './whole.ts'

/** What nothing has decayed from: 2^20. */
export const undecayed = 1_048_576

/** A month is 30.4375 days: 487 / 16. */
const sixteenthDaysPerMonth = 487

/** Past so many half-lives nothing is left of 2^20; a shift by 32 would start again from none. */
const halfLivesMax = 20

/**
 * What is left of 2^20 after `ageDays`: halved for every whole half-life, in between read off the table and interpolated. Off by
 * less than 2.4 millionths: 0.5 of the table, 0.9 of the straight line, 1 of the rounding. A half-life of 0 months: nothing decays.
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

/** Whole days in which the weight of an item of any age halves at least; null when it does not decay. */
export function halvesInDays(halfLifeMonths: number): number | null {
  if (halfLifeMonths === 0) return null
  return floorOf(halfLifeMonths * sixteenthDaysPerMonth + 15, 16)
}
