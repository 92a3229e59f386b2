import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addScoredWorker,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  forgetEvents,
  isMarked,
  type StoredScore,
  score,
  scoresOf,
  scoring,
} from '../../../test/support/build/scores.ts'
import { cutOffEverywhere } from '../../../test/support/fault/faults.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import { revokeAndRescore, type ScoredRevocation } from './revoke-evidence.ts'
import type { Scoring } from './scoring.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const now = daysAfter(1)

async function workerWithScore(over: Record<string, unknown> = {}) {
  const worker = await addScoredWorker(db, { over })
  await forgetEvents(db, worker.workerId)
  return worker
}

function revoke(
  ids: readonly string[],
  over: Partial<ScoredRevocation> = {},
  { by = scoring, from = db }: { by?: Scoring | null; from?: Db } = {},
) {
  const revocation = { reason: 'source_invalid', actor: 'test', now, ...over } as const
  return from.transaction((tx) => revokeAndRescore(tx, by, ids, revocation))
}

async function typesOf(workerId: string): Promise<string[]> {
  return (await eventsOf(db, workerId)).map(({ type }) => type)
}

async function tokenOf(score: StoredScore | undefined) {
  const [row] = await db.rows<{ token: string }>(sql`
    select encode(status_token, 'hex') as token from score_snapshots
    where encode(snapshot_id, 'hex') = ${score?.id}`)
  return row?.token
}

test('one item: its credential is revoked and a new score issued, evidence.revoked comes before score.revised, and the queue is empty', async () => {
  const { workerId, evidence } = await workerWithScore()
  const [id = ''] = evidence
  const { revoked, scored } = await revoke([id])
  assert.deepEqual(revoked, [id])
  assert.deepEqual(
    scored.map(({ effect }) => effect),
    ['issued'],
  )
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { state: 'superseded', vcRevokedAt: now })
  assert.partialDeepStrictEqual(second, { state: 'active', change: 'revised', vcRevokedAt: null })
  const [event, revised, ...more] = await eventsOf(db, workerId)
  assert.deepEqual(more, [])
  assert.deepEqual(event, {
    type: 'evidence.revoked',
    data: {
      workerId,
      evidenceId: id,
      evidenceType: 'assessment',
      skillIds: ['hss:typescript'],
      reason: 'source_invalid',
      evidenceCount: 3,
      sourceCount: 2,
      snapshotId: first?.id,
      scoreVcSha256: first?.vc,
      scoreVcStatusToken: await tokenOf(first),
      revokedAt: '2026-05-15T09:00:00Z',
    },
  })
  assert.equal(revised?.type, 'score.revised')
  assert.partialDeepStrictEqual(revised?.data, {
    snapshotId: second?.id,
    scoreVcStatusToken: await tokenOf(second),
    previousSnapshotId: first?.id,
    previousScoreVcStatusToken: await tokenOf(first),
    reason: 'evidence_revoked',
  })
  assert.equal(await isMarked(db, workerId), false)
})

test('an earlier credential is revoked if its score counted the item, and otherwise stays valid for its date', async () => {
  const { workerId } = await workerWithScore()
  const [late = ''] = await addEvidence(db, workerId, [{ type: 'work_product', value: 900 }])
  await score(db, workerId, { at: daysAfter(0.25) })
  await addEvidence(db, workerId, [{ value: 950 }])
  await score(db, workerId, { at: daysAfter(0.5) })
  await revoke([late])
  const scores = await scoresOf(db, workerId)
  assert.deepEqual(
    scores.map(({ state, vcRevokedAt }) => [state, vcRevokedAt !== null]),
    [
      ['superseded', false],
      ['superseded', true],
      ['superseded', true],
      ['active', false],
    ],
  )
})

for (const reason of ['source_removed', 'worker_request', 'dispute_upheld', 'policy'] as const)
  test(`${reason}: evidence.revoked carries the reason; score.revised says evidence_revoked`, async () => {
    const { workerId, evidence } = await workerWithScore()
    await revoke(evidence.slice(3), { reason })
    const events = await eventsOf(db, workerId)
    assert.deepEqual(
      events.map(({ data }) => data.reason),
      [reason, 'evidence_revoked'],
    )
  })

test('after an upheld dispute score.revised names the dispute', async () => {
  const { workerId, evidence } = await workerWithScore()
  const disputeId = '5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f'
  await revoke(evidence.slice(3), { reason: 'dispute_upheld', disputeId })
  const [, revised] = await eventsOf(db, workerId)
  assert.partialDeepStrictEqual(revised?.data, { reason: 'dispute_upheld', disputeId })
})

