/**
 * A process that revokes evidence is killed between any two of its statements. The revocation is
 * then complete or has not happened.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
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
  scoring,
} from '../support/build/scores.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

async function runUntil(boundary: number, ids: readonly string[]): Promise<'killed' | 'done'> {
  const args = ['test/support/fault/revoke-once.ts', registry.url, ids.join(','), String(boundary)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  assert.ok(code === 0 || signal === 'SIGKILL', `ended with ${code ?? signal}`)
  return code === 0 ? 'done' : 'killed'
}

test('SIGKILL at every boundary of a revocation: nothing changes before the commit, and each event is published once after it', async () => {
  await addSources(db)
  const [workerId = ''] = await addPublicWorkers(db, 1)
  const [id = ''] = await addEvidence(db, workerId, enough)
  const due = [{ workerId, correction: null }]
  await db.transaction((tx) => scoreWorkers(tx, scoring, due, scoredAt))
  const look = async () => ({
    evidence: await db.rows(sql`select state from evidence where evidence_id = ${id}`),
    scores: await scoresOf(db, workerId),
    events: await eventsOf(db, workerId),
    marked: await isMarked(db, workerId),
    lists: await db.rows(sql`select revision from status_lists order by list_id`),
  })
  const before = await look()
  let killed = 0
  for (; (await runUntil(killed, [id])) === 'killed'; killed++)
    assert.deepEqual(await look(), before, `killed at boundary ${killed}`)
  assert.ok(killed >= 20, `${killed} boundaries`)
  const { evidence, scores, events, marked } = await look()
  assert.deepEqual(evidence, [{ state: 'revoked' }])
  assert.partialDeepStrictEqual(scores, [
    { state: 'superseded', vcRevokedAt: daysAfter(1) },
    { state: 'active', change: 'revised', vcRevokedAt: null },
  ])
  assert.deepEqual(
    events.map(({ type }) => type),
    ['score.updated', 'evidence.revoked', 'score.revised'],
  )
  assert.equal(marked, false)
})
