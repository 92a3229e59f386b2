/**
 * Pure: many skills, one figure (HSC-1 step 8). The mean of the best k skills counts a share that rises with k; the best of the five
 * products is the whole. Another skill never lowers it, one superb skill is worth up to 700, and breadth beyond five adds nothing.
 */
import { sortInPlace } from './order.ts'
import { parameters } from './parameters.ts'
import { ceilOf, floorOf } from './whole.ts'

/** Rounded down; 0 without skills. Leaves `values` as they are. */
export function ladderFloor(values: readonly number[]): number {
  return ladder(values, floorOf)
}

/** Rounded up. */
export function ladderCeil(values: readonly number[]): number {
  return ladder(values, ceilOf)
}

function ladder(values: readonly number[], divide: (a: number, b: number) => number): number {
  const best = [...values]
  sortInPlace(best, (a, b) => b - a)
  let sum = 0
  let highest = 0
  for (let k = 0; k < parameters.ladder.length && k < best.length; k++) {
    sum += best[k] ?? 0
    const whole = divide((parameters.ladder[k] ?? 0) * sum, 1_000 * (k + 1))
    if (whole > highest) highest = whole
  }
  return highest
}