test('several items of several workers: each worker is scored once, and every evidence.revoked comes first', async () => {
  const [a, b] = [await workerWithScore(), await workerWithScore()]
  await addEvidence(db, a.workerId, [{ value: 333 }])
  const { revoked } = await revoke([...a.evidence.slice(0, 2), ...b.evidence.slice(0, 1)])
  assert.equal(revoked.length, 3)
  assert.deepEqual(await typesOf(a.workerId), [
    'evidence.revoked',
    'evidence.revoked',
    'score.revised',
  ])
  assert.deepEqual(await typesOf(b.workerId), ['evidence.revoked', 'score.revised'])
  for (const { data } of (await eventsOf(db, a.workerId)).slice(0, 2))
    assert.equal(data.evidenceCount, 3)
})

test('below the minimum the score is withdrawn with its credential, and evidence.revoked names both', async () => {
  const { workerId, evidence } = await workerWithScore()
  await revoke(evidence.slice(0, 2))
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'withdrawn', vcRevokedAt: now },
  ])
  assert.deepEqual(await typesOf(workerId), ['evidence.revoked', 'evidence.revoked'])
})

test('evidence that no score counted: the event names no score, and nothing is revised', async () => {
  const { workerId } = await workerWithScore()
  const [id = ''] = await addEvidence(db, workerId, [{ value: 10 }])
  await revoke([id])
  const [event, ...more] = await eventsOf(db, workerId)
  assert.deepEqual(more, [])
  assert.partialDeepStrictEqual(event, {
    type: 'evidence.revoked',
    data: { snapshotId: null, scoreVcSha256: null, evidenceCount: 4 },
  })
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'active', vcRevokedAt: null },
  ])
})

test('a revoked claim with assurance 0 never counted, so no credential is revoked', async () => {
  for (const by of [scoring, null]) {
    const { workerId, evidence } = await addScoredWorker(db, { items: [...enough, claim] })
    await addEvidence(db, workerId, [{ value: 950 }])
    await score(db, workerId, { at: daysAfter(0.5) })
    await forgetEvents(db, workerId)
    await revoke(evidence.slice(4), {}, { by })
    assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
      { state: 'superseded', vcRevokedAt: null },
      { state: 'active', vcRevokedAt: null },
    ])
    const [event, ...more] = await eventsOf(db, workerId)
    assert.partialDeepStrictEqual(event?.data, { snapshotId: null, scoreVcSha256: null })
    assert.deepEqual(more, [])
  }
})

const claim = { sourceId: 'self' }

test('an upheld dispute of evidence that never counted corrects nothing: the score is updated, and its credential stays', async () => {
  const { workerId } = await workerWithScore()
  const [, disputed = ''] = await addEvidence(db, workerId, [{ value: 950 }, {}])
  const disputeId = '5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f'
  await revoke([disputed], { reason: 'dispute_upheld', disputeId })
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'superseded', vcRevokedAt: null },
    { state: 'active', change: 'updated', reason: null },
  ])
  assert.deepEqual(await typesOf(workerId), ['evidence.revoked', 'score.updated'])
})

test('a repeated revocation changes nothing and sends no event', async () => {
  const { workerId, evidence } = await workerWithScore()
  await revoke(evidence.slice(3))
  const before = [await scoresOf(db, workerId), await eventsOf(db, workerId)]
  const { revoked, alreadyRevoked } = await revoke(evidence.slice(3), { reason: 'policy' })
  assert.deepEqual([revoked, alreadyRevoked], [[], evidence.slice(3)])
  assert.deepEqual([await scoresOf(db, workerId), await eventsOf(db, workerId)], before)
})

test('a worker that does not share its score: everything is revoked, and no event is sent', async () => {
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const { workerId, evidence } = await workerWithScore({ consents })
  await revoke(evidence.slice(3))
  assert.deepEqual(
    (await scoresOf(db, workerId)).map(({ state }) => state),
    ['superseded', 'active'],
  )
  assert.deepEqual(await eventsOf(db, workerId), [])
})

test('without an engine: evidence and credential are revoked at once, and the score is revised once an engine is there', async () => {
  const { workerId, evidence } = await workerWithScore()
  // Has assurance 0, so it is not counted.
  await addEvidence(db, workerId, [{ sourceId: 'self' }])
  await revoke(evidence.slice(3), {}, { by: null })
  const [wrong] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(wrong, { state: 'active', vcRevokedAt: now })
  assert.partialDeepStrictEqual(await eventsOf(db, workerId), [
    {
      type: 'evidence.revoked',
      data: { evidenceCount: 3, sourceCount: 2, snapshotId: wrong?.id, scoreVcSha256: wrong?.vc },
    },
  ])
  assert.equal(await isMarked(db, workerId), true)
  await score(db, workerId, { at: daysAfter(2) })
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { state: 'superseded', vcRevokedAt: now })
  assert.partialDeepStrictEqual(second, { change: 'revised', reason: 'evidence_revoked' })
  assert.deepEqual(await typesOf(workerId), ['evidence.revoked', 'score.revised'])
  assert.equal(await isMarked(db, workerId), false)
})

