/**
 * Checks a time limit by the order of two events instead of a stopwatch. A rival starts at the same
 * time, waits for the limit, and then does work of the same kind on the same machine. A slow or
 * busy machine delays both.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

export interface Promised {
  what: string
  withinMs: number
  /** Work of the rival after it has waited. */
  rival(): Promise<unknown>
}

/** Returns the result of `work`, which must end before the rival does. */
export async function beforeRival<Result>(
  { what, withinMs, rival }: Promised,
  work: Promise<Result>,
): Promise<Result> {
  const waiting = new AbortController()
  const late = Symbol('late')
  const beaten = pause(withinMs, undefined, waiting)
    .then(rival)
    .then(() => late)
  // Aborting the timer rejects this promise; that is not an error.
  beaten.catch(() => undefined)
  try {
    const first = await Promise.race([work, beaten])
    assert.ok(first !== late, `not within ${withinMs} ms: ${what}`)
    return await work
  } finally {
    waiting.abort()
  }
}
