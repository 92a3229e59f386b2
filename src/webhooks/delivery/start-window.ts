/**
 * Ensures that no POST begins after DELETE has answered, on any number of processes and without a
 * lock for which deliveries would wait. A lease lets its process begin the POST for
 * `startWithinMs`, counted on the process's own monotonic clock from before the lease. If
 * connecting takes longer, the process checks the lease again before it writes a byte of the
 * request. The request that disables an endpoint answers only when every lease that existed at its
 * commit may no longer begin. No two clocks are compared.
 *
 * The replacement of a signing secret holds in the same way: a POST that begins later is signed
 * with the secrets as they are then.
 */
import { setTimeout as pause } from 'node:timers/promises'

export const startWithinMs = 250

/** Adds time for a request that began at the last moment. */
const settledAfterMs = startWithinMs + 50

/** Longer than the window plus the difference between two machines' clocks. */
const longAgoMs = 60_000

/**
 * Call it after the commit. When it resolves, no request begins that only the state before the
 * commit allowed. Resolves at once if the change was made long before `now`.
 */
export async function untilNothingStarts(changedAt: Date, now: Date): Promise<void> {
  if (now.getTime() - changedAt.getTime() > longAgoMs) return
  await pause(settledAfterMs)
}
