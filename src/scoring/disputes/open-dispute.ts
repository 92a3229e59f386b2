/**
 * Opening and review of a dispute. Each function runs in the caller's transaction: it locks the
 * worker, writes the dispute, calls other modules for the effects in their tables, and publishes
 * the event last. A crash before the commit changes nothing.
 */
import { wireTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { type NewEvent, publishEvents } from '../../webhooks/events/outbox.ts'
import { findWorkerFacts, lockWorkers } from '../../workers/api.ts'
import { excludeEvidence } from '../evidence/exclude-evidence.ts'
import { lockEvidence } from '../evidence/store.ts'
import { mayPublish } from '../scores/keep-sharing.ts'
import { findActiveSnapshots } from '../scores/store.ts'
import {
  canMove,
  type Dispute,
  type DisputeKind,
  type DisputeState,
  type Ending,
} from './dispute.ts'
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

export type OpenRefusal = Refusal<
  | 'worker_not_found'
  | 'score_absent'
  | 'evidence_not_theirs'
  | 'evidence_revoked'
  | 'dispute_already_open'
>

/**
 * Opens a dispute. If evidence is excluded, the worker is marked for recomputation. If the worker
 * does not share its score, no event is sent.
 */
export async function openDispute(
  tx: Tx,
  request: DisputeRequest,
  { actor, now, dueAt }: DisputeAction & { dueAt: Date },
): Promise<Dispute | OpenRefusal> {
  const { workerId, kind, evidenceIds, restricted, exclude } = request
  await lockWorkers(tx, [workerId])
  const [worker] = await findWorkerFacts(tx, [workerId])
  if (worker === undefined) return refuse('worker_not_found')
  const obstacle = await findObstacle(tx, request, worker.username)
  if (obstacle !== null) return obstacle
  const [active] = await findActiveSnapshots(tx, [workerId])
  if (kind === 'score' && active === undefined)
    return refuse('score_absent', { message: `${worker.username} has no score to dispute.` })
  const id = uuidV7(now)
  const snapshotId = active?.snapshotId.toString('hex') ?? null
  const excludedIds = exclude ? await excludeEvidence(tx, evidenceIds, now) : []
  const facts = { id, workerId, kind, restricted, snapshotId, openedAt: now, dueAt }
  await insertDispute(tx, { ...facts, evidenceIds, excludedIds })
  await insertChange(tx, id, { state: 'open', changedAt: now, actor })
  if (mayPublish(worker)) await publishEvents(tx, [disputeOpened(facts)], now)
  const [dispute] = await findDisputes(tx, [id])
  if (dispute === undefined) throw new Error(`dispute ${id} is missing after its insertion`)
  return dispute
}

async function findObstacle(
  tx: Tx,
  request: DisputeRequest,
  username: string,
): Promise<OpenRefusal | null> {
  const { workerId, evidenceIds } = request
  const found = await lockEvidence(tx, evidenceIds)
  const states = new Map(
    found.filter((item) => item.workerId === workerId).map((item) => [item.evidenceId, item.state]),
  )
  const foreignIds = evidenceIds.filter((id) => !states.has(id))
  if (foreignIds.length > 0) return notTheirs(username, foreignIds)
  const revoked = evidenceIds.filter((id) => states.get(id) === 'revoked')
  if (revoked.length > 0)
    return refuse('evidence_revoked', {
      message: `Revoked already, for ever: ${revoked.join(', ')}.`,
    })
  const openDisputeId = await findOpenDisputeAbout(tx, request)
  if (openDisputeId === null) return null
  return refuse('dispute_already_open', {
    message: `The dispute ${openDisputeId} about the same is open. End it first.`,
  })
}

/** `names` are ids, or names of the form `SOURCE/EXTERNAL-ID`. */
export function notTheirs(username: string, names: readonly string[]) {
  return refuse('evidence_not_theirs', {
    message: `Not evidence of ${username}: ${names.join(', ')}.`,
  })
}

/** Records that the review of the dispute has begun. */
export async function reviewDispute(
  tx: Tx,
  disputeId: string,
  { actor, now }: DisputeAction,
): Promise<Dispute | MoveRefusal> {
  const dispute = await lockDispute(tx, disputeId)
  if (dispute === null) return unknownDispute(disputeId)
  if (!canMove(dispute.state, 'under_review')) return cannotMove(dispute, 'reviewed')
  await markUnderReview(tx, disputeId)
  await insertChange(tx, disputeId, { state: 'under_review', changedAt: now, actor })
  return { ...dispute, state: 'under_review' }
}

export type MoveRefusal = Refusal<'dispute_not_found' | 'dispute_state'>

export function unknownDispute(id: string) {
  return refuse('dispute_not_found', { message: `No dispute has the id ${id}.` })
}

const nextSteps: Record<DisputeState, string> = {
  open: 'review it first',
  under_review: 'which is done already',
  resolved: 'which is final',
  withdrawn: 'which is final',
}

/** `moved` is the participle of the move that is refused. */
export function cannotMove({ id, state }: Pick<Dispute, 'id' | 'state'>, moved: string) {
  return refuse('dispute_state', {
    message: `Dispute ${id} cannot be ${moved}: it is ${state}, ${nextSteps[state]}.`,
  })
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

type DisputeFacts = Pick<
  Dispute,
  'id' | 'workerId' | 'kind' | 'snapshotId' | 'restricted' | 'openedAt'
>

function disputeOpened(dispute: DisputeFacts): NewEvent {
  return { type: 'dispute.opened', workerId: dispute.workerId, data: disputed(dispute) }
}

interface End {
  ending: Ending
  resultingSnapshotId: string | null
  endedAt: Date
}

export function disputeResolved(dispute: DisputeFacts, end: End): NewEvent {
  const { ending, resultingSnapshotId, endedAt } = end
  const data = {
    ...disputed(dispute),
    resolution: ending,
    scoreChanged: isScoreChanged(dispute, resultingSnapshotId),
    resultingSnapshotId,
    resolvedAt: wireTime(endedAt),
  }
  return { type: 'dispute.resolved', workerId: dispute.workerId, data }
}

/**
 * Compares with the score that was disputed. If excluded evidence changed the score before the
 * decision, that counts as a change too.
 */
export function isScoreChanged(
  { snapshotId }: Pick<Dispute, 'snapshotId'>,
  resultingSnapshotId: string | null,
): boolean {
  return snapshotId !== resultingSnapshotId
}

function disputed({ id, workerId, kind, snapshotId, restricted, openedAt }: DisputeFacts) {
  return {
    workerId,
    disputeId: id,
    kind,
    snapshotId,
    restricted,
    openedAt: wireTime(openedAt),
  }
}
