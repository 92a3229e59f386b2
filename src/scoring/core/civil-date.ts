/**
 * Pure: converts between `YYYY-MM-DD` and days since 1970-01-01 in whole numbers: UTC, years 0000
 * to 9999, Gregorian also before 1582.
 */
import { floorOf } from './whole.ts'

/** Days from 0000-03-01 to 1970-01-01. Years begin in March, so the leap day is the last of a year. */
const epochFromMarch = 719_468
const daysPerEra = 146_097
const yearsPerEra = 400
/** Four centuries more, so that January and February of the year 0000 are not negative. */
const erasBefore = 1

/** Returns null for a date that the calendar does not have. */
export function dayOfDate(date: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return null
  const year = Number(date.slice(0, 4))
  const month = Number(date.slice(5, 7))
  const day = Number(date.slice(8, 10))
  if (month < 1 || month > 12 || day < 1) return null
  const marchYear = (month > 2 ? year : year - 1) + yearsPerEra * erasBefore
  const marchMonth = month > 2 ? month - 3 : month + 9
  const yearOfEra = marchYear % yearsPerEra
  const leapDays = floorOf(yearOfEra, 4) - floorOf(yearOfEra, 100)
  const dayOfEra = yearOfEra * 365 + leapDays + daysBefore(marchMonth) + day - 1
  const since = floorOf(marchYear, yearsPerEra) * daysPerEra + dayOfEra
  const found = since - daysPerEra * erasBefore - epochFromMarch
  // 30 February would be 2 March.
  return dateOfDay(found) === date ? found : null
}

/** @throws RangeError outside the years 0000 to 9999 */
export function dateOfDay(day: number): string {
  if (!Number.isInteger(day) || day < -719_528 || day > 2_932_896)
    throw new RangeError(`no day of the years 0000 to 9999: ${day}`)
  const since = day + epochFromMarch + daysPerEra * erasBefore
  const dayOfEra = since % daysPerEra
  const leapDays = floorOf(dayOfEra, 1_460) - floorOf(dayOfEra, 36_524) + floorOf(dayOfEra, 146_096)
  const yearOfEra = floorOf(dayOfEra - leapDays, 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + floorOf(yearOfEra, 4) - floorOf(yearOfEra, 100))
  const marchMonth = floorOf(5 * dayOfYear + 2, 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const marchYear = yearOfEra + (floorOf(since, daysPerEra) - erasBefore) * yearsPerEra
  const year = month > 2 ? marchYear : marchYear + 1
  const dayOfMonth = dayOfYear - daysBefore(marchMonth) + 1
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(dayOfMonth, 2)}`
}

/** Days of a year that begins in March before its month 0 (March) to 11 (February). */
function daysBefore(marchMonth: number): number {
  return floorOf(153 * marchMonth + 2, 5)
}

function digits(number: number, width: number): string {
  return String(number).padStart(width, '0')
}
