/** `assay demo`: the demo that `npm start` runs. */
import type { Command } from 'commander'
import { sampleWorkers, withdrawn } from '../../demo/scenario.ts'
import { demoWorkers } from '../../demo/workers.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { findWorkerEvidence } from '../../scoring/api.ts'
import { evidenceRevoke } from '../../scoring/disputes/evidence-operations.ts'
import { findWorkers } from '../../workers/api.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { runOperation } from '../operation-command.ts'
import { failure, type Outcome } from '../output.ts'

export function declareCommand(demo: Command): void {
  command(
    demo,
    'tick',
    'Revoke an item of evidence of the demo, as an operator does: its events are sent at once',
    'assay demo tick',
  ).action(act(tick))
}

async function tick(): Promise<Outcome> {
  const id = await withContext(({ db }) => nextEvidence(db))
  if (id === null)
    throw failure('There is no demo here, or all its evidence is revoked. Run `npm start` first.')
  const texts = { evidence: [id], reason: 'source_removed' }
  return runOperation(evidenceRevoke, texts, { yes: true, by: 'demo' })
}

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
