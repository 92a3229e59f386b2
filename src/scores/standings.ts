/** What bears on the scores of some workers, read under their locks. */

import { deleteRecomputations } from '../evidence/recomputation-store.ts'
import { findWorkerEvidence } from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Evidence } from '../scoring-core/evidence.ts'
import { findWorkerFacts, lockWorkers } from '../workers/store.ts'
import type { Engine } from './engine.ts'
import { lastValid } from './owners.ts'
import { recalledEngines, refuseRecalled } from './recall-engine.ts'
import { holdRecalls } from './recall-store.ts'
import type { Correction, Standing } from './score-change.ts'
import { findActiveSnapshots } from './store.ts'

export interface DueWorker {
  workerId: string
  /**
   * Null: facts moved on. Else the score held is wrong, and its credential is revoked with it. A score that rests on evidence revoked
   * since, or was made by an engine recalled since, is wrong whatever the caller says.
   */
  correction: Correction | null
}

/**
 * The marks are taken before the evidence is read, so that a later change marks again. A worker that is not there is left out.
 * @throws EngineRefused where `engine`, which is to score them, was recalled
 */
export async function standingsOf(
  tx: Tx,
  engine: Engine,
  due: readonly DueWorker[],
): Promise<Standing[]> {
  const asked = due.map(({ workerId }) => workerId)
  const locked = new Set((await lockWorkers(tx, asked)).map(({ workerId }) => workerId))
  const there = due.filter(({ workerId }) => locked.has(workerId))
  const ids = there.map(({ workerId }) => workerId)
  if (ids.length === 0) return []
  // After the workers' locks, so that nobody who holds one waits for a recall that waits for them.
  await holdRecalls(tx)
  const recalled = await recalledEngines(tx)
  refuseRecalled(engine, recalled)
  await deleteRecomputations(tx, ids)
  const standings = new Map<string, Standing & { evidence: Evidence[]; revoked: Set<string> }>()
  for (const { workerId, correction } of there) {
    const nothing = {
      person: null,
      active: null,
      told: null,
      evidence: [],
      revoked: new Set<string>(),
    }
    standings.set(workerId, { workerId, correction, isRecalled: false, ...nothing })
  }
  for (const person of await findWorkerFacts(tx, ids)) of(person).person = person
  for (const active of await findActiveSnapshots(tx, ids)) {
    const isRecalled = recalled.has(active.engineSha256.toString('hex'))
    Object.assign(of(active), { active, told: active, isRecalled })
  }
  await findTold(tx, [...standings.values()])
  for (const { workerId, state, ...item } of await findWorkerEvidence(tx, ids)) {
    const { evidence, revoked } = of({ workerId })
    if (state === 'active') evidence.push(item)
    if (state === 'revoked') revoked.add(item.id)
  }
  return [...standings.values()]

  function of({ workerId }: { workerId: string }) {
    const standing = standings.get(workerId)
    if (standing === undefined) throw new Error('a row of a worker nobody asked for')
    return standing
  }
}

/** The score that an upheld dispute revises is the one that receivers have, which need not be the active one. */
async function findTold(tx: Tx, standings: readonly Standing[]): Promise<void> {
  const untold = standings.filter(
    ({ correction, active }) => correction?.disputeId && !active?.vcSha256,
  )
  if (untold.length === 0) return
  const earlier = await lastValid(
    tx,
    untold.map(({ workerId }) => workerId),
  )
  for (const standing of untold) standing.told = earlier.get(standing.workerId) ?? standing.active
}
