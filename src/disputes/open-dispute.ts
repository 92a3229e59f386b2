/**
 * Opening and review of a dispute. Each function runs in the caller's transaction: it locks the
 * worker, writes the dispute, calls other modules for the effects in their tables, and publishes
 * the event last. A crash before the commit changes nothing.
 */
import { excludeEvidence } from '../evidence/exclude-evidence.ts'
import { lockEvidence } from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { mayPublish } from '../scores/sharing.ts'
import { findActiveSnapshots } from '../scores/store.ts'
import { publishEvents } from '../webhooks/events/outbox.ts'
import { findWorkerFacts, lockWorkers } from '../workers/store.ts'
import { canMove, type Dispute, type DisputeKind, type DisputeState } from './dispute.ts'
import { disputeOpened } from './dispute-events.ts'
import {
  findDisputes,
  findOpenDisputeAbout,
  insertChange,
  insertDispute,
  markUnderReview,
} from './store.ts'

export interface DisputeRequest {
  workerId: string
  kind: DisputeKind
  /** In lowercase, each once. At least one if the kind is `evidence`, otherwise empty. */
  evidenceIds: readonly string[]
  /** If true, the public score is hidden while the dispute is open. */
  restricted: boolean
  /** If true, the disputed evidence does not count while the dispute is open. */
  exclude: boolean
}

export interface DisputeAction {
  /** The actor that the dispute's history names. */
  actor: string
  now: Date
}

export type Opening =
  | { outcome: 'opened'; dispute: Dispute }
  | { outcome: 'unknown_worker' }
  /** The dispute is about the score, and the worker has none. */
  | { outcome: 'no_score' }
  /** Evidence that is unknown or belongs to another worker. */
  | { outcome: 'not_theirs'; evidenceIds: string[] }
  /** Evidence that is revoked. */
  | { outcome: 'revoked'; evidenceIds: string[] }
  | { outcome: 'already_open'; disputeId: string }

/**
 * Opens a dispute. If evidence is excluded, the worker is marked for recomputation. If the worker
 * does not share its score, no event is sent.
 */
export async function openDispute(
  tx: Tx,
  request: DisputeRequest,
  { actor, now, dueAt }: DisputeAction & { dueAt: Date },
): Promise<Opening> {
  const { workerId, kind, evidenceIds, restricted, exclude } = request
  await lockWorkers(tx, [workerId])
  const [worker] = await findWorkerFacts(tx, [workerId])
  if (worker === undefined) return { outcome: 'unknown_worker' }
  const refused = await findObstacle(tx, request)
  if (refused !== null) return refused
  const [active] = await findActiveSnapshots(tx, [workerId])
  if (kind === 'score' && active === undefined) return { outcome: 'no_score' }
  const id = uuidV7(now)
  const snapshotId = active?.snapshotId.toString('hex') ?? null
  const excludedIds = exclude ? await excludeEvidence(tx, evidenceIds, now) : []
  const facts = { id, workerId, kind, restricted, snapshotId, openedAt: now, dueAt }
  await insertDispute(tx, { ...facts, evidenceIds, excludedIds })
  await insertChange(tx, id, { state: 'open', changedAt: now, actor })
  if (mayPublish(worker)) await publishEvents(tx, [disputeOpened(facts)], now)
  const [dispute] = await findDisputes(tx, [id])
  if (dispute === undefined) throw new Error(`dispute ${id} is missing after its insertion`)
  return { outcome: 'opened', dispute }
}

async function findObstacle(tx: Tx, request: DisputeRequest): Promise<Opening | null> {
  const { workerId, evidenceIds } = request
  const found = await lockEvidence(tx, evidenceIds)
  const states = new Map(
    found.filter((item) => item.workerId === workerId).map((item) => [item.evidenceId, item.state]),
  )
  const foreignIds = evidenceIds.filter((id) => !states.has(id))
  if (foreignIds.length > 0) return { outcome: 'not_theirs', evidenceIds: foreignIds }
  const revoked = evidenceIds.filter((id) => states.get(id) === 'revoked')
  if (revoked.length > 0) return { outcome: 'revoked', evidenceIds: revoked }
  const openDisputeId = await findOpenDisputeAbout(tx, request)
  return openDisputeId === null ? null : { outcome: 'already_open', disputeId: openDisputeId }
}

export type Reviewing =
  | { outcome: 'under_review'; dispute: Dispute }
  | { outcome: 'unknown_dispute' }
  | { outcome: 'refused'; from: DisputeState }

/** Records that the review of the dispute has begun. */
export async function reviewDispute(
  tx: Tx,
  disputeId: string,
  { actor, now }: DisputeAction,
): Promise<Reviewing> {
  const dispute = await lockDispute(tx, disputeId)
  if (dispute === null) return { outcome: 'unknown_dispute' }
  if (!canMove(dispute.state, 'under_review')) return { outcome: 'refused', from: dispute.state }
  await markUnderReview(tx, disputeId)
  await insertChange(tx, disputeId, { state: 'under_review', changedAt: now, actor })
  return { outcome: 'under_review', dispute: { ...dispute, state: 'under_review' } }
}

/**
 * Locks the dispute's worker, so that moves of one dispute run one after the other. Returns null if
 * the dispute does not exist.
 */
export async function lockDispute(tx: Tx, disputeId: string): Promise<Dispute | null> {
  const [found] = await findDisputes(tx, [disputeId])
  if (found === undefined) return null
  await lockWorkers(tx, [found.workerId])
  const [locked = null] = await findDisputes(tx, [disputeId])
  return locked
}
