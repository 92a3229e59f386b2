/** Fails a test whose event does not come, instead of letting it wait forever. */
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds. Longer than any step takes on the slowest machine under load. */
export const testWaitMs = 180_000

/** Returns the result of `work`. Throws if there is none after `testWaitMs`. */
export async function inTime<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const waiting = new AbortController()
  const late = pause(testWaitMs, undefined, waiting).then(() => {
    throw new Error(`not within ${testWaitMs} ms: ${what}`)
  })
  // Aborting the timer rejects this promise; that is not an error.
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    waiting.abort()
  }
}
