/** Revokes evidence, for ever: the row stays and tells why and by whom. */
import type { Tx } from '../platform/db/db.ts'
import { markForRecomputation } from './recomputation-store.ts'
import type { RevocationReason } from './schema.ts'
import { lockEvidence, markEvidenceRevoked } from './store.ts'

export interface Revocation {
  reason: RevocationReason
  /** Who decided it. */
  actor: string
  now: Date
}

export interface RevokedEvidence {
  /** Ids that were revoked now, and those that had been before: these keep their first reason. */
  revoked: string[]
  alreadyRevoked: string[]
  notFound: string[]
}

/** `ids` in lowercase, each once. Whoever loses evidence is due to be scored again, in the same transaction. */
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