test('without an engine, several workers: each event counts the remaining evidence of its own worker', async () => {
  const [a, b] = [await workerWithScore(), await workerWithScore()]
  await revoke([...a.evidence.slice(2), ...b.evidence.slice(3)], {}, { by: null })
  const left = async (workerId: string) =>
    (await eventsOf(db, workerId)).map(({ data }) => [data.evidenceCount, data.sourceCount])
  assert.deepEqual(await left(a.workerId), [
    [2, 1],
    [2, 1],
  ])
  assert.deepEqual(await left(b.workerId), [[3, 2]])
})

test('if the engine rejects the remaining evidence, the event still counts it, and the wrong score is withdrawn', async () => {
  const { workerId, evidence } = await workerWithScore()
  const engine = {
    ...scoring.engine,
    score: () => {
      throw new RangeError('too much of it')
    },
  }
  const { scored } = await revoke(evidence.slice(3), {}, { by: { ...scoring, engine } })
  assert.partialDeepStrictEqual(scored, [{ effect: 'withdrawn', snapshot: null, result: null }])
  assert.partialDeepStrictEqual(await eventsOf(db, workerId), [
    { type: 'evidence.revoked', data: { evidenceCount: 3, sourceCount: 2 } },
  ])
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'withdrawn', vcRevokedAt: now },
  ])
})

/** Returns every row that scoring and revoking write about these workers. */
async function stateOf(workerIds: readonly string[]): Promise<string> {
  const rows = await db.rows(sql`
    select
      (select json_agg(s order by snapshot_id) from score_snapshots s
        where worker_id = any(${workerIds}::uuid[])) as snapshots,
      (select json_agg(w order by snapshot_id) from score_workings w join score_snapshots s
        using (snapshot_id) where s.worker_id = any(${workerIds}::uuid[])) as workings,
      (select json_agg(c order by vc_sha256) from score_credentials c) as credentials,
      (select json_agg(l order by list_id) from status_lists l) as lists,
      (select json_agg(e order by seq) from webhook_events e) as events,
      (select json_agg(e order by evidence_id) from evidence e
        where worker_id = any(${workerIds}::uuid[])) as evidence,
      (select json_agg(v order by worker_id) from score_evaluations v) as evaluations,
      (select json_agg(r order by worker_id) from score_recomputations r) as marks`)
  return JSON.stringify(rows)
}

test('a revocation interrupted at any boundary changes nothing until all is done, and sends each event once', async () => {
  const [a, b] = [await workerWithScore(), await workerWithScore()]
  const ids = [...a.evidence.slice(2), ...b.evidence.slice(3)]
  const workers = [a.workerId, b.workerId]
  const before = await stateOf(workers)
  const boundaries = await cutOffEverywhere(
    db,
    (from) => revoke(ids, {}, { from }),
    async (cutOff) => {
      if (cutOff) assert.equal(await stateOf(workers), before)
    },
  )
  assert.ok(boundaries >= 20, `${boundaries} boundaries`)
  assert.deepEqual(await typesOf(a.workerId), ['evidence.revoked', 'evidence.revoked'])
  assert.partialDeepStrictEqual(await scoresOf(db, a.workerId), [
    { state: 'withdrawn', vcRevokedAt: now },
  ])
  assert.deepEqual(await typesOf(b.workerId), ['evidence.revoked', 'score.revised'])
  assert.deepEqual(
    (await scoresOf(db, b.workerId)).map(({ state }) => state),
    ['superseded', 'active'],
  )
})

test('scoring interrupted at any boundary keeps the mark until score, credential and event are stored', async () => {
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  const before = await stateOf([workerId])
  const boundaries = await cutOffEverywhere(
    db,
    (from) => score(from, workerId),
    async (cutOff) => {
      if (cutOff) assert.equal(await stateOf([workerId]), before)
    },
  )
  assert.ok(boundaries >= 14, `${boundaries} boundaries`)
  assert.deepEqual(await typesOf(workerId), ['score.updated'])
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [{ state: 'active' }])
  assert.equal(await isMarked(db, workerId), false)
})
