/** Pure: the months by which entries of the books are kept and archived, written `2026-11`, in UTC. */

const monthForm = /^[1-9]\d{3}-(0[1-9]|1[0-2])$/

/** Voids, late statements and clocks that differ may still enter something in a month that has just ended. */
const settledAfterMs = 2 * 86_400_000

export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7)
}

export function isMonth(text: string): boolean {
  return monthForm.test(text)
}

/** Returns a month and those after it, `count` in all. */
export function monthsFrom(month: string, count: number): string[] {
  const first = firstDay(month)
  return Array.from({ length: count }, (_, i) =>
    monthOf(new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + i))),
  )
}

export function firstDay(month: string): Date {
  return new Date(`${month}-01T00:00:00Z`)
}

/** Returns from when on nothing is entered in this month any more, so that it may be archived. */
export function settledFrom(month: string): Date {
  const [, next = month] = monthsFrom(month, 2)
  return new Date(firstDay(next).getTime() + settledAfterMs)
}

/**
 * Returns the reference of a charge: its month, which the database routes it by, and the request id. A request keeps the time at which it
 * began, so all attempts to charge it have one reference, also across the end of a month.
 */
export function chargeReference(begunAt: Date, requestId: string): string {
  return `${monthOf(begunAt)}:${requestId}`
}

/** References of a month's charges and voids are at or above the first and below the second, in the order of bytes. */
export function referencesOf(month: string): { first: string; end: string } {
  return { first: `${month}:`, end: `${month};` }
}
