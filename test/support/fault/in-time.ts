/** What must come and does not: a test fails then, and waits no longer. */
import { setTimeout as pause } from 'node:timers/promises'

/** No machine and no load that tests run under is as slow. */
export const patienceMs = 180_000

/** What `work` gives. Throws where nothing comes. */
export async function inTime<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const waiting = new AbortController()
  const late = pause(patienceMs, undefined, waiting).then(() => {
    throw new Error(`not within ${patienceMs} ms: ${what}`)
  })
  // Called off.
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    waiting.abort()
  }
}
