import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { issueOne, testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addScoredWorker,
  addSources,
  daysAfter,
  eventsOf,
  isMarked,
  score,
  scoresOf,
} from '../../../test/support/build/scores.ts'
import { publicLine, registrationOf } from '../../../test/support/build/workers.ts'
import { cutOffEverywhere } from '../../../test/support/fault/faults.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import type { StoredIdentity } from '../../workers/identity-state.ts'
import type { Permission } from '../../workers/schema.ts'
import { findWorkerFacts } from '../../workers/store.ts'
import {
  changeConsent,
  mayShare,
  moveIdentity,
  mustRevokeCredentials,
  registerWorkers,
} from './keep-sharing.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const by = { by: 'test', at: daysAfter(2) }

async function workerWithScore(over: Record<string, unknown> = {}) {
  const { workerId } = await addScoredWorker(db, { over })
  const [worker] = await findWorkerFacts(db, [workerId])
  assert.ok(worker !== undefined)
  return worker
}

function consent(username: string, permission: Permission, granted: boolean, from: Db = db) {
  const request = { permission, textVersion: granted ? '2' : null, ...by }
  return from.transaction((tx) => changeConsent(tx, username, request))
}

/** Counts the unrevoked credentials that the worker's scores ever had, by subject. */
async function openCredentials(username: string): Promise<number> {
  const rows = await db.rows(sql`
    select from score_credentials
    where subject like '%/u/' || ${username}::text and revoked_at is null`)
  return rows.length
}

/** Returns the issue time of the unrevoked credential. */
async function openSince(username: string): Promise<Date | undefined> {
  const [row] = await db.rows<{ issuedAt: Date }>(sql`
    select issued_at as "issuedAt" from score_credentials
    where subject like '%/u/' || ${username}::text and revoked_at is null`)
  return row?.issuedAt
}

for (const permission of ['score_sharing', 'public_profile'] as const)
  test(`consent to ${permission} withdrawn: every credential is revoked at once and the score stays; granted again, a new credential is due`, async () => {
    const { workerId, username } = await workerWithScore()
    await addEvidence(db, workerId, [{ value: 300, type: 'work_product' }])
    await score(db, workerId, { at: daysAfter(1) })
    assert.equal(await openCredentials(username), 2)
    await consent(username, permission, false)
    assert.equal(await openCredentials(username), 0)
    const withdrawn = await scoresOf(db, workerId)
    assert.partialDeepStrictEqual(withdrawn, [
      { state: 'superseded', vcRevokedAt: by.at },
      { state: 'active', vc: null },
    ])
    assert.equal(await isMarked(db, workerId), false)
    await score(db, workerId, { at: daysAfter(3) })
    assert.equal(await openCredentials(username), 0)

    await consent(username, permission, true)
    assert.equal(await isMarked(db, workerId), true)
    const countBefore = (await eventsOf(db, workerId)).length
    await score(db, workerId, { at: daysAfter(4) })
    const again = await scoresOf(db, workerId)
    assert.deepEqual(
      again.map(({ id }) => id),
      withdrawn.map(({ id }) => id),
    )
    assert.equal(await openCredentials(username), 1)
    assert.deepEqual(await openSince(username), daysAfter(4))
    const events = await eventsOf(db, workerId)
    assert.equal(events.length, countBefore + 1)
    assert.partialDeepStrictEqual(events.at(-1), {
      type: 'score.updated',
      data: {
        snapshotId: again[1]?.id,
        scoreVcSha256: again[1]?.vc,
        issuedAt: '2026-05-18T09:00:00Z',
      },
    })
  })

test('consent granted again, then a correction with an equal result: the score is kept, and its new credential is sent as score.updated', async () => {
  const { workerId, username } = await workerWithScore()
  for (const granted of [false, true]) await consent(username, 'score_sharing', granted)
  const correction = { reason: 'dispute_upheld', disputeId: null } as const
  const scored = await score(db, workerId, { at: daysAfter(3), correction })
  assert.equal(scored?.effect, 'kept')
  assert.equal(await openCredentials(username), 1)
  assert.deepEqual(
    (await eventsOf(db, workerId)).map(({ type }) => type),
    ['score.updated'],
  )
})

