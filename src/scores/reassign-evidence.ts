/**
 * Evidence that turns out to be another person's: two records were of one person, or one was of two. In one transaction the items change
 * their owner and everybody concerned is scored anew. A score that was made of somebody else's evidence, or without one's own, was wrong:
 * its credential is revoked, and `score.revised` says `identity_change`.
 */
import {
  type EvidenceInState,
  findStandingEvidenceIds,
  lockEvidence,
  setOwner,
} from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import { lockWorkers } from '../workers/store.ts'
import { holdWorkers } from '../workers/worker-ids.ts'
import {
  earlierRestingOn,
  lockOwners,
  revokeCredentialsOf,
  scoresRestingOn,
  workersOf,
} from './owners.ts'
import { type ScoredWorker, scoreWorkers } from './score-workers.ts'
import type { Scoring } from './scoring.ts'

export interface Reassignment {
  /** Ids in lowercase, each once; or everything of one worker that is not revoked. */
  what: readonly string[] | { allOf: string }
  toWorkerId: string
  now: Date
}

export type Reassigned =
  | {
      outcome: 'reassigned'
      /** Whose each was; what was theirs already is left out. */
      moved: { evidenceId: string; fromWorkerId: string }[]
      /** Who lost evidence, and last who got it. */
      scored: ScoredWorker[]
    }
  | { outcome: 'unknown_worker' }
  /** Nothing is done: evidence that is not there, that counts for nothing any more, or that is set aside by a dispute. */
  | { outcome: 'not_found' | 'revoked' | 'excluded'; evidenceIds: string[] }

/** That none of it is disputed is for the caller to see to, within the transaction. */
export async function reassignEvidence(
  tx: Tx,
  scoring: Scoring,
  { what, toWorkerId, now }: Reassignment,
): Promise<Reassigned> {
  const ids = 'allOf' in what ? await lockAllOf(tx, what.allOf, toWorkerId) : what
  const items = await lockOwners(tx, ids, [toWorkerId])
  const there = await holdWorkers(tx, [toWorkerId])
  if (!there.has(toWorkerId)) return { outcome: 'unknown_worker' }
  const refused = refusalOf(ids, await lockEvidence(tx, ids))
  if (refused !== null) return refused
  const lost = items.filter(({ workerId }) => workerId !== toWorkerId)
  if (lost.length === 0) return { outcome: 'reassigned', moved: [], scored: [] }
  const wrong = new Set([...(await scoresRestingOn(tx, lost)).values()].map((one) => one.workerId))
  const earlier = await earlierRestingOn(tx, lost)
  const moved = lost.map(({ evidenceId, workerId }) => ({ evidenceId, fromWorkerId: workerId }))
  await setOwner(
    tx,
    moved.map(({ evidenceId }) => evidenceId),
    toWorkerId,
  )
  const correction = { reason: 'identity_change', disputeId: null } as const
  const due = workersOf(lost).map((workerId) => ({
    workerId,
    correction: wrong.has(workerId) ? correction : null,
  }))
  const scored = await scoreWorkers(
    tx,
    scoring,
    [...due, { workerId: toWorkerId, correction }],
    now,
  )
  await revokeCredentialsOf(tx, earlier, now)
  return { outcome: 'reassigned', moved, scored }
}

/** What is taken in for them after this stays with them. */
async function lockAllOf(tx: Tx, workerId: string, toWorkerId: string): Promise<string[]> {
  await lockWorkers(tx, [workerId, toWorkerId])
  return findStandingEvidenceIds(tx, workerId)
}

function refusalOf(ids: readonly string[], found: readonly EvidenceInState[]): Reassigned | null {
  const states = new Map(found.map(({ evidenceId, state }) => [evidenceId, state]))
  const notFound = ids.filter((id) => !states.has(id))
  if (notFound.length > 0) return { outcome: 'not_found', evidenceIds: notFound }
  for (const state of ['revoked', 'excluded'] as const) {
    const evidenceIds = ids.filter((id) => states.get(id) === state)
    if (evidenceIds.length > 0) return { outcome: state, evidenceIds }
  }
  return null
}
