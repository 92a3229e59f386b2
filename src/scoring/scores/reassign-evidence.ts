/**
 * Reassignment of evidence to another worker, after two records turned out to be of one worker, or
 * one record of two. In one transaction the items move and all workers involved are scored again. A
 * score that counted another worker's evidence, or missed its own, was wrong: its credential is
 * revoked, and `score.revised` has the reason `identity_change`.
 */
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { holdWorkers, lockWorkers } from '../../workers/api.ts'
import {
  type EvidenceInState,
  findUnrevokedEvidenceIds,
  lockEvidence,
  moveToWorker,
} from '../evidence/store.ts'
import { type ScoredWorker, scoreWorkers } from './score-workers.ts'
import type { Scoring } from './scoring.ts'
import {
  findAffectedScores,
  findEarlierAffected,
  lockEvidenceWorkers,
  revokeCredentialsOf,
  workersOf,
} from './scoring-inputs.ts'

export interface Reassignment {
  /** Ids in lowercase, each once, or all unrevoked evidence of one worker. */
  what: readonly string[] | { allOf: string }
  toWorkerId: string
  now: Date
}

export interface Reassigned {
  /** Previous worker of each moved item. Items that belonged to `toWorkerId` already are left out. */
  moved: { evidenceId: string; fromWorkerId: string }[]
  /** The workers that lost evidence, then the worker that received it. */
  scored: ScoredWorker[]
}

/** Nothing is changed. */
export type ReassignRefusal =
  | 'worker_not_found'
  | 'evidence_not_found'
  | 'evidence_revoked'
  | 'evidence_excluded'

/**
 * Moves evidence and scores the workers again. The caller makes sure, in the same transaction, that
 * no item is disputed.
 */
export async function reassignEvidence(
  tx: Tx,
  scoring: Scoring,
  { what, toWorkerId, now }: Reassignment,
): Promise<Reassigned | Refusal<ReassignRefusal>> {
  const ids = 'allOf' in what ? await lockAllOf(tx, what.allOf, toWorkerId) : what
  const items = await lockEvidenceWorkers(tx, ids, [toWorkerId])
  const there = await holdWorkers(tx, [toWorkerId])
  if (!there.has(toWorkerId)) return refuse('worker_not_found')
  const refused = refusalOf(ids, await lockEvidence(tx, ids))
  if (refused !== null) return refused
  const lost = items.filter(({ workerId }) => workerId !== toWorkerId)
  if (lost.length === 0) return { moved: [], scored: [] }
  const wrong = new Set(
    [...(await findAffectedScores(tx, lost)).values()].map((one) => one.workerId),
  )
  const earlier = await findEarlierAffected(tx, lost)
  const moved = lost.map(({ evidenceId, workerId }) => ({ evidenceId, fromWorkerId: workerId }))
  await moveToWorker(
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
  return { moved, scored }
}

/**
 * Locks both workers and returns the evidence of the first. Evidence imported later stays with its
 * worker.
 */
async function lockAllOf(tx: Tx, workerId: string, toWorkerId: string): Promise<string[]> {
  await lockWorkers(tx, [workerId, toWorkerId])
  return findUnrevokedEvidenceIds(tx, workerId)
}

function refusalOf(
  ids: readonly string[],
  found: readonly EvidenceInState[],
): Refusal<ReassignRefusal> | null {
  const states = new Map(found.map(({ evidenceId, state }) => [evidenceId, state]))
  const notFound = ids.filter((id) => !states.has(id))
  if (notFound.length > 0) return evidenceNotFound(notFound)
  for (const [state, name, words] of [
    ['revoked', 'evidence_revoked', 'revoked, so it counts for no worker'],
    ['excluded', 'evidence_excluded', 'excluded by a dispute: end the dispute first'],
  ] as const) {
    const those = ids.filter((id) => states.get(id) === state)
    if (those.length > 0)
      return refuse(name, { message: `${those.join(', ')}: ${words}. Nothing was done.` })
  }
  return null
}

export function evidenceNotFound(names: readonly string[]): Refusal<'evidence_not_found'> {
  return refuse('evidence_not_found', {
    message: `${names.join(', ')}: not found. Nothing was done.`,
  })
}
