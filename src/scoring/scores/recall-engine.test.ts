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
  isMarked,
  score,
  scoredAt,
  scoresOf,
  scoring,
  scoringWrongly,
} from '../../../test/support/build/scores.ts'
import { boundedDb, cutOffEverywhere, Fault } from '../../../test/support/fault/faults.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import { perform } from '../../operations/perform.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import { EngineRefused } from './engine.ts'
import { enginesRecall } from './engine-operations.ts'
import { changeConsent } from './keep-sharing.ts'
import { countScoresByEngine, findRecalls, markRecalled, recallEngine } from './recall-engine.ts'
import { recomputeSome } from './recompute.ts'
import { revokeAndRescore } from './revoke-evidence.ts'
import { scoreWorkers } from './score-workers.ts'
import type { Scoring } from './scoring.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const now = daysAfter(1)
let releases = 0

/** Returns a release of its own for each test, because a recall cannot be undone. */
function wrongRelease(): Scoring {
  return scoringWrongly(`0.9.${releases++}`)
}

/** Creates a worker with a score of that release. */
function scoredBy(release: Scoring, over: Record<string, unknown> = {}) {
  return addScoredWorker(db, { over, by: release })
}

function recall({ engine }: Scoring, from: Db = db): Promise<boolean> {
  const engineSha256 = Buffer.from(engine.binarySha256, 'hex')
  const named = { engineSha256, engineVersion: engine.version, recalledAt: now }
  return from.transaction((tx) => recallEngine(tx, { ...named, reason: 'wrong_result' }, 'test'))
}

async function recompute(by = scoring, at = now, from: Db = db): Promise<void> {
  const some = () => from.transaction((tx) => recomputeSome(tx, by, { limit: 100, now: at }))
  for (let scored = await some(); scored.length > 0; scored = await some());
}

async function recallAndRecompute(release: Scoring): Promise<void> {
  await recall(release)
  await markRecalled(db, now)
  await recompute()
}

test('each active score is recomputed: score.revised has the reason engine_correction, the old credential is revoked, and the queue is empty', async () => {
  const release = wrongRelease()
  const { workerId } = await scoredBy(release)
  await recallAndRecompute(release)
  const [wrong, right, ...more] = await scoresOf(db, workerId)
  assert.deepEqual(more, [])
  assert.partialDeepStrictEqual(wrong, { state: 'superseded', vcRevokedAt: now })
  assert.partialDeepStrictEqual(right, {
    state: 'active',
    change: 'revised',
    reason: 'engine_correction',
    previous: wrong?.id,
    vcRevokedAt: null,
  })
  const [, revised, ...others] = await eventsOf(db, workerId)
  assert.deepEqual(others, [])
  assert.equal(revised?.type, 'score.revised')
  assert.partialDeepStrictEqual(revised?.data, {
    snapshotId: right?.id,
    score: right?.score,
    scoreVcSha256: right?.vc,
    previousSnapshotId: wrong?.id,
    previousScore: wrong?.score,
    previousScoreVcSha256: wrong?.vc,
    reason: 'engine_correction',
    disputeId: null,
    revisedAt: '2026-05-15T09:00:00Z',
  })
  assert.equal(await isMarked(db, workerId), false)
})

test('an equal result of the right engine replaces the score too, because the credential names the recalled engine', async () => {
  const release = wrongRelease()
  const same = { ...release, engine: { ...release.engine, score: scoring.engine.score } }
  const { workerId } = await scoredBy(same)
  await recallAndRecompute(release)
  const [before, after] = await scoresOf(db, workerId)
  assert.equal(before?.score, after?.score)
  assert.partialDeepStrictEqual(before, { state: 'superseded', vcRevokedAt: now })
  assert.equal(after?.reason, 'engine_correction')
})

test('scores of other engines stay, with their credentials; a second recall changes nothing', async () => {
  const [release, other] = [wrongRelease(), wrongRelease()]
  const { workerId } = await scoredBy(other)
  const { workerId: theirs } = await scoredBy(release)
  await recallAndRecompute(release)
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'active', vcRevokedAt: null },
  ])
  const before = [await scoresOf(db, theirs), await eventsOf(db, theirs)]
  assert.equal(await recall(release), false)
  await markRecalled(db, daysAfter(2))
  await recompute(scoring, daysAfter(2))
  assert.deepEqual([await scoresOf(db, theirs), await eventsOf(db, theirs)], before)
})

