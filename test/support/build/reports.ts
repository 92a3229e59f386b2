/** Locks, unlocks and reviews agent reporting for tests. */
import type { Performer } from '../../../src/operations/perform.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Db } from '../../../src/platform/db/db.ts'
import type { ReportServices } from '../../../src/reports/operations.ts'
import type { ReportingState } from '../../../src/reports/store.ts'
import { lockReporting, requestUnlockReview } from '../../../src/reports/unlock.ts'

/** Performs operations on reports as a server does; an account's name is its id. */
export function reportPerformer(db: Db): Performer<ReportServices> {
  const accounts: ReportServices['accounts'] = {
    named: async (_, text) => ({ id: text, name: text }),
    names: async () => new Map(),
  }
  return { db, clock: systemClock, services: { accounts, reports: { defaultState: 'unlocked' } } }
}

export function lock(db: Db, userId: string, now = new Date()): Promise<boolean> {
  return db.transaction((tx) => lockReporting(tx, userId, now))
}

/** Requests a review. Returns whether a new one is open, or the name of the refusal. */
export async function requestReview(
  db: Db,
  userId: string,
  { defaultState = 'locked', now = new Date() }: { defaultState?: ReportingState; now?: Date } = {},
): Promise<boolean | string> {
  const requested = await db.transaction((tx) =>
    requestUnlockReview(tx, { userId, defaultState, now }),
  )
  return 'refusal' in requested ? requested.refusal : requested.isNew
}
