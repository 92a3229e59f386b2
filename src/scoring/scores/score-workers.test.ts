import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addWorkers, workerIdOf } from '../../../test/support/build/evidence.ts'
import { issuer, liveVerdict, testRegistry } from '../../../test/support/build/registry.ts'
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
  score,
  scoredAt,
  scoresOf,
  scoring,
  scoringBy,
} from '../../../test/support/build/scores.ts'
import { publicLine, register } from '../../../test/support/build/workers.ts'
import { sql } from '../../platform/db/db.ts'
import { excludeEvidence, restoreEvidence } from '../evidence/exclude-evidence.ts'
import { revokeEvidence } from '../evidence/revoke-evidence.ts'
import { findHistory } from './history-store.ts'
import { scoreWorkers } from './score-workers.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

/** Creates a public worker with a score and discards its events. */
async function workerWithScore() {
  const worker = await addScoredWorker(db)
  await forgetEvents(db, worker.workerId)
  return worker
}

async function revoke(ids: readonly string[], now: Date) {
  const revocation = { reason: 'source_invalid', actor: 'test', now } as const
  await db.transaction((tx) => revokeEvidence(tx, ids, revocation))
}

const hex64 = /^[0-9a-f]{64}$/

test('enough evidence makes a first score: snapshot, credential and score.updated have the same values, and the queue is empty', async () => {
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  assert.equal((await score(db, workerId))?.effect, 'issued')
  const [stored, ...others] = await scoresOf(db, workerId)
  assert.ok(stored !== undefined)
  assert.deepEqual(others, [])
  assert.partialDeepStrictEqual(stored, { state: 'active', change: 'first', previous: null })
  const [event, ...more] = await eventsOf(db, workerId)
  assert.deepEqual(more, [])
  assert.equal(event?.type, 'score.updated')
  const [credential] = await db.rows<{ payload: string; proof: string; token: string }>(sql`
    select payload, proof, encode(status_token, 'hex') as token from score_credentials
    where encode(vc_sha256, 'hex') = ${stored.vc}`)
  assert.ok(credential !== undefined)
  const payload = JSON.parse(credential.payload)
  assert.deepEqual(event?.data, {
    workerId,
    snapshotId: stored.id,
    score: payload.credentialSubject.score,
    confidenceLow: payload.credentialSubject.confidenceLow,
    confidenceHigh: payload.credentialSubject.confidenceHigh,
    evidenceCount: 4,
    sourceCount: 2,
    scoreVcSha256: stored.vc,
    scoreVcStatusToken: credential.token,
    issuedAt: '2026-05-14T09:00:00Z',
  })
  assert.equal(payload.credentialSubject.engineBinarySha256, scoring.engine.binarySha256)
  const verdict = await liveVerdict(db, { ...payload, proof: JSON.parse(credential.proof) })
  assert.equal(verdict.valid, true)
  assert.equal(await isMarked(db, workerId), false)
})

test('too little evidence, or evidence of one group only, makes no score and no event', async () => {
  const [few = '', alone = ''] = await addPublicWorkers(db, 2)
  await addEvidence(db, few, enough.slice(2))
  await addEvidence(db, alone, [{}, { value: 710 }, { value: 720 }, { value: 730 }])
  for (const workerId of [few, alone]) {
    assert.equal((await score(db, workerId))?.effect, 'none')
    assert.deepEqual(await scoresOf(db, workerId), [])
    assert.deepEqual(await eventsOf(db, workerId), [])
  }
})

test('the same evidence a day later keeps score and credential, without an event', async () => {
  const { workerId } = await workerWithScore()
  const before = await scoresOf(db, workerId)
  assert.equal((await score(db, workerId, { at: daysAfter(1) }))?.effect, 'kept')
  assert.deepEqual(await scoresOf(db, workerId), before)
  assert.deepEqual(await eventsOf(db, workerId), [])
})

test('new evidence updates the score: the one before is superseded, and its credential stays valid for its date', async () => {
  const { workerId } = await workerWithScore()
  await addEvidence(db, workerId, [{ value: 400, type: 'work_product' }])
  await score(db, workerId, { at: daysAfter(1) })
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { state: 'superseded', vcRevokedAt: null })
  assert.partialDeepStrictEqual(second, { state: 'active', change: 'updated', previous: first?.id })
  const ends = (await findHistory(db, workerId, 100)).map(({ endedAt }) => endedAt)
  assert.deepEqual(ends, [null, daysAfter(1)])
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated'],
  )
})

test('SUPERSEDE_REVOKES: an updated score revokes the credential before it', async () => {
  const { workerId } = await workerWithScore()
  await addEvidence(db, workerId, [{ value: 400, type: 'work_product' }])
  const by = scoringBy({ ...issuer, supersedeRevokes: true })
  await score(db, workerId, { at: daysAfter(1), by })
  const [first, second] = await scoresOf(db, workerId)
  assert.deepEqual([first?.vcRevokedAt, second?.vcRevokedAt], [daysAfter(1), null])
})

