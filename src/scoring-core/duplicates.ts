/** Pure: one artefact counts once for a skill and group (HSC-1 step 2). */
import type { Considered } from './evidence.ts'
import { sortInPlace } from './order.ts'

/**
 * The items of one skill without duplicates: of those with the same group and digest the one with the highest base stays, then the
 * newest, then the higher value, then the lower id. Sorts what it is given.
 */
export function withoutDuplicates(items: Considered[]): Considered[] {
  if (items.length === 1) return items
  sortInPlace(items, duplicateOrder)
  const kept: Considered[] = []
  let last: Considered | undefined
  for (const next of items) {
    const { group, digest } = next.item
    if (last === undefined || last.item.digest !== digest || last.item.group !== group) {
      kept.push(next)
      last = next
    }
  }
  return kept
}

/** Total over all that a result is made of, so that the order of the input never shows: type and assurance decide at last. */
function duplicateOrder(one: Considered, other: Considered): number {
  const a = one.item
  const b = other.item
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  if (one.base !== other.base) return other.base - one.base
  if (a.observedDay !== b.observedDay) return b.observedDay - a.observedDay
  if (a.value !== b.value) return b.value - a.value
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  return b.assurance - a.assurance
}
