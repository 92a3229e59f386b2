/** The verbs by which operators open, review and end disputes. */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { type EvidenceName, findNamedEvidence } from '../evidence/evidence-names.ts'
import type { Scoring } from '../scores/scoring.ts'
import { findWorkerId } from '../workers/store.ts'
import type { DisputeKind, Ending } from './dispute.ts'
import { type Ended, endDispute } from './end-dispute.ts'
import { type Opening, openDispute, type Reviewing, reviewDispute } from './open-dispute.ts'

export interface NamedDispute {
  username: string
  kind: DisputeKind
  /** At least one if the kind is `evidence`, otherwise none. */
  names: readonly EvidenceName[]
  restricted: boolean
  exclude: boolean
  dueDays: number
  by: string
}

export function openNamedDispute(context: ActionContext, named: NamedDispute): Promise<Opening> {
  const { username, kind, names, restricted, exclude, dueDays, by: actor } = named
  return audited(context, 'disputes.opened', async (tx, now) => {
    const workerId = await findWorkerId(tx, username)
    if (workerId === null) return unchanged({ outcome: 'unknown_worker' })
    const { ids: evidenceIds, unknown } = await findNamedEvidence(tx, names)
    if (unknown.length > 0) return unchanged({ outcome: 'not_theirs', evidenceIds: unknown })
    const request = { workerId, kind, evidenceIds, restricted, exclude }
    const dueAt = new Date(now.getTime() + dueDays * 86_400_000)
    const opening = await openDispute(tx, request, { actor, now, dueAt })
    if (opening.outcome !== 'opened') return unchanged(opening)
    const { id, items } = opening.dispute
    const excluded = items.filter((item) => item.excluded).length
    return changed(opening, { subjects: [id], details: { kind, restricted, excluded } })
  })
}

export function beginReview(
  context: ActionContext,
  disputeId: string,
  by: string,
): Promise<Reviewing> {
  return audited(context, 'disputes.reviewed', async (tx, now) => {
    const reviewing = await reviewDispute(tx, disputeId, { actor: by, now })
    if (reviewing.outcome !== 'under_review') return unchanged(reviewing)
    return changed(reviewing, { subjects: [disputeId] })
  })
}

export interface NamedEnding {
  disputeId: string
  ending: Ending
  /** The items that are upheld, if the dispute is partly upheld. */
  names: readonly EvidenceName[]
  by: string
}

/** Resolves or withdraws a dispute, with its consequences. */
export async function endNamedDispute(
  context: ActionContext,
  scoring: Scoring,
  { disputeId, ending, names, by: actor }: NamedEnding,
): Promise<Ended> {
  const { ids: upheldIds, unknown } = await findNamedEvidence(context.db, names)
  if (unknown.length > 0)
    return { outcome: 'unusable', reason: `no evidence has the name ${unknown.join(', ')}` }
  const decision = { disputeId, upheldIds, actor }
  if (ending === 'withdrawn')
    return audited(context, 'disputes.withdrawn', async (tx, now) => {
      const ended = await endDispute(tx, scoring, { ...decision, ending, now })
      if (ended.outcome !== 'ended') return unchanged(ended)
      return changed(ended, { subjects: [disputeId] })
    })
  return audited(context, 'disputes.resolved', async (tx, now) => {
    const ended = await endDispute(tx, scoring, { ...decision, ending, now })
    if (ended.outcome !== 'ended') return unchanged(ended)
    return changed(ended, { subjects: [disputeId], details: { resolution: ending } })
  })
}
