/**
 * What is promised within so many milliseconds, told by an order of events and not by the watch: a rival sets out at the same moment, waits as
 * long as was promised, and then does work of the same kind on the same machine. A slow machine and a busy one hold up both.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

export interface Promised {
  what: string
  withinMs: number
  /** What the rival does once it has waited. */
  rival(): Promise<unknown>
}

/** The result of `work`, which must be there before the rival is done. */
export async function beforeRival<Result>(
  { what, withinMs, rival }: Promised,
  work: Promise<Result>,
): Promise<Result> {
  const waiting = new AbortController()
  const late = Symbol('late')
  const beaten = pause(withinMs, undefined, waiting)
    .then(rival)
    .then(() => late)
  // Called off.
  beaten.catch(() => undefined)
  try {
    const first = await Promise.race([work, beaten])
    assert.ok(first !== late, `not within ${withinMs} ms: ${what}`)
    return await work
  } finally {
    waiting.abort()
  }
}