for (const supersedeRevokes of [false, true])
  test(`a credential under a previous username is replaced as the worker's older one, SUPERSEDE_REVOKES=${supersedeRevokes}`, async () => {
    const username = supersedeRevokes ? 'grace' : 'ada'
    const { workerId } = await addScoredWorker(db, {
      over: { username: `${username}-before`, externalId: username },
    })
    await register(db, [publicLine({ username, externalId: username })])
    await addEvidence(db, workerId, [{ value: 400, type: 'work_product' }])
    const by = scoringBy({ ...issuer, supersedeRevokes })
    await score(db, workerId, { at: daysAfter(1), by })
    assert.deepEqual(
      await db.rows(sql`
        select c.superseded_at as "supersededAt", c.revoked_at as "revokedAt"
        from score_credentials c join score_snapshots s using (vc_sha256)
        where s.worker_id = ${workerId} order by s.issued_at`),
      [
        { supersededAt: daysAfter(1), revokedAt: supersedeRevokes ? daysAfter(1) : null },
        { supersededAt: null, revokedAt: null },
      ],
    )
  })

test('a score that counts revoked evidence is revised by any scoring run, and its credential is revoked', async () => {
  const { workerId, evidence } = await workerWithScore()
  await revoke(evidence.slice(3), daysAfter(1))
  await score(db, workerId, { at: daysAfter(2) })
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { state: 'superseded', vcRevokedAt: daysAfter(2) })
  assert.partialDeepStrictEqual(second, {
    state: 'active',
    change: 'revised',
    reason: 'evidence_revoked',
    previous: first?.id,
  })
  const [event, ...more] = await eventsOf(db, workerId)
  assert.deepEqual(more, [])
  assert.equal(event?.type, 'score.revised')
  assert.match(String(event?.data.previousScoreVcStatusToken), hex64)
  assert.partialDeepStrictEqual(event?.data, {
    snapshotId: second?.id,
    previousSnapshotId: first?.id,
    previousScore: first?.score,
    previousScoreVcSha256: first?.vc,
    reason: 'evidence_revoked',
    disputeId: null,
    evidenceCount: 3,
    issuedAt: '2026-05-16T09:00:00Z',
    revisedAt: '2026-05-16T09:00:00Z',
  })
})

test('evidence that was revoked before it ever counted corrects nothing: the score is updated', async () => {
  const { workerId } = await workerWithScore()
  const [wrong = ''] = await addEvidence(db, workerId, [{ value: 10 }])
  await revoke([wrong], daysAfter(1))
  assert.equal((await score(db, workerId, { at: daysAfter(1) }))?.effect, 'kept')
  await addEvidence(db, workerId, [{ value: 300, type: 'work_product' }])
  await score(db, workerId, { at: daysAfter(1) })
  assert.equal((await scoresOf(db, workerId)).at(-1)?.change, 'updated')
})

test('a correction by the caller stands in snapshot and event with its dispute', async () => {
  const { workerId } = await workerWithScore()
  await addEvidence(db, workerId, [{ value: 100 }])
  const disputeId = '5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f'
  const correction = { reason: 'dispute_upheld', disputeId } as const
  await score(db, workerId, { at: daysAfter(1), correction })
  const [event] = await eventsOf(db, workerId)
  assert.partialDeepStrictEqual(event, {
    type: 'score.revised',
    data: { reason: 'dispute_upheld', disputeId },
  })
  const kept = await db.rows(sql`
    select dispute_id as "disputeId" from score_snapshots
    where worker_id = ${workerId} and state = 'active'`)
  assert.deepEqual(kept, [{ disputeId }])
})

test('below the minimum the score is withdrawn without an event, and its credential is revoked only if the score was wrong', async () => {
  const [expired, wrong] = [await workerWithScore(), await workerWithScore()]
  await db.transaction((tx) => excludeEvidence(tx, expired.evidence.slice(1), daysAfter(1)))
  await revoke(wrong.evidence.slice(1), daysAfter(1))
  for (const { workerId } of [expired, wrong])
    assert.equal((await score(db, workerId, { at: daysAfter(1) }))?.effect, 'withdrawn')
  assert.partialDeepStrictEqual(await scoresOf(db, expired.workerId), [
    { state: 'withdrawn', vcRevokedAt: null },
  ])
  assert.partialDeepStrictEqual(await scoresOf(db, wrong.workerId), [
    { state: 'withdrawn', vcRevokedAt: daysAfter(1) },
  ])
  for (const { workerId } of [expired, wrong]) assert.deepEqual(await eventsOf(db, workerId), [])
  await db.transaction((tx) => restoreEvidence(tx, expired.evidence, daysAfter(2)))
  await score(db, expired.workerId, { at: daysAfter(2) })
  assert.equal((await scoresOf(db, expired.workerId)).at(-1)?.change, 'first')
})

