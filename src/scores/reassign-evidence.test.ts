import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testRegistry } from '../../test/support/build/registry.ts'
import {
  addEvidence,
  addPeople,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  isMarked,
  scoredAt,
  scoresOf,
  scoring,
} from '../../test/support/build/scores.ts'
import { cutOffEverywhere } from '../../test/support/fault/faults.ts'
import { crossing, inTurn } from '../../test/support/fault/in-turn.ts'
import { excludeEvidence, restoreEvidence } from '../evidence/exclude-evidence.ts'
import { type Db, sql, type Tx } from '../platform/db/db.ts'
import { lockWorkers, tryLockWorkers } from '../workers/store.ts'
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

/** Somebody with a score, of which nobody is told any more. */
async function scoredPerson(over: Record<string, unknown> = {}) {
  const [workerId = ''] = await addPeople(db, 1, over)
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

test('one record of two people: both scores were wrong, both credentials are revoked, both are told of as identity_change', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
  const [id = ''] = giver.evidence
  const answer = await reassign([id], taker.workerId)
  assert.partialDeepStrictEqual(answer, {
    outcome: 'reassigned',
    moved: [{ evidenceId: id, fromWorkerId: giver.workerId }],
    scored: [
      { workerId: giver.workerId, outcome: 'issued' },
      { workerId: taker.workerId, outcome: 'issued' },
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

test('two records of one person: everything goes over, the score of the one is withdrawn with its credential, that of the other revised', async () => {
  const [twin, person] = [await scoredPerson(), await scoredPerson()]
  const [old = ''] = await addEvidence(db, twin.workerId, [{ value: 100 }])
  const revocation = { reason: 'policy', actor: 'test', now: scoredAt } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [old], revocation))
  await db.run(sql`delete from webhook_events where worker_id = ${twin.workerId}`)
  await reassign({ allOf: twin.workerId }, person.workerId)
  assert.deepEqual(await evidenceOf(twin.workerId), [old], 'what is revoked counts for nobody')
  assert.deepEqual(await evidenceOf(person.workerId), [...twin.evidence, ...person.evidence].sort())
  const twins = await scoresOf(db, twin.workerId)
  assert.partialDeepStrictEqual(twins.at(-1), { state: 'withdrawn', vcRevokedAt: now })
  assert.deepEqual(await eventsOf(db, twin.workerId), [])
  assert.partialDeepStrictEqual(await eventsOf(db, person.workerId), [
    { type: 'score.revised', data: { reason: 'identity_change', evidenceCount: 8 } },
  ])
})

test('everything of a person: what has expired goes along, and what is set aside keeps all of it where it is', async () => {
  const [twin, person] = [await scoredPerson(), await scoredPerson()]
  const [over = ''] = await addEvidence(db, twin.workerId, [{ expiresOn: '2026-05-10' }])
  const [first = ''] = twin.evidence
  await db.transaction((tx) => excludeEvidence(tx, [first], scoredAt))
  assert.deepEqual(await reassign({ allOf: twin.workerId }, person.workerId), {
    outcome: 'excluded',
    evidenceIds: [first],
  })
  await db.transaction((tx) => restoreEvidence(tx, [first], scoredAt))
  await reassign({ allOf: twin.workerId }, person.workerId)
  assert.deepEqual(await evidenceOf(twin.workerId), [])
  assert.ok((await evidenceOf(person.workerId)).includes(over))
})

test('who had no score gets a first one', async () => {
  const giver = await scoredPerson()
  const [workerId = ''] = await addPeople(db, 1)
  await reassign({ allOf: giver.workerId }, workerId)
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'active', change: 'first' },
  ])
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated'],
  )
})

