/** What `assay demo tick` takes back next: an item of evidence of whoever of the demo has most, and teaches no lesson. */
import { findWorkerEvidence } from '../evidence/store.ts'
import type { Queryable } from '../platform/db/db.ts'
import { findWorkers } from '../workers/store.ts'
import { demoPeople } from './people.ts'
import { heroes, withdrawn } from './story.ts'

/** The id of the item, or null where there is no demo, or nothing is left of it. */
export async function nextEvidence(db: Queryable): Promise<string | null> {
  const spared = new Set<string>([...Object.values(heroes), withdrawn.username])
  const usernames = demoPeople
    .filter(({ username, lacks }) => lacks.length === 0 && !spared.has(username))
    .map(({ username }) => username)
  const people = await findWorkers(db, { usernames })
  const evidence = await findWorkerEvidence(
    db,
    people.map(({ workerId }) => workerId),
  )
  const active = evidence.filter(({ state }) => state === 'active')
  const [richest = []] = [...Map.groupBy(active, ({ workerId }) => workerId).values()].sort(
    (a, b) => b.length - a.length,
  )
  return richest[0]?.id ?? null
}
