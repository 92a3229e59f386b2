/** Keeps the days of the request log: makes the next ones, and removes those that are too old. */
import type { Db } from '../../platform/db/db.ts'
import { deleteCountsBefore, dropDaysBefore, makeDay } from './store.ts'

const dayMs = 86_400_000
/** Days made ahead, so that an outage of the job for a day loses nothing. */
const daysAhead = 2

/** Counts hold no call, so they stay longer: at least as long as the calls that they lead to. */
const countDaysMin = 90

/** `days` is how many days are kept besides today. 0 removes all, because nothing is logged. */
export async function keepRequestLogDays(
  db: Db,
  { days, now }: { days: number; now: Date },
): Promise<void> {
  const dayIn = (n: number) => new Date(now.getTime() + n * dayMs).toISOString().slice(0, 10)
  if (days > 0)
    for (let n = 0; n <= daysAhead; n++) await db.transaction((tx) => makeDay(tx, dayIn(n)))
  const first = days > 0 ? dayIn(-days) : dayIn(daysAhead + 1)
  await db.transaction((tx) => dropDaysBefore(tx, first))
  const counted = new Date(
    now.getTime() - (days > 0 ? Math.max(countDaysMin, days + 1) : 0) * dayMs,
  )
  await db.transaction((tx) => deleteCountsBefore(tx, counted))
}