test('an earlier credential is revoked where its score rested on what was never theirs', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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

test('what counts for nothing changes its owner, and no score', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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

test('what had not counted yet is nobody’s mistake: the score of who loses it is updated, and its credential stays true of its date', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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

test('what is theirs already, and a second time: nothing changes', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
  await reassign(giver.evidence.slice(3), taker.workerId)
  const before = [await scoresOf(db, taker.workerId), await eventsOf(db, taker.workerId)]
  assert.deepEqual(await reassign(giver.evidence.slice(3), taker.workerId), {
    outcome: 'reassigned',
    moved: [],
    scored: [],
  })
  assert.deepEqual([await scoresOf(db, taker.workerId), await eventsOf(db, taker.workerId)], before)
})

test('who does not share the score is corrected, and nobody is told', async () => {
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const [giver, taker] = [await scoredPerson({ consents }), await scoredPerson()]
  await reassign(giver.evidence.slice(3), taker.workerId)
  assert.partialDeepStrictEqual((await scoresOf(db, giver.workerId)).at(-1), {
    reason: 'identity_change',
    vc: null,
  })
  assert.deepEqual(await eventsOf(db, giver.workerId), [])
})

test('refused as a whole: an item that is not there, is revoked or set aside, and a person who was erased', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
  const [first = '', second = '', third = ''] = giver.evidence
  const nowhere = '00000000-0000-7000-8000-000000000000'
  const revocation = { reason: 'policy', actor: 'test', now: scoredAt } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [second], revocation))
  await db.transaction((tx) => excludeEvidence(tx, [third], scoredAt))
  const before = await evidenceOf(giver.workerId)
  for (const [wrong, outcome] of [
    [nowhere, 'not_found'],
    [second, 'revoked'],
    [third, 'excluded'],
  ] as const)
    assert.deepEqual(await reassign([first, wrong], taker.workerId), {
      outcome,
      evidenceIds: [wrong],
    })
  const gone = await scoredPerson({ username: 'gone-by-now' })
  for (const permission of ['public_profile', 'search_listing', 'score_sharing'] as const)
    await db.transaction((tx) =>
      changeConsent(tx, 'gone-by-now', { permission, textVersion: null, by: 'test', at: now }),
    )
  await db.run(sql`
    update workers set external_id = null, terms_version = null, terms_accepted_at = null,
      onboarded_at = null, erased_at = ${now} where id = ${gone.workerId}`)
  assert.deepEqual(await reassign([first], gone.workerId), { outcome: 'unknown_worker' })
  assert.deepEqual(await evidenceOf(giver.workerId), before)
})

test('evidence revoked at the same time is taken from whose it is by then', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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

test('evidence that changed hands before it is revoked: its owner by then is locked, even where nobody is scored', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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

test('everything of a person is what is still theirs once it is moved: what went to somebody else meanwhile stays there', async () => {
  const [giver, taker, other] = [await scoredPerson(), await scoredPerson(), await scoredPerson()]
  const [id = ''] = giver.evidence
  await whileReassigning([id], other.workerId, () =>
    reassign({ allOf: giver.workerId }, taker.workerId),
  )
  assert.deepEqual(await evidenceOf(other.workerId), [id, ...other.evidence].sort())
  assert.deepEqual(await evidenceOf(giver.workerId), [])
})

for (const everything of [true, false])
  test(`${everything ? 'everything of a person' : 'an item'}, and somebody who changes both meanwhile: they wait for each other, and do not deadlock`, async () => {
    const [taker, giver] = [await scoredPerson(), await scoredPerson()].sort((a, b) =>
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
    assert.equal(moved.outcome, 'reassigned')
  })

/** What `next` gives, which has to wait until the items are the other person's. */
async function whileReassigning<Result>(
  what: readonly string[],
  toWorkerId: string,
  next: () => Promise<Result>,
): Promise<Result> {
  const first = (tx: Tx) => reassignEvidence(tx, scoring, { what, toWorkerId, now })
  return (await inTurn(db, first, next))[1]
}

test('scores of before come out again as they were made', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
  await reassign({ allOf: giver.workerId }, taker.workerId)
  const makersOf = openMakers(db)
  const stored = await findSnapshotsFrom(db, Buffer.alloc(0), 1_000)
  const theirs = stored.filter(({ workerId }) =>
    [giver, taker].some((one) => one.workerId === workerId),
  )
  assert.equal(theirs.length, 3)
  for (const one of theirs) assert.deepEqual(await replay(one, makersOf), { outcome: 'agrees' })
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

test('cut off at every boundary: all is as before, until all is done, each event once', async () => {
  const [giver, taker] = [await scoredPerson(), await scoredPerson()]
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
