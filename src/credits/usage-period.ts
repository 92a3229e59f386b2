/** Pure: the days of which usage is shown, in UTC. */
import type { Period } from './examples.ts'

const dayMs = 86_400_000
const defaultDays = 30
const periodDaysMax = 400

export interface ReadPeriod {
  period: Period
  since: Date
  /** Excluded. */
  until: Date
}

/** Returns the days from `from` to `to`, both included, or a sentence that says what is wrong. */
export function readPeriod(
  { from, to }: { from?: string; to?: string },
  now: Date,
): ReadPeriod | { fault: string } {
  const last = to === undefined ? dayOf(now) : midnight(to)
  const first =
    from === undefined && last !== null
      ? new Date(last.getTime() - (defaultDays - 1) * dayMs)
      : midnight(from ?? '')
  if (first === null || last === null) return { fault: 'from and to must be days of the calendar.' }
  const days = (last.getTime() - first.getTime()) / dayMs + 1
  if (days < 1) return { fault: 'from must not be after to.' }
  if (days > periodDaysMax)
    return { fault: `from and to must be at most ${periodDaysMax} days apart.` }
  const text = (day: Date) => day.toISOString().slice(0, 10)
  return {
    period: { from: text(first), to: text(last) },
    since: first,
    until: new Date(last.getTime() + dayMs),
  }
}

/** Returns the last `count` days of UTC, today included, for `findUsage`. */
export function lastDays(count: number, now: Date): { since: Date; until: Date } {
  const today = dayOf(now).getTime()
  return { since: new Date(today - (count - 1) * dayMs), until: new Date(today + dayMs) }
}

function dayOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / dayMs) * dayMs)
}

/** Returns the beginning of the day, or null for a day such as 2026-02-30. */
function midnight(day: string): Date | null {
  const time = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day) ? time : null
}
