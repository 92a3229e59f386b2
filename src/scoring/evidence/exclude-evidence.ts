/**
 * Exclusion of evidence during a dispute, its restoration, and the expiry of evidence. Evidence that
 * is excluded or has expired does not count in a score, but keeps its row.
 */
import type { Db, Tx } from '../../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import { expireEvidence, lockEvidence, moveEvidence } from './store.ts'

/** Excludes the active items among `ids` within the caller's transaction and returns their ids. */
export function excludeEvidence(tx: Tx, ids: readonly string[], now: Date): Promise<string[]> {
  return move(tx, ids, { from: 'active', to: 'excluded', reason: 'evidence_excluded', now })
}

/**
 * Restores the excluded items among `ids` and returns their ids. An item that was revoked meanwhile
 * stays revoked; an item that has expired becomes `expired`.
 */
export function restoreEvidence(tx: Tx, ids: readonly string[], now: Date): Promise<string[]> {
  return move(tx, ids, { from: 'excluded', to: 'active', reason: 'evidence_restored', now })
}

type Move = { now: Date } & (
  | { from: 'active'; to: 'excluded'; reason: 'evidence_excluded' }
  | { from: 'excluded'; to: 'active'; reason: 'evidence_restored' }
)

async function move(tx: Tx, ids: readonly string[], { from, to, reason, now }: Move) {
  const found = await lockEvidence(tx, ids)
  const due = found.filter(({ state }) => state === from)
  const moved = due.map(({ evidenceId }) => evidenceId)
  if (moved.length === 0) return moved
  await moveEvidence(tx, moved, { to, now })
  const workers = due.map(({ workerId }) => workerId)
  await markForRecomputation(tx, workers, { reason, now })
  return moved
}

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
