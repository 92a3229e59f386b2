/** Pure: numbers, times and ids as pages write them. */
import { type Html, html, type Part } from './html.ts'

const minuteS = 60
const hourS = 3_600
const dayS = 86_400

// A formatter is made once: `toLocaleString` makes one at each call, which takes 40 times as long.
const numbers = new Intl.NumberFormat('en-US')
const dates = (parts: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: 'UTC' })
const longDates = dates({ day: 'numeric', month: 'long', year: 'numeric' })
const shortDates = dates({ day: 'numeric', month: 'short', year: 'numeric' })
const daysOfYear = dates({ day: 'numeric', month: 'short' })
const months = dates({ month: 'long', year: 'numeric' })

/** Formats a count, such as `1,204,331`. */
export function count(value: number): string {
  return numbers.format(value)
}

/** Formats a count with its noun, such as `1 key` or `12 keys`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** A text, such as a URL, that breaks behind its punctuation rather than inside its words. */
export function breakable(text: string): Part {
  return text.split(/(?<=[/.?&=-])/).map((piece, i) => (i === 0 ? piece : html`<wbr>${piece}`))
}

/** Such as `184 ms`, and from ten seconds on `15.00 s`. */
export function duration(ms: number): string {
  return ms < 10_000 ? `${count(Math.round(ms))} ms` : `${(ms / 1_000).toFixed(2)} s`
}

/** Such as `99.2 %`. All and nothing are exact: 99.97 % is not 100 %. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  if (part === whole) return '100 %'
  const rounded = Math.floor((part / whole) * 1_000) / 10
  return `${rounded.toFixed(1)} %`
}

/** The beginning and the end of an id, such as `evt_019ab0eb…7a80`. */
export function shortId(id: string): string {
  return id.length <= 20 ? id : `${id.slice(0, 12)}…${id.slice(-4)}`
}

/** A detail of an entry of the audit log. */
export function detailText(value: unknown): string {
  if (!Array.isArray(value)) return shortId(String(value))
  return value.length === 0 ? 'none' : value.join(', ')
}

/** Formats a time, such as `23 November 2026, 14:29:40 UTC`. */
export function fullTime(time: Date): string {
  return `${longDates.format(time)}, ${time.toISOString().slice(11, 19)} UTC`
}

/** Formats a day, such as `2 Jun 2026`. */
export function shortDate(time: Date): string {
  return shortDates.format(time)
}

/** Formats a day without its year, such as `18 Nov`. */
export function dayAndMonth(time: Date): string {
  return daysOfYear.format(time)
}

/** Such as `November 2025`, of a month such as `2025-11`. */
export function monthName(month: string): string {
  return months.format(new Date(`${month}-01T00:00:00Z`))
}

/** Such as `just now`, `18 s ago`, `yesterday`, `in 29 min`; beyond 7 days the date. */
export function relativeTime(time: Date, now: Date): string {
  const seconds = Math.round((time.getTime() - now.getTime()) / 1_000)
  const distance = Math.abs(seconds)
  if (distance < 2) return seconds > 0 ? 'now' : 'just now'
  if (distance >= 7 * dayS) return shortDate(time)
  if (seconds < 0 && distance >= dayS && distance < 2 * dayS) return 'yesterday'
  // What ends after 7 days ends in 7 days, also a second later.
  return seconds < 0
    ? `${lengthOf(distance, Math.floor)} ago`
    : `in ${lengthOf(distance, Math.round)}`
}

function lengthOf(seconds: number, whole: (value: number) => number): string {
  if (seconds < minuteS) return `${seconds} s`
  if (whole(seconds / minuteS) < 60) return `${whole(seconds / minuteS)} min`
  if (whole(seconds / hourS) < 24) return `${whole(seconds / hourS)} h`
  return counted(whole(seconds / dayS), 'day')
}

/** A time to wait, in words: `3 hours` or `20 minutes`. */
export function waitingTime(seconds: number): string {
  return seconds > hourS
    ? counted(Math.ceil(seconds / hourS), 'hour')
    : counted(Math.ceil(seconds / minuteS), 'minute')
}

/** A relative time with the absolute one in its title. */
export function timeTag(time: Date, now: Date): Html {
  return timeElement(time, relativeTime(time, now))
}

/** A time to come; one that has passed is due now. */
export function dueTag(time: Date, now: Date): Html {
  return timeElement(time, time > now ? relativeTime(time, now) : 'due now')
}

/** A date with the time in its title. */
export function dateTag(time: Date): Html {
  return timeElement(time, shortDate(time))
}

function timeElement(time: Date, words: string): Html {
  return html`<time datetime="${time.toISOString()}" title="${fullTime(time)}">${words}</time>`
}
