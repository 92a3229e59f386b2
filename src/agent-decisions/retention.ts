/** How reports go: by age, or with the person they are about. Their Idempotency-Keys stay, so that no repeat brings one back. */
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7Floor } from '../platform/db/uuid-v7.ts'
import { deleteReportsAbout, deleteReportsBefore } from './store.ts'

const dayMs = 86_400_000
const batch = 1_000

/** Deletes what is older than `days`, a batch at a time; several processes may do so at once. How many. */
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

/** A person, by every username and score id that they had. */
export interface ErasedPerson {
  usernames: readonly string[]
  /** 64 lowercase hex characters. */
  scoreIds: readonly string[]
}

/** Deletes every report about the person, whoever made it; how many. */
export function eraseReportsAbout(tx: Tx, { usernames, scoreIds }: ErasedPerson): Promise<number> {
  return deleteReportsAbout(tx, [
    ...usernames.map((username) => ({ kind: 'candidate' as const, username })),
    ...scoreIds.map((scoreId) => ({ kind: 'score' as const, scoreId })),
  ])
}
