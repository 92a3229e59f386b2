import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addScoredWorker,
  addSources,
  score,
} from '../../../test/support/build/scores.ts'
import {
  bytesAfter,
  findHistory,
  findSnapshot,
  findSnapshotsFrom,
  type StoredSnapshot,
} from './history-store.ts'
import { openMakers, replay } from './replay.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

await addScoredWorker(db)
const [stored] = await findSnapshotsFrom(db, Buffer.alloc(0), 1)
assert.ok(stored !== undefined)
const makersOf = openMakers(db)

const result = JSON.parse(stored.result)
const evidence = JSON.parse(stored.evidence)
const published = /published is not that of the result/

const altered: readonly [over: Partial<StoredSnapshot>, difference: RegExp][] = [
  [{ score: stored.score + 1 }, published],
  [{ low: stored.low - 1 }, published],
  [{ high: stored.high + 1 }, published],
  [{ band: 'emerging' }, published],
  [{ evidenceCount: stored.evidenceCount + 1 }, published],
  [{ sourceCount: stored.sourceCount + 1 }, published],
  [{ engineId: 'other' }, published],
  [{ engineVersion: '0.0.1' }, published],
  [{ result: JSON.stringify({ ...result, score: result.score + 1 }) }, /the result differs/],
  [{ evidence: JSON.stringify(evidence.slice(1)) }, /not that of its root/],
  [{ evidence: JSON.stringify([{ ...evidence[0], value: 1 }]) }, /not that of its root/],
  [{ nonce: Buffer.alloc(32) }, /not that of its root/],
  [{ evidenceRoot: Buffer.alloc(32) }, /not that of its root/],
  [{ asOf: '2026-05-15' }, /differs/],
  [{ workerId: '00000000-0000-7000-8000-000000000000' }, /the id differs/],
  [{ snapshotId: Buffer.alloc(32) }, /the id differs/],
  [{ vocabularySha256: Buffer.alloc(32, 1) }, /no vocabulary has the SHA-256 01/],
]

test('an unaltered score replays with the same result', async () => {
  assert.deepEqual(await replay(stored, makersOf), { verdict: 'agrees' })
})

test('a score whose engine is missing does not differ: it cannot be recomputed', async () => {
  const result = await replay({ ...stored, engineSha256: Buffer.alloc(32, 1) }, makersOf)
  assert.ok(result.verdict === 'engine unavailable')
  assert.match(result.reason, /no engine of SHA-256 01/)
})

for (const [over, difference] of altered)
  test(`a changed ${Object.keys(over)[0]} is reported: ${difference.source}`, async () => {
    const result = await replay({ ...stored, ...over }, makersOf)
    assert.ok(result.verdict === 'differs')
    assert.match(result.difference, difference)
  })

test('a score is found by its whole id only', async () => {
  const { snapshotId } = stored
  assert.deepEqual(await findSnapshot(db, snapshotId), stored)
  assert.equal(await findSnapshot(db, snapshotId.subarray(0, 31)), undefined)
  assert.equal(await findSnapshot(db, bytesAfter(snapshotId)), undefined)
})

test('among scores of one moment the active one comes first', async () => {
  for (let worker = 0; worker < 6; worker++) {
    const { workerId } = await addScoredWorker(db)
    await addEvidence(db, workerId, [{ value: 300 }])
    await score(db, workerId)
    const states = (await findHistory(db, workerId, 100)).map(({ state }) => state)
    assert.deepEqual(states, ['active', 'superseded'])
  }
})
