/**
 * How "after DELETE has answered, no new POST starts" holds on any number of processes, without a lock that deliveries would wait
 * for. A lease lets its worker begin the POST for `startWithinMs`, counted from before the leasing on the worker's own steady clock; where
 * connecting takes longer, it asks again whether the lease still holds before a byte of the request is written. Whoever disables an
 * endpoint answers only when every lease that was there at the commit may no longer begin. No two clocks are compared.
 *
 * The replacement of a signing secret holds in the same way: a POST that begins later is signed with the secrets as they are then.
 */
import { setTimeout as pause } from 'node:timers/promises'

export const startWithinMs = 250

/** With room for what was begun at the last moment. */
const settledAfterMs = startWithinMs + 50

/** Longer than the window and the clocks of two machines together. */
const longAgoMs = 60_000

/**
 * Called after the commit: when it resolves, nothing begins any more that the state before the commit allowed. At once for a change that
 * was made long before `now`.
 */
export async function untilNothingStarts(changedAt: Date, now: Date): Promise<void> {
  if (now.getTime() - changedAt.getTime() > longAgoMs) return
  await pause(settledAfterMs)
}
