/**
 * End of a dispute with its consequences in one transaction. Excluded evidence is restored or
 * revoked, the score is recomputed if that changes it, and wrong credentials are revoked. The
 * events are in causal order: `evidence.revoked` for each item, `score.revised`, and last
 * `dispute.resolved`, which names the resulting score.
 */
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { publishEvents } from '../../webhooks/events/outbox.ts'
import { findWorkerFacts } from '../../workers/api.ts'
import { restoreEvidence } from '../evidence/exclude-evidence.ts'
import { mayPublish, moveIdentity } from '../scores/keep-sharing.ts'
import { revokeAndRescore } from '../scores/revoke-evidence.ts'
import type { Correction } from '../scores/score-change.ts'
import { scoreRevised } from '../scores/score-events.ts'
import { scoreWorkers } from '../scores/score-workers.ts'
import type { Scoring } from '../scores/scoring.ts'
import type { EarlierSnapshot, SharedSnapshot, Snapshot } from '../scores/snapshot.ts'
import { findActiveSnapshots, findEarlierSnapshots } from '../scores/store.ts'
import { canMove, type Decision, type Dispute, type DisputeKind, verdictOf } from './dispute.ts'
import {
  cannotMove,
  type DisputeAction,
  disputeResolved,
  isScoreChanged,
  lockDispute,
  type MoveRefusal,
  unknownDispute,
} from './open-dispute.ts'
import { insertChange, markEnded } from './store.ts'

export interface Ended {
  /** As it was before its end. */
  dispute: Dispute
  /** True if the active score differs from the one when the dispute was opened. */
  scoreChanged: boolean
  resultingSnapshotId: string | null
}

/**
 * Resolves or withdraws a dispute. The end is final. If the worker does not share its score, no
 * event is sent.
 */
export async function endDispute(
  tx: Tx,
  scoring: Scoring,
  { disputeId, ...request }: Decision & DisputeAction & { disputeId: string },
): Promise<Ended | MoveRefusal | Refusal<'dispute_decision'>> {
  const { ending, actor, now } = request
  const resolution = ending === 'withdrawn' ? null : ending
  const state = resolution === null ? 'withdrawn' : 'resolved'
  const dispute = await lockDispute(tx, disputeId)
  if (dispute === null) return unknownDispute(disputeId)
  if (!canMove(dispute.state, state)) return cannotMove(dispute, state)
  const { kind, workerId, items } = dispute
  const verdict = verdictOf(request, { kind, items: items.map(({ evidenceId }) => evidenceId) })
  if ('unusable' in verdict)
    return refuse('dispute_decision', { message: `Dispute ${disputeId}: ${verdict.unusable}.` })
  const { upheld: upheldIds } = verdict
  await applyConsequences(tx, scoring, {
    dispute,
    upheldIds,
    isUpheld: ending === 'upheld',
    actor,
    now,
  })
  const [active] = await findActiveSnapshots(tx, [workerId])
  const resultingSnapshotId = active?.snapshotId.toString('hex') ?? null
  await markEnded(tx, { id: disputeId, resolution, upheldIds, resultingSnapshotId, endedAt: now })
  await insertChange(tx, disputeId, { state, changedAt: now, actor })
  const [worker] = await findWorkerFacts(tx, [workerId])
  const event = disputeResolved(dispute, { ending, resultingSnapshotId, endedAt: now })
  if (worker !== undefined && mayPublish(worker)) await publishEvents(tx, [event], now)
  const scoreChanged = isScoreChanged(dispute, resultingSnapshotId)
  return { dispute, scoreChanged, resultingSnapshotId }
}

interface Consequence extends DisputeAction {
  dispute: Dispute
  upheldIds: readonly string[]
  isUpheld: boolean
}

async function applyConsequences(
  tx: Tx,
  scoring: Scoring,
  consequence: Consequence,
): Promise<void> {
  const { dispute, upheldIds, isUpheld, now } = consequence
  const due = dispute.items.filter(
    ({ evidenceId, excluded }) => excluded && !upheldIds.includes(evidenceId),
  )
  const ids = due.map(({ evidenceId }) => evidenceId)
  const restored = await restoreEvidence(tx, ids, now)
  const isRescored =
    (isUpheld || upheldIds.length > 0) &&
    (await corrections[dispute.kind](tx, scoring, consequence))
  if (restored.length > 0 && !isRescored)
    await scoreWorkers(tx, scoring, [{ workerId: dispute.workerId, correction: null }], now)
}

/**
 * Corrections that follow from an upheld dispute. Each returns whether it has scored the worker.
 */
const corrections: Record<
  DisputeKind,
  (tx: Tx, scoring: Scoring, consequence: Consequence) => Promise<boolean>
> = {
  evidence: revokeUpheld,
  score: rescoreDisputed,
  identity: revokeIdentity,
}

async function revokeUpheld(
  tx: Tx,
  scoring: Scoring,
  { dispute, upheldIds, actor, now }: Consequence,
): Promise<boolean> {
  const revocation = { reason: 'dispute_upheld', disputeId: dispute.id, actor, now } as const
  const { scored } = await revokeAndRescore(tx, scoring, upheldIds, revocation)
  return scored.length > 0
}

/**
 * If the disputed score was replaced meanwhile, the active score was not disputed and is only
 * updated. The credential of the disputed score is revoked all the same, and `score.revised` names
 * it.
 */
async function rescoreDisputed(
  tx: Tx,
  scoring: Scoring,
  { dispute, now }: Consequence,
): Promise<boolean> {
  const { id: disputeId, workerId, snapshotId } = dispute
  const ended = await findEarlierSnapshots(tx, [workerId])
  const replaced = ended.find((one) => one.snapshotId.toString('hex') === snapshotId)
  const correction = { reason: 'dispute_upheld', disputeId } as const
  const due = { workerId, correction: replaced === undefined ? correction : null }
  await scoreWorkers(tx, scoring, [due], now)
  if (replaced !== undefined) await reviseEarlier(tx, replaced, { correction, now })
  return true
}

/**
 * Revokes the wrong verification and with it the worker's credentials. A new verification is up to
 * the operator.
 */
async function revokeIdentity(
  tx: Tx,
  _scoring: Scoring,
  { dispute: { workerId }, actor, now }: Consequence,
): Promise<boolean> {
  const [worker] = await findWorkerFacts(tx, [workerId])
  if (worker?.identity?.state === 'verified')
    await moveIdentity(tx, { workerId, move: 'revoke' }, { by: actor, at: now })
  return false
}

/**
 * Revokes the credential of `earlier` and publishes `score.revised` from it to the active score. If
 * there is no active score, or no consent, no event is sent. Called under the worker's lock.
 */
async function reviseEarlier(
  tx: Tx,
  earlier: EarlierSnapshot,
  { correction, now }: { correction: Correction; now: Date },
): Promise<void> {
  const [revoked] = await revokeDigests(tx, [earlier.vcSha256], now)
  if (revoked?.now !== true) return
  const [active] = await findActiveSnapshots(tx, [earlier.workerId])
  const [worker] = await findWorkerFacts(tx, [earlier.workerId])
  if (active === undefined || !isShared(active)) return
  if (worker === undefined || !mayPublish(worker)) return
  const { issuedAt } = active
  const revision = { ...correction, previous: earlier, issuedAt, revisedAt: now }
  await publishEvents(tx, [scoreRevised(active, revision)], now)
}

function isShared<One extends Snapshot>(snapshot: One): snapshot is One & SharedSnapshot {
  return snapshot.vcSha256 !== null && snapshot.statusToken !== null
}
