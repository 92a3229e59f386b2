/**
 * Reads the scoring inputs of workers under their locks, and the scores affected by the loss of
 * evidence, by revocation or by reassignment.
 */
import { findUnrevoked } from '../../credentials/api.ts'
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Tx } from '../../platform/db/db.ts'
import { findWorkerFacts, lockWorkers } from '../../workers/api.ts'
import type { Evidence } from '../core/evidence.ts'
import { deleteRecomputations } from '../evidence/recomputation-store.ts'
import { findEvidence, findWorkerEvidence, type OwnedEvidence } from '../evidence/store.ts'
import type { Engine } from './engine.ts'
import { scoredIds } from './issue-rule.ts'
import { holdRecalls, recalledEngines, refuseRecalled } from './recall-engine.ts'
import type { Correction, ScoringInputs } from './score-change.ts'
import type { ActiveSnapshot, EarlierSnapshot } from './snapshot.ts'
import { findActiveSnapshots, findEarlierSnapshots } from './store.ts'

export interface DueWorker {
  workerId: string
  /**
   * Null if the score is not known to be wrong. Otherwise the current score is revised and its
   * credential is revoked. Independently of this field, a score is wrong if it counts evidence that
   * was revoked since, or if its engine was recalled since.
   */
  correction: Correction | null
}

/**
 * Locks the workers and reads their scoring inputs. Unknown workers are left out. The marks are
 * deleted before the evidence is read, so that a later change marks the worker again.
 * @throws EngineRefused if `engine`, which is about to score them, was recalled
 */
export async function readScoringInputs(
  tx: Tx,
  engine: Engine,
  due: readonly DueWorker[],
): Promise<ScoringInputs[]> {
  const asked = due.map(({ workerId }) => workerId)
  const locked = new Set((await lockWorkers(tx, asked)).map(({ workerId }) => workerId))
  const there = due.filter(({ workerId }) => locked.has(workerId))
  const ids = there.map(({ workerId }) => workerId)
  if (ids.length === 0) return []
  // Taken after the workers' locks. Otherwise a transaction that holds such a lock could wait for a
  // recall that waits for this transaction.
  await holdRecalls(tx)
  const recalled = await recalledEngines(tx)
  refuseRecalled(engine, recalled)
  await deleteRecomputations(tx, ids)
  const inputsByWorker = new Map<
    string,
    ScoringInputs & { evidence: Evidence[]; revoked: Set<string> }
  >()
  for (const { workerId, correction } of there) {
    const nothing = {
      worker: null,
      active: null,
      lastSent: null,
      evidence: [],
      revoked: new Set<string>(),
    }
    inputsByWorker.set(workerId, { workerId, correction, isRecalled: false, ...nothing })
  }
  for (const worker of await findWorkerFacts(tx, ids)) of(worker).worker = worker
  for (const active of await findActiveSnapshots(tx, ids)) {
    const isRecalled = recalled.has(active.engineSha256.toString('hex'))
    Object.assign(of(active), { active, lastSent: active, isRecalled })
  }
  await findLastSent(tx, [...inputsByWorker.values()])
  for (const { workerId, state, ...item } of await findWorkerEvidence(tx, ids)) {
    const { evidence, revoked } = of({ workerId })
    if (state === 'active') evidence.push(item)
    if (state === 'revoked') revoked.add(item.id)
  }
  return [...inputsByWorker.values()]

  function of({ workerId }: { workerId: string }) {
    const inputs = inputsByWorker.get(workerId)
    if (inputs === undefined) throw new Error('a row of a worker that was not asked for')
    return inputs
  }
}

/**
 * Finds the score that an upheld dispute revises. It is the last one sent to receivers, which need
 * not be the active one.
 */
