/** Pure: the days of which usage is shown, in UTC. */
const dayMs = 86_400_000

/** Returns the last `count` days of UTC, today included, for `findUsage`. */
export function lastDays(count: number, now: Date): { since: Date; until: Date } {
  const today = Math.floor(now.getTime() / dayMs) * dayMs
  return { since: new Date(today - (count - 1) * dayMs), until: new Date(today + dayMs) }
}
