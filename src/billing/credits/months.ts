/**
 * The months by which ledger entries are partitioned and archived, written `2026-11`, in UTC. Pure.
 */

export const monthPattern = '^[1-9]\\d{3}-(0[1-9]|1[0-2])$'
const monthForm = new RegExp(monthPattern)

/**
 * Refunds, late statements and clocks that differ may still add entries to a month that has just
 * ended.
 */
const settledAfterMs = 2 * 86_400_000

export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7)
}

export function isMonth(text: string): boolean {
  return monthForm.test(text)
}

/** Returns `count` months, starting with `month`. */
export function monthsFrom(month: string, count: number): string[] {
  const first = firstDay(month)
  return Array.from({ length: count }, (_, i) =>
    monthOf(new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + i))),
  )
}

export function firstDay(month: string): Date {
  return new Date(`${month}-01T00:00:00Z`)
}

/** Returns the time from which no entry is added to this month, so that it can be archived. */
export function settledFrom(month: string): Date {
  const [, next = month] = monthsFrom(month, 2)
  return new Date(firstDay(next).getTime() + settledAfterMs)
}

/**
 * Returns the reference of a charge: its month, by which the database chooses the partition, and
 * the request id. A request keeps the time at which it began, so all attempts to charge it have the
 * same reference, even across the end of a month.
 */
export function chargeReference(begunAt: Date, requestId: string): string {
  return `${monthOf(begunAt)}:${requestId}`
}

/**
 * Returns the byte-order range of a month's charges and refunds: from `first` (included) to `end`
 * (excluded).
 */
export function referencesOf(month: string): { first: string; end: string } {
  return { first: `${month}:`, end: `${month};` }
}

const dayMs = 86_400_000

/** Returns the last `count` days of UTC, today included, for `findUsage`. */
export function lastDays(count: number, now: Date): { since: Date; until: Date } {
  const today = Math.floor(now.getTime() / dayMs) * dayMs
  return { since: new Date(today - (count - 1) * dayMs), until: new Date(today + dayMs) }
}