test('a consent that was granted already, or of an unknown worker, changes nothing', async () => {
  const { workerId, username } = await workerWithScore()
  await consent(username, 'score_sharing', true)
  assert.partialDeepStrictEqual(await consent(username, 'score_sharing', true), { change: null })
  assert.partialDeepStrictEqual(await consent('nobody-at-all', 'score_sharing', true), {
    refusal: 'worker_not_found',
  })
  assert.equal(await openCredentials(username), 1)
  assert.equal(await isMarked(db, workerId), false)
})

test('consent to search_listing has no effect on a credential', async () => {
  const { workerId, username } = await workerWithScore()
  await consent(username, 'search_listing', false)
  assert.equal(await openCredentials(username), 1)
  assert.equal(await isMarked(db, workerId), false)
})

test('a revoked identity revokes the credential; an expired identity does not', async () => {
  const { workerId, username } = await workerWithScore()
  await db.transaction((tx) => moveIdentity(tx, { workerId, move: 'revoke' }, by))
  assert.equal(await openCredentials(username), 0)
  const until = daysAfter(300)
  await db.transaction((tx) => moveIdentity(tx, { workerId, move: 'verify', until }, by))
  assert.equal(await isMarked(db, workerId), true)

  const ranOut = await workerWithScore({ identity: { verifiedUntil: '2026-05-15T00:00:00Z' } })
  await consent(ranOut.username, 'search_listing', false)
  assert.equal(await openCredentials(ranOut.username), 1)
  await addEvidence(db, ranOut.workerId, [{ value: 300 }])
  await score(db, ranOut.workerId, { at: daysAfter(2) })
  assert.partialDeepStrictEqual(await scoresOf(db, ranOut.workerId), [
    { state: 'superseded', vcRevokedAt: null },
    { state: 'active', vc: null },
  ])
})

/**
 * Registers a worker with three credentials issued by hand: one under a previous username and two
 * under the current one. A fourth belongs to another worker.
 */
async function workerWithManualCredentials() {
  const [workerId = ''] = await addPublicWorkers(db, 1)
  const [before] = await findWorkerFacts(db, [workerId])
  assert.ok(before !== undefined)
  const digests = [(await issueOne(db, { username: before.username })).vcSha256]
  const username = `${before.username}-now`
  const externalId = before.username.replace('worker', 'hr')
  const line = publicLine({ username, externalId })
  await db.transaction((tx) => registerWorkers(tx, [registrationOf(line)], by))
  for (const _ of ['superseded', 'current'])
    digests.push((await issueOne(db, { username })).vcSha256)
  await issueOne(db, { username: `${username}-too` })
  return { workerId, username, digests }
}

async function countUnrevoked(digests: readonly string[]): Promise<number> {
  const rows = await db.rows(sql`
    select from score_credentials
    where encode(vc_sha256, 'hex') = any(${digests}::text[]) and revoked_at is null`)
  return rows.length
}

const countOthersUnrevoked = async (username: string) => openCredentials(`${username}-too`)

for (const permission of ['score_sharing', 'public_profile'] as const)
  test(`consent to ${permission} withdrawn: credentials issued by hand under any name of the worker are revoked and stay so after a new grant`, async () => {
    const { username, digests } = await workerWithManualCredentials()
    assert.equal(await countUnrevoked(digests), 3)
    await consent(username, permission, false)
    assert.deepEqual([await countUnrevoked(digests), await countOthersUnrevoked(username)], [0, 1])
    await consent(username, permission, true)
    assert.equal(await countUnrevoked(digests), 0)
    const { vcSha256 } = await issueOne(db, { username })
    assert.equal(await countUnrevoked([vcSha256]), 1)
  })

test('a refusal of a consent that was never granted revokes credentials issued by hand', async () => {
  const [workerId = ''] = await addPublicWorkers(db, 1, { consents: [], identity: undefined })
  const [worker] = await findWorkerFacts(db, [workerId])
  assert.ok(worker !== undefined)
  const { username } = worker
  const { vcSha256 } = await issueOne(db, { username })
  assert.partialDeepStrictEqual(await consent(username, 'search_listing', false), {
    change: { granted: false },
  })
  assert.equal(await countUnrevoked([vcSha256]), 1)
  assert.partialDeepStrictEqual(await consent(username, 'score_sharing', false), {
    change: { granted: false },
  })
  assert.equal(await countUnrevoked([vcSha256]), 0)
})

