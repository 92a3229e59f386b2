/**
 * Pure: a source that says the same again adds half as much each time (HSC-1 step 5), so that all items of one type of a group never
 * weigh more than twice the heaviest. Heaviest first, not newest first: otherwise a light new item would push down a heavy old one, and
 * good news could lower a score.
 */
import type { Considered } from './evidence.ts'
import { sortInPlace } from './order.ts'

/** What the items of a skill come to. */
export interface Totals {
  /** A: the sum of mass × value. */
  weighted: number
  /** N: the sum of mass, in millionths. */
  mass: number
}

/** After this place nothing is left of any item: a base is below 2^20. */
export const ranksMax = 20

/** Ranks the items of one skill, gives each its mass, and sums them up. Sorts what it is given. */
export function discountBySource(items: Considered[]): Totals {
  sortInPlace(items, discountOrder)
  let weighted = 0
  let mass = 0
  let before: Considered | undefined
  for (const next of items) {
    const { group, type, value } = next.item
    const follows = before?.item.type === type && before.item.group === group
    next.rank = follows && before !== undefined ? before.rank + 1 : 1
    next.mass = next.rank > ranksMax ? 0 : next.decayed >> (next.rank - 1)
    weighted += next.mass * value
    mass += next.mass
    before = next
  }
  return { weighted, mass }
}

function discountOrder(one: Considered, other: Considered): number {
  const a = one.item
  const b = other.item
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  if (one.decayed !== other.decayed) return other.decayed - one.decayed
  if (a.value !== b.value) return b.value - a.value
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  return 0
}
