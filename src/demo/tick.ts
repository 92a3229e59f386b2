/**
 * Chooses the item of evidence that `assay demo tick` revokes next. It belongs to the worker with
 * the most active evidence, except the workers of the sample credentials.
 */
import type { Queryable } from '../platform/db/db.ts'
import { findWorkerEvidence } from '../scoring/api.ts'
import { findWorkers } from '../workers/api.ts'
import { sampleWorkers, withdrawn } from './scenario.ts'
import { demoWorkers } from './workers.ts'

/** Returns the id of the item, or null if the demo has no such item or does not exist. */
export async function nextEvidence(db: Queryable): Promise<string | null> {
  const spared = new Set<string>([...Object.values(sampleWorkers), withdrawn.username])
  const usernames = demoWorkers
    .filter(({ username, lacks }) => lacks.length === 0 && !spared.has(username))
    .map(({ username }) => username)
  const workers = await findWorkers(db, { usernames })
  const evidence = await findWorkerEvidence(
    db,
    workers.map(({ workerId }) => workerId),
  )
  const active = evidence.filter(({ state }) => state === 'active')
  const [richest = []] = [...Map.groupBy(active, ({ workerId }) => workerId).values()].sort(
    (a, b) => b.length - a.length,
  )
  return richest[0]?.id ?? null
}
