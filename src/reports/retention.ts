/**
 * Deletes reports by age, or with the worker they are about. Their Idempotency-Keys stay, so that a
 * repeated request does not bring a report back.
 */
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7Floor } from '../platform/db/uuid-v7.ts'
import { deleteReportsAbout, deleteReportsBefore } from './store.ts'

const dayMs = 86_400_000
const batch = 1_000

/**
 * Deletes reports older than `days`, batch by batch. Several processes may do so at the same time.
 * Returns how many were deleted.
 */
export async function sweepReports(
  db: Db,
  { days, now }: { days: number; now: Date },
): Promise<number> {
  const before = uuidV7Floor(new Date(now.getTime() - days * dayMs))
  let deleted = 0
  for (let count = batch; count === batch; deleted += count)
    count = await deleteReportsBefore(db, before, batch)
  return deleted
}

/** A worker, by every username and score id of theirs. */
export interface ErasedWorker {
  usernames: readonly string[]
  /** 64 lowercase hex characters. */
  scoreIds: readonly string[]
}

/** Deletes the reports of all accounts about a worker. Returns how many. */
export function eraseReportsAbout(tx: Tx, { usernames, scoreIds }: ErasedWorker): Promise<number> {
  return deleteReportsAbout(tx, [
    ...usernames.map((username) => ({ kind: 'candidate' as const, username })),
    ...scoreIds.map((scoreId) => ({ kind: 'score' as const, scoreId })),
  ])
}
