/** Expiry of evidence: from its `expires_on` on, an item no longer counts. */
import type { Db } from '../../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import { expireEvidence } from './store.ts'

/**
 * Expires at most `limit` items and marks their workers in the same transaction. Returns the number
 * of expired items; call again until it returns 0.
 */
export function expireDueEvidence(db: Db, now: Date, limit = 1_000): Promise<number> {
  return db.transaction(async (tx) => {
    const workers = await expireEvidence(tx, now, limit)
    await markForRecomputation(tx, workers, { reason: 'evidence_expired', now })
    return workers.length
  })
}
