import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testRegistry } from '../../../test/support/build/registry.ts'
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
} from '../../../test/support/build/scores.ts'
import { cutOffEverywhere } from '../../../test/support/fault/faults.ts'
import { crossing, inTurn } from '../../../test/support/fault/in-turn.ts'
import { type Db, sql, type Tx } from '../../platform/db/db.ts'
import { lockWorkers, tryLockWorkers } from '../../workers/store.ts'
import { excludeEvidence, restoreEvidence } from '../evidence/exclude-evidence.ts'
import { findSnapshotsFrom } from './history-store.ts'
import { changeConsent } from './keep-sharing.ts'
import { type Reassignment, reassignEvidence } from './reassign-evidence.ts'
import { openMakers, replay } from './replay.ts'
import { revokeAndRescore } from './revoke-evidence.ts'
import { scoreWorkers } from './score-workers.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const now = daysAfter(1)

function score(workerId: string, at = scoredAt) {
  return db.transaction((tx) => scoreWorkers(tx, scoring, [{ workerId, correction: null }], at))
}

/** Creates a worker with a score and discards its events. */
async function workerWithScore(over: Record<string, unknown> = {}) {
  const [workerId = ''] = await addPublicWorkers(db, 1, over)
  const evidence = await addEvidence(db, workerId, enough)
  await score(workerId)
  await db.run(sql`delete from webhook_events where worker_id = ${workerId}`)
  return { workerId, evidence }
}

function reassign(what: Reassignment['what'], toWorkerId: string, from: Db = db, at = now) {
  return from.transaction((tx) => reassignEvidence(tx, scoring, { what, toWorkerId, now: at }))
}

