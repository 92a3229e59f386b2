/** Sets evidence aside while it is disputed, and takes it back: it counts for nothing meanwhile, and nothing is lost. */
import type { Tx } from '../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import { lockEvidence, moveEvidence } from './store.ts'

/** Gives the ids it excluded: those that were active. Inside the caller's transaction. */
export function excludeEvidence(tx: Tx, ids: readonly string[], now: Date): Promise<string[]> {
  return move(tx, ids, { from: 'active', to: 'excluded', reason: 'evidence_excluded', now })
}

/** Gives the ids it restored: those that were excluded. What was revoked meanwhile stays revoked; what has expired is expired. */
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