test('a worker that does not share its score has one without credential, and no event is published', async () => {
  const consentsWithout = (missing: string) => ({
    consents: ['public_profile', 'search_listing', 'score_sharing']
      .filter((permission) => permission !== missing)
      .map((permission) => ({ permission, textVersion: '1' })),
  })
  const silent = [
    consentsWithout('score_sharing'),
    consentsWithout('public_profile'),
    { identity: undefined },
    { terms: undefined },
  ]
  for (const over of silent) {
    const [workerId = ''] = await addPublicWorkers(db, 1, over)
    const evidence = await addEvidence(db, workerId, enough)
    await score(db, workerId)
    await revoke(evidence.slice(3), daysAfter(1))
    await score(db, workerId, { at: daysAfter(1) })
    assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
      { state: 'superseded', vc: null },
      { state: 'active', change: 'revised', vc: null },
    ])
    assert.deepEqual(await eventsOf(db, workerId), [])
  }
})

test('a worker without a profile has a score without credential, and no event is published', async () => {
  const workerId = workerIdOf(1)
  await addWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  assert.equal((await score(db, workerId))?.effect, 'issued')
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [{ state: 'active', vc: null }])
  assert.deepEqual(await eventsOf(db, workerId), [])
})

test('a score is issued anew before its credential expires', async () => {
  const { workerId } = await workerWithScore()
  assert.equal((await score(db, workerId, { at: daysAfter(1) }))?.effect, 'kept')
  assert.equal((await score(db, workerId, { at: daysAfter(274) }))?.effect, 'issued')
})

test('several workers in one call are scored independently; an unknown worker is left out', async () => {
  const workerIds = await addPublicWorkers(db, 40)
  for (const workerId of workerIds) await addEvidence(db, workerId, enough)
  const unknown = '00000000-0000-7000-8000-000000000000'
  const due = [...workerIds, unknown].map((workerId) => ({ workerId, correction: null }))
  const scored = await db.transaction((tx) => scoreWorkers(tx, scoring, due, scoredAt))
  assert.deepEqual(new Set(scored.map(({ workerId }) => workerId)), new Set(workerIds))
  for (const workerId of workerIds) {
    assert.partialDeepStrictEqual(await scoresOf(db, workerId), [{ state: 'active' }])
    assert.equal((await eventsOf(db, workerId)).length, 1)
  }
  const [row] = await db.rows<{ nonces: number }>(sql`
    select count(distinct w.nonce) as nonces
    from score_workings w join score_snapshots s on s.snapshot_id = w.snapshot_id
    where s.worker_id = any(${workerIds}::uuid[])`)
  assert.equal(row?.nonces, 40, 'what salts one score tells nothing of another')
})

test('a worker whose evidence the engine rejects does not block the others', async () => {
  const [broken, sound] = [await workerWithScore(), await workerWithScore()]
  await addEvidence(db, sound.workerId, [{ value: 100 }])
  const engine = {
    ...scoring.engine,
    score: (input: Parameters<typeof scoring.engine.score>[0]) => {
      if (input.evidence.length === enough.length) throw new RangeError('too much of it')
      return scoring.engine.score(input)
    },
  }
  const due = [broken, sound].map(({ workerId }) => ({ workerId, correction: null }))
  const scored = await db.transaction((tx) =>
    scoreWorkers(tx, { ...scoring, engine }, due, daysAfter(1)),
  )
  assert.deepEqual(
    scored.map(({ effect }) => effect),
    ['unscorable', 'issued'],
  )
  assert.partialDeepStrictEqual(await scoresOf(db, broken.workerId), [{ state: 'active' }])
})

test('the database prevents two active scores of one worker and the reactivation of a score', async () => {
  const { workerId } = await workerWithScore()
  await addEvidence(db, workerId, [{ value: 400 }])
  await score(db, workerId, { at: daysAfter(1) })
  const revive = sql`
    update score_snapshots set state = 'active', ended_at = null
    where worker_id = ${workerId} and state = 'superseded'`
  await assert.rejects(db.run(revive), /stays ended/)
  const second = sql`
    insert into score_snapshots select (jsonb_populate_record(s, jsonb_build_object('snapshot_id',
      '\\x' || repeat('00', 32), 'vc_sha256', null, 'status_token', null))).*
    from score_snapshots s where worker_id = ${workerId} and state = 'active'`
  await assert.rejects(db.run(second), /score_snapshots_one_active/)
})
