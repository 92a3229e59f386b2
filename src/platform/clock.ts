/**
 * Time is an argument: verbs take `now`, processes pass a clock. Also times as people write them.
 */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Returns a time as the wire writes it: UTC, whole seconds, e.g. `2026-05-14T09:00:00Z`. */
export function wireTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

const form =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * Returns an ISO 8601 date-time with a zone, or null. A day that no month has, or hour 24, is not
 * moved into the next day.
 */
export function instantOf(text: string): Date | null {
  const day = form.exec(text)?.[1]
  return day === undefined || dayOf(day) === null ? null : validOrNull(new Date(text))
}

/** The start of a day `YYYY-MM-DD` in UTC, or null. */
export function dayOf(text: string): Date | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const day = validOrNull(new Date(`${text}T00:00:00Z`))
  // A day that the month does not have becomes one of the next month.
  return day?.getUTCDate() === Number(text.slice(8)) ? day : null
}

/** The month of a time in UTC, as `YYYY-MM`. */
export function monthOf(time: Date): string {
  return time.toISOString().slice(0, 7)
}

function validOrNull(time: Date): Date | null {
  return Number.isNaN(time.getTime()) ? null : time
}
