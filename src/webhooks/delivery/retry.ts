/** Pure: the time of the next attempt. Time and chance are arguments. */
import { counted } from '../../platform/counted.ts'

/**
 * Waits before attempts 2, 3, … in seconds: 75 hours and 35 minutes in all, then the delivery is
 * given up.
 */
export const retryWaitsSeconds: readonly number[] = [
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
]

/** Returns in words how long an event is sent again: `3 days`. */
export function retrySpan(waitsSeconds: readonly number[]): string {
  const seconds = waitsSeconds.reduce((sum, wait) => sum + wait, 0)
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 'second']
  return counted(Math.floor(seconds / size), unit)
}

/**
 * Each wait is randomly up to this fraction shorter or longer, so that receivers that failed
 * together are not tried together.
 */
const jitter = 0.2
const retryAfterSecondsMax = 86_400

export interface FailedAttempt {
  /** Counts from 1. */
  attempt: number
  failedAt: Date
  /** Time until which the receiver asked to wait. */
  retryAfter: Date | null
  /** From 0 to 1. */
  chance: number
}

/**
 * Returns the time of the next attempt, or null once the delivery is given up. If the receiver
 * asked for a later time, that time counts, up to a day.
 */
export function nextAttemptAt(
  { attempt, failedAt, retryAfter, chance }: FailedAttempt,
  waitsSeconds: readonly number[] = retryWaitsSeconds,
): Date | null {
  const wait = waitsSeconds[attempt - 1]
  if (wait === undefined) return null
  const planned = failedAt.getTime() + wait * 1_000 * (1 + jitter * (2 * chance - 1))
  return new Date(Math.max(planned, retryAfter?.getTime() ?? 0))
}

/**
 * Parses Retry-After in seconds or as an HTTP date. Returns null if it is absent or malformed. The
 * result is at most a day from now.
 */
export function retryAfterOf(header: string | undefined, now: Date): Date | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d{1,9}$/.test(text) ? now.getTime() + Number(text) * 1_000 : httpDate(text)
  if (Number.isNaN(ms) || ms <= now.getTime()) return null
  return new Date(Math.min(ms, now.getTime() + retryAfterSecondsMax * 1_000))
}

/** Parses the preferred form of RFC 9110, section 5.6.7. */
function httpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? [\w :,-]+ GMT$/.test(text) ? Date.parse(text) : Number.NaN
}

/** Parses waits such as `5,300,1800`: at most 20 whole seconds. Throws with the expected form. */
export function parseRetryWaits(text: string): readonly number[] {
  const waits = text.split(',').map((part) => part.trim())
  if (waits.length > 20 || !waits.every((wait) => /^\d{1,7}$/.test(wait)))
    throw new Error('waits in whole seconds, separated by commas, at most 20')
  return waits.map(Number)
}
