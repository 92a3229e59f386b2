/**
 * Reassignment of evidence by an operator. Disputed evidence stays where it is: the dispute must
 * find it there.
 */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { type EvidenceName, findNamedEvidence } from '../evidence/evidence-names.ts'
import type { Tx } from '../platform/db/db.ts'
import { type Reassigned, reassignEvidence } from '../scores/reassign-evidence.ts'
import type { Scoring } from '../scores/scoring.ts'
import { findWorkerId } from '../workers/store.ts'
import { findDisputed } from './store.ts'

export interface Reassignment {
  /** Names of items, or a username: all unrevoked evidence of this worker. */
  what: readonly EvidenceName[] | { allOf: string }
  /** The username of the worker that receives the evidence. */
  to: string
}

export type ReassignedByName =
  | Exclude<Reassigned, { outcome: 'unknown_worker' }>
  | { outcome: 'unknown_worker'; username: string }

/** Thrown to roll the reassignment back. */
class EvidenceDisputed extends Error {
  override readonly name = 'EvidenceDisputed'
}

/** An entry of the audit log names at most so many items. */
const subjectsMax = 256

/** Moves all the evidence or nothing. Throws if a dispute is about an item, and says which. */
export function reassignNamedEvidence(
  context: ActionContext,
  scoring: Scoring,
  { what, to }: Reassignment,
): Promise<ReassignedByName> {
  return audited(context, 'evidence.reassigned', async (tx, now) => {
    const toWorkerId = await findWorkerId(tx, to)
    if (toWorkerId === null) return unchanged({ outcome: 'unknown_worker', username: to })
    const items = await resolveItems(tx, what)
    if ('refused' in items) return unchanged(items.refused)
    const answer = await reassignEvidence(tx, scoring, { what: items.what, toWorkerId, now })
    if (answer.outcome === 'unknown_worker') return unchanged({ ...answer, username: to })
    if (answer.outcome !== 'reassigned') return unchanged(answer)
    await requireUndisputed(tx, answer.moved)
    return changed(answer, ...auditEntriesOf(answer.moved, toWorkerId))
  })
}

async function resolveItems(
  tx: Tx,
  named: Reassignment['what'],
): Promise<{ what: readonly string[] | { allOf: string } } | { refused: ReassignedByName }> {
  if ('allOf' in named) {
    const allOf = await findWorkerId(tx, named.allOf)
    if (allOf !== null) return { what: { allOf } }
    return { refused: { outcome: 'unknown_worker', username: named.allOf } }
  }
  const { ids, unknown } = await findNamedEvidence(tx, named)
  if (unknown.length === 0) return { what: ids }
  return { refused: { outcome: 'not_found', evidenceIds: unknown } }
}

type Moved = (Reassigned & { outcome: 'reassigned' })['moved']

async function requireUndisputed(tx: Tx, moved: Moved): Promise<void> {
  const ids = moved.map(({ evidenceId }) => evidenceId)
  const [disputed] = await findDisputed(tx, ids)
  if (disputed !== undefined)
    throw new EvidenceDisputed(
      `${disputed.evidenceId} is disputed: end the dispute ${disputed.disputeId} first. Nothing was done.`,
    )
}

function auditEntriesOf(moved: Moved, to: string) {
  return [...Map.groupBy(moved, ({ fromWorkerId }) => fromWorkerId)].flatMap(([from, items]) => {
    const ids = items.map(({ evidenceId }) => evidenceId)
    const parts = Array.from({ length: Math.ceil(ids.length / subjectsMax) }, (_, i) =>
      ids.slice(i * subjectsMax, (i + 1) * subjectsMax),
    )
    return parts.map((subjects) => ({ subjects, details: { from, to, count: subjects.length } }))
  })
}
