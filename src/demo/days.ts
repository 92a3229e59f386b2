/** Pure: dates counted back from the day on which the demo was seeded. */

export const dayMs = 86_400_000

/** Returns a date-time in UTC, to the second. A negative `daysAgo` is a day in the future. */
export function timeAgo(seededAt: Date, daysAgo: number): string {
  const time = new Date(seededAt.getTime() - daysAgo * dayMs)
  return `${time.toISOString().slice(0, 19)}Z`
}

/** Returns the date in UTC as `YYYY-MM-DD`. */
export function dayAgo(seededAt: Date, daysAgo: number): string {
  return timeAgo(seededAt, daysAgo).slice(0, 10)
}
