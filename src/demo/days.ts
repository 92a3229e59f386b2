/** Pure: days before the moment at which the story is told. */

export const dayMs = 86_400_000

/** A date-time to the second, in UTC; of a day to come where `daysAgo` is below 0. */
export function timeAgo(toldAt: Date, daysAgo: number): string {
  const time = new Date(toldAt.getTime() - daysAgo * dayMs)
  return `${time.toISOString().slice(0, 19)}Z`
}

/** `YYYY-MM-DD` in UTC. */
export function dayAgo(toldAt: Date, daysAgo: number): string {
  return timeAgo(toldAt, daysAgo).slice(0, 10)
}
