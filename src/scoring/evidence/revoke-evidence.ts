/** Permanent revocation of evidence. The row stays, with the reason and the actor. */
import type { Tx } from '../../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import type { RevocationReason } from './schema.ts'
import { lockEvidence, markEvidenceRevoked } from './store.ts'

export interface Revocation {
  reason: RevocationReason
  /** Actor of the revocation. */
  actor: string
  now: Date
}

export interface RevokedEvidence {
  /** Ids revoked by this call. Ids in `alreadyRevoked` keep their first reason. */
  revoked: string[]
  alreadyRevoked: string[]
  notFound: string[]
}

/**
 * Revokes evidence and marks its workers for recomputation in the same transaction. `ids` are in
 * lowercase, each once.
 */
export async function revokeEvidence(
  tx: Tx,
  ids: readonly string[],
  revocation: Revocation,
): Promise<RevokedEvidence> {
  const found = await lockEvidence(tx, ids)
  const due = found.filter(({ state }) => state !== 'revoked')
  const revoked = due.map(({ evidenceId }) => evidenceId)
  const known = new Set(found.map(({ evidenceId }) => evidenceId))
  if (due.length > 0) {
    await markEvidenceRevoked(tx, revoked, revocation)
    const workers = due.map(({ workerId }) => workerId)
    await markForRecomputation(tx, workers, { reason: 'evidence_revoked', now: revocation.now })
  }
  return {
    revoked,
    alreadyRevoked: [...known].filter((id) => !revoked.includes(id)),
    notFound: ids.filter((id) => !known.has(id)),
  }
}
