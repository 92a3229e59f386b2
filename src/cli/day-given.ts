import { dayOf } from '../platform/instant.ts'
import { usageError } from './fail.ts'

/** The start of a day in UTC, of the option that is named. */
export function dayGiven(option: string, text: string): Date {
  const day = dayOf(text)
  if (day === null) throw usageError(`${option} takes a day in UTC, such as 2026-05-14.`)
  return day
}