test('a revoked identity revokes credentials issued by hand', async () => {
  const { workerId, username, digests } = await workerWithManualCredentials()
  await db.transaction((tx) => moveIdentity(tx, { workerId, move: 'revoke' }, by))
  assert.deepEqual([await countUnrevoked(digests), await countOthersUnrevoked(username)], [0, 1])
})

test('credentials issued by hand survive a withdrawn search listing, and an edit of a worker that never consented', async () => {
  const { username, digests } = await workerWithManualCredentials()
  await consent(username, 'search_listing', false)
  assert.equal(await countUnrevoked(digests), 3)

  const [workerId = ''] = await addPublicWorkers(db, 1, { consents: [], identity: undefined })
  const [worker] = await findWorkerFacts(db, [workerId])
  assert.ok(worker !== undefined)
  const { vcSha256 } = await issueOne(db, { username: worker.username })
  const externalId = worker.username.replace('worker', 'hr')
  const line = { ...publicLine({ username: worker.username, externalId }), title: 'Engineer' }
  const registration = { ...registrationOf(line), consents: [], verifiedUntil: null }
  const outcomes = await db.transaction((tx) => registerWorkers(tx, [registration], by))
  assert.partialDeepStrictEqual(outcomes, [{ result: 'updated' }])
  assert.equal(await countUnrevoked([vcSha256]), 1)
})

test('an import that adds the missing consent or identity marks the score for its credential', async () => {
  const { workerId, username } = await workerWithScore({ identity: undefined })
  assert.equal(await openCredentials(username), 0)
  const [row] = await db.rows<{ externalId: string }>(
    sql`select external_id as "externalId" from workers where id = ${workerId}`,
  )
  const line = publicLine({ username, externalId: row?.externalId })
  await db.transaction((tx) => registerWorkers(tx, [registrationOf(line)], by))
  assert.equal(await isMarked(db, workerId), true)
  await score(db, workerId, { at: daysAfter(3) })
  assert.equal(await openCredentials(username), 1)
})

test('a withdrawal interrupted at any boundary changes consent, credential and event together or not at all', async () => {
  const { workerId, username } = await workerWithScore()
  const cut = await cutOffEverywhere(
    db,
    (from) => consent(username, 'score_sharing', false, from),
    async (cutOff) => {
      const [worker] = await findWorkerFacts(db, [workerId])
      assert.equal(worker?.consents.score_sharing, cutOff)
      assert.equal(await openCredentials(username), cutOff ? 1 : 0)
      assert.equal((await eventsOf(db, workerId)).length, cutOff ? 1 : 0)
    },
  )
  assert.ok(cut >= 10, `${cut} boundaries`)
})

const now = new Date('2026-05-14T09:00:00Z')
const later = new Date('2027-05-14T09:00:00Z')
const earlier = new Date('2025-05-14T09:00:00Z')

const identities: readonly [name: string, identity: StoredIdentity | null][] = [
  ['none', null],
  ['pending', { state: 'pending', verifiedUntil: null }],
  ['verified', { state: 'verified', verifiedUntil: later }],
  ['expired', { state: 'verified', verifiedUntil: earlier }],
  ['revoked', { state: 'revoked', verifiedUntil: null }],
]
const either = [true, false]

test('all combinations: a score is shared only with every consent and a valid identity, and taken back if a consent or the identity is withdrawn', () => {
  let shared = 0
  for (const onboarded of either)
    for (const public_profile of either)
      for (const search_listing of either)
        for (const score_sharing of either)
          for (const [name, identity] of identities) {
            const consents = { public_profile, search_listing, score_sharing }
            const facts = { onboarded, consents, identity }
            const may = onboarded && public_profile && score_sharing && name === 'verified'
            assert.equal(mayShare(facts, now), may)
            const must = !public_profile || !score_sharing || name === 'revoked'
            assert.equal(mustRevokeCredentials(facts), must)
            assert.ok(!(may && must), 'nothing is issued that had to be taken back at once')
            if (may) shared++
          }
  assert.equal(shared, 2)
})
