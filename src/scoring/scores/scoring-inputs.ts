/** Reads the scoring inputs of workers under their locks. */
import type { Tx } from '../../platform/db/db.ts'
import { findWorkerFacts, lockWorkers } from '../../workers/api.ts'
import type { Evidence } from '../core/evidence.ts'
import { deleteRecomputations } from '../evidence/recomputation-store.ts'
import { findWorkerEvidence } from '../evidence/store.ts'
import { findLastValid } from './affected-scores.ts'
import type { Engine } from './engine.ts'
import { recalledEngines, refuseRecalled } from './recall-engine.ts'
import { holdRecalls } from './recall-store.ts'
import type { Correction, ScoringInputs } from './score-change.ts'
import { findActiveSnapshots } from './store.ts'

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