async function evidenceOf(workerId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select evidence_id as id from evidence where worker_id = ${workerId} order by evidence_id`)
  return rows.map(({ id }) => id)
}

test('one record that mixed two workers: both scores were wrong, both credentials are revoked, and both are revised with identity_change', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [id = ''] = giver.evidence
  const answer = await reassign([id], taker.workerId)
  assert.partialDeepStrictEqual(answer, {
    moved: [{ evidenceId: id, fromWorkerId: giver.workerId }],
    scored: [
      { workerId: giver.workerId, effect: 'issued' },
      { workerId: taker.workerId, effect: 'issued' },
    ],
  })
  for (const [{ workerId }, count] of [[giver, 3] as const, [taker, 5] as const]) {
    const [wrong, right, ...more] = await scoresOf(db, workerId)
    assert.deepEqual(more, [])
    assert.partialDeepStrictEqual(wrong, { state: 'superseded', vcRevokedAt: now })
    assert.partialDeepStrictEqual(right, {
      state: 'active',
      change: 'revised',
      reason: 'identity_change',
      previous: wrong?.id,
      vcRevokedAt: null,
    })
    const [revised, ...others] = await eventsOf(db, workerId)
    assert.deepEqual(others, [])
    assert.equal(revised?.type, 'score.revised')
    assert.partialDeepStrictEqual(revised?.data, {
      workerId,
      snapshotId: right?.id,
      evidenceCount: count,
      previousSnapshotId: wrong?.id,
      previousScoreVcSha256: wrong?.vc,
      reason: 'identity_change',
      disputeId: null,
      revisedAt: '2026-05-15T09:00:00Z',
    })
    assert.equal(await isMarked(db, workerId), false)
  }
})

test('two records of one worker: all evidence moves, the first score is withdrawn with its credential, and the second is revised', async () => {
  const [former, worker] = [await workerWithScore(), await workerWithScore()]
  const [old = ''] = await addEvidence(db, former.workerId, [{ value: 100 }])
  const revocation = { reason: 'policy', actor: 'test', now: scoredAt } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [old], revocation))
  await db.run(sql`delete from webhook_events where worker_id = ${former.workerId}`)
  await reassign({ allOf: former.workerId }, worker.workerId)
  assert.deepEqual(await evidenceOf(former.workerId), [old], 'what is revoked counts for nobody')
  assert.deepEqual(
    await evidenceOf(worker.workerId),
    [...former.evidence, ...worker.evidence].sort(),
  )
  const formerScores = await scoresOf(db, former.workerId)
  assert.partialDeepStrictEqual(formerScores.at(-1), { state: 'withdrawn', vcRevokedAt: now })
  assert.deepEqual(await eventsOf(db, former.workerId), [])
  assert.partialDeepStrictEqual(await eventsOf(db, worker.workerId), [
    { type: 'score.revised', data: { reason: 'identity_change', evidenceCount: 8 } },
  ])
})

test('all evidence of a worker includes expired items; one excluded item blocks the whole reassignment', async () => {
  const [former, worker] = [await workerWithScore(), await workerWithScore()]
  const [over = ''] = await addEvidence(db, former.workerId, [{ expiresOn: '2026-05-10' }])
  const [first = ''] = former.evidence
  await db.transaction((tx) => excludeEvidence(tx, [first], scoredAt))
  assert.deepEqual(await reassign({ allOf: former.workerId }, worker.workerId), {
    refusal: 'evidence_excluded',
    message: `${first}: excluded by a dispute: end the dispute first. Nothing was done.`,
  })
  await db.transaction((tx) => restoreEvidence(tx, [first], scoredAt))
  await reassign({ allOf: former.workerId }, worker.workerId)
  assert.deepEqual(await evidenceOf(former.workerId), [])
  assert.ok((await evidenceOf(worker.workerId)).includes(over))
})

test('a worker without a score gets a first one', async () => {
  const giver = await workerWithScore()
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await reassign({ allOf: giver.workerId }, workerId)
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'active', change: 'first' },
  ])
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated'],
  )
})

test('an earlier credential is revoked if its score counted evidence of another worker', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [late = ''] = await addEvidence(db, giver.workerId, [{ value: 950 }])
  await score(giver.workerId, daysAfter(0.25))
  await addEvidence(db, giver.workerId, [{ value: 960 }])
  await score(giver.workerId, daysAfter(0.5))
  await reassign([late], taker.workerId)
  assert.deepEqual(
    (await scoresOf(db, giver.workerId)).map(({ vcRevokedAt }) => vcRevokedAt !== null),
    [false, true, true, false],
  )
})

test('an item that counts for nothing moves without changing a score', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [claim = ''] = await addEvidence(db, giver.workerId, [{ sourceId: 'self' }])
  await reassign([claim], taker.workerId)
  assert.ok((await evidenceOf(taker.workerId)).includes(claim))
  for (const { workerId } of [giver, taker]) {
    assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
      { state: 'active', vcRevokedAt: null },
    ])
    assert.deepEqual(await eventsOf(db, workerId), [])
  }
})

test("an item that never counted corrects nothing: the losing worker's score is updated, and its credential stays valid for its date", async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [kept = '', lost = ''] = await addEvidence(db, giver.workerId, [{ value: 950 }, {}])
  await reassign([lost], taker.workerId)
  assert.ok((await evidenceOf(giver.workerId)).includes(kept))
  assert.partialDeepStrictEqual(await scoresOf(db, giver.workerId), [
    { state: 'superseded', vcRevokedAt: null },
    { state: 'active', change: 'updated', reason: null },
  ])
  assert.deepEqual(
    (await eventsOf(db, giver.workerId)).map(({ type }) => type),
    ['score.updated'],
  )
})

test('a reassignment to the same worker, or a repeated one, changes nothing', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  await reassign(giver.evidence.slice(3), taker.workerId)
  const before = [await scoresOf(db, taker.workerId), await eventsOf(db, taker.workerId)]
  assert.deepEqual(await reassign(giver.evidence.slice(3), taker.workerId), {
    moved: [],
    scored: [],
  })
  assert.deepEqual([await scoresOf(db, taker.workerId), await eventsOf(db, taker.workerId)], before)
})

test('a worker that does not share its score is corrected without an event', async () => {
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const [giver, taker] = [await workerWithScore({ consents }), await workerWithScore()]
  await reassign(giver.evidence.slice(3), taker.workerId)
  assert.partialDeepStrictEqual((await scoresOf(db, giver.workerId)).at(-1), {
    reason: 'identity_change',
    vc: null,
  })
  assert.deepEqual(await eventsOf(db, giver.workerId), [])
})

test('a reassignment is refused as a whole for an unknown, revoked or excluded item, or an erased worker', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [first = '', second = '', third = ''] = giver.evidence
  const nowhere = '00000000-0000-7000-8000-000000000000'
  const revocation = { reason: 'policy', actor: 'test', now: scoredAt } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [second], revocation))
  await db.transaction((tx) => excludeEvidence(tx, [third], scoredAt))
  const before = await evidenceOf(giver.workerId)
  for (const [wrong, refusal] of [
    [nowhere, 'evidence_not_found'],
    [second, 'evidence_revoked'],
    [third, 'evidence_excluded'],
  ] as const)
    assert.partialDeepStrictEqual(await reassign([first, wrong], taker.workerId), { refusal })
  const gone = await workerWithScore({ username: 'gone-by-now' })
  for (const permission of ['public_profile', 'search_listing', 'score_sharing'] as const)
    await db.transaction((tx) =>
      changeConsent(tx, 'gone-by-now', { permission, textVersion: null, by: 'test', at: now }),
    )
  await db.run(sql`
    update workers set external_id = null, terms_version = null, terms_accepted_at = null,
      onboarded_at = null, erased_at = ${now} where id = ${gone.workerId}`)
  assert.deepEqual(await reassign([first], gone.workerId), { refusal: 'worker_not_found' })
  assert.deepEqual(await evidenceOf(giver.workerId), before)
})

test('evidence that is revoked concurrently is taken from its current worker', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [id = ''] = giver.evidence
  const revocation = { reason: 'policy', actor: 'test', now: daysAfter(2) } as const
  await whileReassigning([id], taker.workerId, () =>
    db.transaction((tx) => revokeAndRescore(tx, scoring, [id], revocation)),
  )
  assert.deepEqual(
    (await eventsOf(db, taker.workerId)).map(({ data }) => data.reason),
    ['identity_change', 'policy', 'evidence_revoked'],
  )
  assert.deepEqual(
    (await eventsOf(db, giver.workerId)).map(({ data }) => data.reason),
    ['identity_change'],
  )
})

test('revoking evidence locks the worker that it moved to meanwhile, even if no score is computed', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const [id = ''] = giver.evidence
  const revocation = { reason: 'policy', actor: 'test', now: daysAfter(2) } as const
  const free = await whileReassigning([id], taker.workerId, () =>
    db.transaction(async (tx) => {
      await revokeAndRescore(tx, null, [id], revocation)
      return db.transaction((other) => tryLockWorkers(other, [taker.workerId]))
    }),
  )
  assert.deepEqual(free, [])
})

test('allOf moves only the evidence that still belongs to the worker; items that moved meanwhile stay', async () => {
  const [giver, taker, other] = [
    await workerWithScore(),
    await workerWithScore(),
    await workerWithScore(),
  ]
  const [id = ''] = giver.evidence
  await whileReassigning([id], other.workerId, () =>
    reassign({ allOf: giver.workerId }, taker.workerId),
  )
  assert.deepEqual(await evidenceOf(other.workerId), [id, ...other.evidence].sort())
  assert.deepEqual(await evidenceOf(giver.workerId), [])
})

for (const everything of [true, false])
  test(`a reassignment of ${everything ? 'all evidence' : 'an item'} and a concurrent change of both workers wait for each other and do not deadlock`, async () => {
    const [taker, giver] = [await workerWithScore(), await workerWithScore()].sort((a, b) =>
      a.workerId < b.workerId ? -1 : 1,
    )
    assert.ok(taker !== undefined && giver !== undefined)
    const one = {
      first: (tx: Tx) => lockWorkers(tx, [taker.workerId]),
      second: (tx: Tx) => lockWorkers(tx, [giver.workerId]),
    }
    const what = everything ? { allOf: giver.workerId } : giver.evidence
    const to = { toWorkerId: taker.workerId, now }
    const moved = await crossing(db, one, (tx) => reassignEvidence(tx, scoring, { what, ...to }))
    assert.ok('moved' in moved)
  })

/** Returns the result of `next`, which has to wait until the items belong to the other worker. */
async function whileReassigning<Result>(
  what: readonly string[],
  toWorkerId: string,
  next: () => Promise<Result>,
): Promise<Result> {
  const first = (tx: Tx) => reassignEvidence(tx, scoring, { what, toWorkerId, now })
  return (await inTurn(db, first, next))[1]
}

test('earlier scores replay with the same result', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  await reassign({ allOf: giver.workerId }, taker.workerId)
  const makersOf = openMakers(db)
  const stored = await findSnapshotsFrom(db, Buffer.alloc(0), 1_000)
  const theirs = stored.filter(({ workerId }) =>
    [giver, taker].some((one) => one.workerId === workerId),
  )
  assert.equal(theirs.length, 3)
  for (const one of theirs) assert.deepEqual(await replay(one, makersOf), { verdict: 'agrees' })
})

async function stateOf(workerIds: readonly string[]): Promise<string> {
  const rows = await db.rows(sql`
    select
      (select json_agg(s order by snapshot_id) from score_snapshots s
        where worker_id = any(${workerIds}::uuid[])) as snapshots,
      (select json_agg(c order by vc_sha256) from score_credentials c) as credentials,
      (select json_agg(l order by list_id) from status_lists l) as lists,
      (select json_agg(e order by seq) from webhook_events e) as events,
      (select json_agg(e order by evidence_id) from evidence e) as evidence,
      (select json_agg(r order by worker_id) from score_recomputations r) as marks`)
  return JSON.stringify(rows)
}

test('a reassignment interrupted at any boundary changes nothing until all is done, and sends each event once', async () => {
  const [giver, taker] = [await workerWithScore(), await workerWithScore()]
  const workers = [giver.workerId, taker.workerId]
  const before = await stateOf(workers)
  const boundaries = await cutOffEverywhere(
    db,
    (from) => reassign(giver.evidence.slice(3), taker.workerId, from),
    async (cutOff) => {
      if (cutOff) assert.equal(await stateOf(workers), before)
    },
  )
  assert.ok(boundaries >= 20, `${boundaries} boundaries`)
  for (const workerId of workers)
    assert.deepEqual(
      (await eventsOf(db, workerId)).map(({ type }) => type),
      ['score.revised'],
    )
})
