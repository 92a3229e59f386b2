/** Evidence whose last day is over counts no more. */
import type { Db } from '../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import { expireEvidence } from './store.ts'

/** Expires at most `limit` items, in one transaction with the marks of their workers; gives how many. Call again until it gives 0. */
export function expireDueEvidence(db: Db, now: Date, limit = 1_000): Promise<number> {
  return db.transaction(async (tx) => {
    const workers = await expireEvidence(tx, now, limit)
    await markForRecomputation(tx, workers, { reason: 'evidence_expired', now })
    return workers.length
  })
}
