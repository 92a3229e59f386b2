/**
 * A process that recalls an engine is killed between any two of its statements. A second run
 * completes the recall.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { scoreWorkers } from '../../src/scores/score-workers.ts'
import { testRegistry } from '../support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  isMarked,
  scoredAt,
  scoresOf,
  scoringWrongly,
} from '../support/build/scores.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

async function runUntil(boundary: number, version: string): Promise<'killed' | 'done'> {
  const args = ['test/support/fault/recall-once.ts', registry.url, version, String(boundary)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  assert.ok(code === 0 || signal === 'SIGKILL', `ended with ${code ?? signal}`)
  return code === 0 ? 'done' : 'killed'
}

const never = -1

test('SIGKILL at every boundary of a recall and its corrections: the next run corrects and publishes each score once', async () => {
  await addSources(db)
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  const due = [{ workerId, correction: null }]
  await db.transaction((tx) => scoreWorkers(tx, scoringWrongly('0.1.0'), due, scoredAt))
  let killed = 0
  // Each run continues from the commits of the killed runs, until one run completes.
  for (; (await runUntil(killed, '0.1.0')) === 'killed'; killed++);
  assert.ok(killed >= 10, `${killed} boundaries`)
  assert.equal(await runUntil(never, '0.1.0'), 'done')
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'superseded', vcRevokedAt: daysAfter(1) },
    { state: 'active', change: 'revised', reason: 'engine_correction', vcRevokedAt: null },
  ])
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated', 'score.revised'],
  )
  assert.equal(await isMarked(db, workerId), false)
})