test('more workers than one page holds: calls of one batch each mark exactly the workers with an active score of the engine', async () => {
  const [release, other] = [wrongRelease(), wrongRelease()]
  const { workerId: first } = await scoredBy(release)
  const { workerId: elsewhere } = await scoredBy(other)
  const { workerId: since } = await scoredBy(release)
  await addEvidence(db, since, [{ value: 950 }])
  await score(db, since, { at: daysAfter(0.5) })
  await copyScore(first, 2_000)
  const { version, binarySha256: sha256 } = release.engine
  const admin = { kind: 'operator', role: 'admin', actor: 'ada@vm', by: 'Ada' } as const
  const batches: number[][] = []
  for (let more: true | undefined = true; more; ) {
    const input = { version, sha256, reason: 'unfair' } as const
    const performer = { db, clock: () => now, services: {} }
    const done = await perform(performer, enginesRecall, admin, input, { batchesMsMax: 0 })
    assert.ok('output' in done, JSON.stringify(done))
    const { active, marked, revoked } = done.output
    batches.push([active, marked, revoked])
    more = done.output.more
  }
  // The recall, two full pages and the last one: sums of active, marked and revoked.
  assert.equal(batches.length, 4)
  const sumOf = (i: number) => batches.reduce((sum, batch) => sum + (batch[i] ?? 0), 0)
  assert.deepEqual([sumOf(0), sumOf(1), sumOf(2)], [2_001, 2_001, 1])
  await markRecalled(db, daysAfter(2))
  const [row] = await db.rows<{ marked: number; left: number }>(sql`
    select count(*) filter (where r.reason = 'engine_recalled') as marked,
      count(*) filter (where r.worker_id is null) as left
    from score_snapshots s left join score_recomputations r on r.worker_id = s.worker_id
    where s.state = 'active' and s.engine_sha256 = ${Buffer.from(release.engine.binarySha256, 'hex')}`)
  assert.deepEqual(row, { marked: 2_001, left: 0 })
  for (const workerId of [elsewhere, since]) assert.equal(await isMarked(db, workerId), false)
  const counted = (await countScoresByEngine(db)).find(
    ({ engineVersion }) => engineVersion === release.engine.version,
  )
  assert.deepEqual([counted?.scores, counted?.active], [2_002, 2_001])
  await forgetCopies()
})

/**
 * Copies the worker's active score, without its credential, to `count` new workers that have
 * nothing else.
 */
async function copyScore(workerId: string, count: number): Promise<void> {
  await db.run(sql`
    insert into workers (id, registered_at)
    select ('c0c0c0c0-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${scoredAt}
    from generate_series(1, ${count}::int) n`)
  await db.run(sql`
    insert into score_snapshots select (jsonb_populate_record(s, jsonb_build_object(
      'snapshot_id', '\\x' || encode(sha256(w.id::text::bytea), 'hex'), 'worker_id', w.id,
      'vc_sha256', null, 'status_token', null))).*
    from score_snapshots s, workers w
    where s.worker_id = ${workerId} and s.state = 'active' and w.id::text like 'c0c0c0c0-%'`)
}

async function forgetCopies(): Promise<void> {
  await db.run(sql`delete from score_recomputations where worker_id::text like 'c0c0c0c0-%'`)
}

test('the credential of an earlier score by the engine is revoked, and the active score stays', async () => {
  const release = wrongRelease()
  const { workerId } = await scoredBy(release)
  await addEvidence(db, workerId, [{ value: 950 }])
  await score(db, workerId, { at: daysAfter(0.5) })
  await recallAndRecompute(release)
  const scores = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(scores, [
    { state: 'superseded', vcRevokedAt: now },
    { state: 'active', change: 'updated', vcRevokedAt: null },
  ])
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated', 'score.updated'],
  )
})

test('if too little evidence is left, the score is withdrawn with its credential, and no new score is sent', async () => {
  const release = wrongRelease()
  const { workerId } = await scoredBy(release)
  await recall(release)
  await markRecalled(db, now)
  await recompute({ ...scoring, issueRule: { ...scoring.issueRule, groupsMin: 10 } })
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'withdrawn', vcRevokedAt: now },
  ])
  assert.equal((await eventsOf(db, workerId)).length, 1)
})

test('a worker that does not share its score is scored again without an event', async () => {
  const release = wrongRelease()
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const never = await scoredBy(release, { consents })
  const noMore = await scoredBy(release, { username: 'no-more' })
  await db.transaction((tx) => {
    const request = { permission: 'score_sharing', textVersion: null } as const
    return changeConsent(tx, 'no-more', { ...request, by: 'test', at: daysAfter(0.5) })
  })
  await recallAndRecompute(release)
  for (const { workerId } of [never, noMore]) {
    assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
      { state: 'superseded' },
      { state: 'active', reason: 'engine_correction', vc: null },
    ])
    assert.deepEqual(await eventsOf(db, workerId), [])
  }
})

