/**
 * Reassignment of evidence by an operator. Disputed evidence stays where it is: the dispute must
 * find it there.
 */
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { findWorkerId } from '../../workers/api.ts'
import { unknownWorker } from '../../workers/username.ts'
import { type EvidenceName, findNamedEvidence } from '../evidence/evidence-names.ts'
import {
  evidenceNotFound,
  type Reassigned,
  type ReassignRefusal,
  reassignEvidence,
} from '../scores/reassign-evidence.ts'
import type { Scoring } from '../scores/scoring.ts'
import { findDisputed } from './store.ts'

interface Reassignment {
  /** Names of items, or a username: all unrevoked evidence of this worker. */
  what: readonly EvidenceName[] | { allOf: string }
  /** The username of the worker that receives the evidence. */
  to: string
  now: Date
}

/**
 * Moves all the evidence. Refuses if a dispute is about an item, and says which. The caller rolls a
 * refusal back.
 */
export async function reassignNamedEvidence(
  tx: Tx,
  scoring: Scoring,
  { what, to, now }: Reassignment,
): Promise<(Reassigned & { toWorkerId: string }) | Refusal<ReassignRefusal | 'evidence_disputed'>> {
  const toWorkerId = await findWorkerId(tx, to)
  if (toWorkerId === null) return unknownWorker(to)
  const items = await resolveItems(tx, what)
  if ('refusal' in items) return items
  const answer = await reassignEvidence(tx, scoring, { what: items.what, toWorkerId, now })
  if ('refusal' in answer) return answer.refusal === 'worker_not_found' ? unknownWorker(to) : answer
  const ids = answer.moved.map(({ evidenceId }) => evidenceId)
  const [disputed] = await findDisputed(tx, ids)
  if (disputed === undefined) return { ...answer, toWorkerId }
  const { evidenceId, disputeId } = disputed
  return refuse('evidence_disputed', {
    message: `${evidenceId} is disputed: end the dispute ${disputeId} first. Nothing was done.`,
  })
}

async function resolveItems(
  tx: Tx,
  named: Reassignment['what'],
): Promise<
  | { what: readonly string[] | { allOf: string } }
  | Refusal<'worker_not_found' | 'evidence_not_found'>
> {
  if ('allOf' in named) {
    const allOf = await findWorkerId(tx, named.allOf)
    return allOf === null ? unknownWorker(named.allOf) : { what: { allOf } }
  }
  const { ids, unknown } = await findNamedEvidence(tx, named)
  return unknown.length === 0 ? { what: ids } : evidenceNotFound(unknown)
}