async function findLastSent(tx: Tx, inputsByWorker: readonly ScoringInputs[]): Promise<void> {
  const unsent = inputsByWorker.filter(
    ({ correction, active }) => correction?.disputeId && !active?.vcSha256,
  )
  if (unsent.length === 0) return
  const earlier = await findLastValid(
    tx,
    unsent.map(({ workerId }) => workerId),
  )
  for (const inputs of unsent) inputs.lastSent = earlier.get(inputs.workerId) ?? inputs.active
}

/**
 * Returns the items under the locks of their workers and of `others`. An item may move to another
 * worker until its worker is locked, so the lookup repeats until all workers are locked.
 */
export async function lockEvidenceWorkers(
  tx: Tx,
  ids: readonly string[],
  others: readonly string[] = [],
): Promise<OwnedEvidence[]> {
  for (let items = await findEvidence(tx, ids); ; ) {
    const owners = new Set(workersOf(items))
    await lockWorkers(tx, [...owners, ...others])
    items = await findEvidence(tx, ids)
    if (workersOf(items).every((workerId) => owners.has(workerId))) return items
  }
}

/** Evidence id to the active score that counts the item, as it was before the change. */
export type AffectedScores = ReadonlyMap<string, ActiveSnapshot>

export async function findAffectedScores(
  tx: Tx,
  items: readonly OwnedEvidence[],
): Promise<AffectedScores> {
  const active = await findActiveSnapshots(tx, workersOf(items))
  const byWorker = new Map(
    active.map((snapshot) => [
      snapshot.workerId,
      { snapshot, ids: scoredIds(JSON.parse(snapshot.evidence)) },
    ]),
  )
  return new Map(
    items.flatMap(({ evidenceId, workerId }) => {
      const held = byWorker.get(workerId)
      return held?.ids.has(evidenceId) ? [[evidenceId, held.snapshot] as const] : []
    }),
  )
}

/**
 * Returns the scores before the active ones that counted one of the items and whose credentials are
 * valid, the latest first. Such a credential remains valid for its date (decision D28), unless its
 * score counted lost evidence.
 */
export async function findEarlierAffected(
  tx: Tx,
  lost: readonly OwnedEvidence[],
): Promise<EarlierAffectedSnapshot[]> {
  const ids = new Set(lost.map(({ evidenceId }) => evidenceId))
  const earlier = (await findEarlierSnapshots(tx, workersOf(lost)))
    .map((snapshot) => ({ ...snapshot, countedIds: scoredIds(JSON.parse(snapshot.evidence)) }))
    .filter(({ countedIds }) => !countedIds.isDisjointFrom(ids))
  return unrevoked(tx, earlier)
}

export interface EarlierAffectedSnapshot extends EarlierSnapshot {
  /** Ids of the evidence that counted. */
  countedIds: ReadonlySet<string>
}

/** Returns the last score before the active one whose credential is valid, by worker. */
async function findLastValid(
  tx: Tx,
  workerIds: readonly string[],
): Promise<Map<string, EarlierSnapshot>> {
  const earlier = await unrevoked(tx, await findEarlierSnapshots(tx, workerIds))
  return new Map(earlier.reverse().map((snapshot) => [snapshot.workerId, snapshot]))
}

async function unrevoked<One extends EarlierSnapshot>(tx: Tx, snapshots: One[]): Promise<One[]> {
  if (snapshots.length === 0) return []
  const valid = await findUnrevoked(
    tx,
    snapshots.map(({ vcSha256 }) => vcSha256),
  )
  return snapshots.filter(({ vcSha256 }) => valid.has(vcSha256.toString('hex')))
}

export async function revokeCredentialsOf(
  tx: Tx,
  snapshots: readonly EarlierSnapshot[],
  now: Date,
): Promise<void> {
  const digests = snapshots.map(({ vcSha256 }) => vcSha256)
  if (digests.length > 0) await revokeDigests(tx, digests, now)
}

/** Returns the workers of the items, each once. */
export function workersOf(items: readonly OwnedEvidence[]): string[] {
  return [...new Set(items.map(({ workerId }) => workerId))]
}