test('the first scoring run corrects the score, even if a revocation comes before the recomputation', async () => {
  const release = wrongRelease()
  const { workerId, evidence } = await scoredBy(release)
  await recall(release)
  const revocation = { reason: 'policy', actor: 'test', now } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, evidence.slice(3), revocation))
  await markRecalled(db, now)
  await recompute()
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type, data }) => [type, data.reason]),
    [
      ['score.updated', undefined],
      ['evidence.revoked', 'policy'],
      ['score.revised', 'evidence_revoked'],
    ],
  )
})

test('a recalled engine computes no more scores, and its scores stay active until another engine is installed', async () => {
  const release = wrongRelease()
  const { workerId, evidence } = await scoredBy(release)
  await recall(release)
  await markRecalled(db, now)
  const isRefused = (error: unknown) => error instanceof EngineRefused && error.fault === 'recalled'
  await assert.rejects(recompute(release), isRefused)
  await assert.rejects(score(db, workerId, { by: release }), isRefused)
  const revocation = { reason: 'policy', actor: 'test', now } as const
  const revoke = (by: Scoring | null) =>
    db.transaction((tx) => revokeAndRescore(tx, by, evidence.slice(3), revocation))
  await assert.rejects(revoke(release), isRefused)
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'active', vcRevokedAt: null },
  ])
  assert.equal(await isMarked(db, workerId), true)
  await revoke(null)
  await recompute(scoring, daysAfter(3))
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'superseded', vcRevokedAt: now },
    { state: 'active', change: 'revised' },
  ])
})

test('a recall waits for running scoring transactions, so that it covers every score of the engine', async () => {
  const release = wrongRelease()
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  const due = [{ workerId, correction: null }]
  const [, isNew] = await inTurn(
    db,
    (tx) => scoreWorkers(tx, release, due, scoredAt),
    () => recall(release),
  )
  assert.equal(isNew, true)
  await markRecalled(db, now)
  await recompute()
  assert.equal((await scoresOf(db, workerId)).at(-1)?.reason, 'engine_correction')
})

test('no statement undoes a recall or changes its reason', async () => {
  const release = wrongRelease()
  await recall(release)
  const sha256 = Buffer.from(release.engine.binarySha256, 'hex')
  for (const statement of [
    sql`delete from engine_recalls where engine_sha256 = ${sha256}`,
    sql`update engine_recalls set reason = 'unfair' where engine_sha256 = ${sha256}`,
    sql`update engine_recalls set recalled_at = now() where engine_sha256 = ${sha256}`,
  ])
    await assert.rejects(db.run(statement), /stays recalled/)
  await markRecalled(db, now)
  await assert.rejects(
    db.run(sql`update engine_recalls set marked_at = null where engine_sha256 = ${sha256}`),
    /stays recalled/,
  )
})

test('a recall interrupted at any boundary exists completely or not at all', async () => {
  const release = wrongRelease()
  const count = async () => (await findRecalls(db)).length
  const before = await count()
  const boundaries = await cutOffEverywhere(
    db,
    (from) => recall(release, from),
    async (cutOff) => assert.equal(await count(), before + (cutOff ? 0 : 1)),
  )
  assert.ok(boundaries >= 3, `${boundaries} boundaries`)
})

test('marking and recomputation interrupted at any boundary and continued give the undisturbed result', async () => {
  let boundaries = 0
  for (let cutAt = 0; ; cutAt++) {
    const release = wrongRelease()
    const workers = [await scoredBy(release), await scoredBy(release)]
    await score(db, workers[1]?.workerId ?? '', { at: daysAfter(0.5) })
    await recall(release)
    boundaries = 0
    const mortal = boundedDb(db, () => {
      if (boundaries++ === cutAt) throw new Fault(`at boundary ${cutAt}`)
    })
    const follow = async (from: Db): Promise<void> => {
      await markRecalled(from, now)
      await recompute(scoring, now, from)
    }
    const cutOff = await follow(mortal).then(
      () => false,
      (error: unknown) => {
        if (error instanceof Fault) return true
        throw error
      },
    )
    await follow(db)
    const [active, replaced] = await Promise.all(
      workers.map(async ({ workerId }) => ({
        scores: await scoresOf(db, workerId),
        events: (await eventsOf(db, workerId)).map(({ type }) => type),
        marked: await isMarked(db, workerId),
      })),
    )
    assert.partialDeepStrictEqual(active, {
      scores: [
        { state: 'superseded', vcRevokedAt: now },
        { state: 'active', reason: 'engine_correction', vcRevokedAt: null },
      ],
      events: ['score.updated', 'score.revised'],
      marked: false,
    })
    assert.partialDeepStrictEqual(replaced, {
      scores: [
        { state: 'superseded', vcRevokedAt: now },
        { state: 'active', change: 'updated', vcRevokedAt: null },
      ],
      events: ['score.updated', 'score.updated'],
      marked: false,
    })
    if (!cutOff) break
  }
  assert.ok(boundaries >= 25, `${boundaries} boundaries`)
})
