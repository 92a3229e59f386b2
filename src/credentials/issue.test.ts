/**
 * Issuing into a real registry: all or nothing, one list index for each credential, one current
 * credential for each subject.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import {
  inside,
  issuedAt,
  now,
  origin,
  score,
  signerOf,
} from '../../test/support/build/credentials.ts'
import {
  fillList,
  issue,
  issueOne,
  issuer,
  keySince,
  liveVerdict,
  newScores,
  testRegistry,
} from '../../test/support/build/registry.ts'
import { createSigningKey, rotateSigningKeys } from '../../test/support/build/signing-keys.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { issueCredentials, tendLists } from './issue.ts'
import { findOpenListIds } from './list-store.ts'
import { listFillMax, listLength, openListsWanted } from './status-list.ts'
import { findCredentials } from './store.ts'

const registry = await testRegistry()
const { db, client } = registry
after(() => registry.drop())

async function count(where: string, ...values: unknown[]): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as n from ${where}`, values)
  return rows[0].n
}

test('an issued credential verifies, and the registry holds exactly what was signed', async () => {
  const id = '0d1c7d0e-9c1f-4a64-8f0a-3b1a6a0c9d11'
  const { credential, vcSha256, statusToken } = await issueOne(db, { id })
  const result = await liveVerdict(db, credential)
  assert.equal(result.valid, true)
  assert.equal(result.presented.payloadSha256, vcSha256)
  const [row] = await findCredentials(db, [id])
  assert.equal(sha256Hex(row?.payload ?? ''), vcSha256)
  assert.deepEqual(
    { ...JSON.parse(row?.payload ?? ''), proof: JSON.parse(row?.proof ?? '') },
    {
      ...credential,
    },
  )
  assert.match(statusToken, /^[0-9a-f]{64}$/)
  assert.equal(credential.credentialStatus.id, `${origin.statusUrlPrefix}${statusToken}`)
})

test('a credential refers to a published list and to an index inside it', async () => {
  const { credential } = await issueOne(db)
  const { statusListCredential, statusListIndex, type, statusPurpose } = credential.credentialStatus
  const listId = String(statusListCredential).slice(origin.statusListUrlPrefix.length)
  assert.equal(await count('status_lists where list_id = $1', listId), 1)
  assert.match(String(statusListIndex), /^(0|[1-9]\d{0,5})$/)
  assert.ok(Number(statusListIndex) < listLength)
  assert.deepEqual([type, statusPurpose], ['BitstringStatusListEntry', 'revocation'])
})

test('a credential is valid for validityDays', async () => {
  const { credential } = await issueOne(db, {}, { ...issuer, validityDays: 30 })
  assert.equal(credential.validUntil, '2026-06-13T09:00:00Z')
})

test('an empty list of scores issues nothing', async () => {
  assert.deepEqual(await issue(db, []), [])
})

test('2,000 scores in one call get distinct indexes and tokens, in the order of the scores', async () => {
  const scores = newScores(2_000)
  const issued = await issue(db, scores)
  const subjects = issued.map(({ credential }) => credential.credentialSubject.id)
  assert.deepEqual(
    subjects,
    scores.map(({ username }) => `${origin.url}/u/${username}`),
  )
  const places = issued.map(({ credential }) =>
    Object.values(credential.credentialStatus).join(' '),
  )
  assert.equal(new Set(places).size, 2_000)
  assert.equal(new Set(issued.map(({ statusToken }) => statusToken)).size, 2_000)
  const lists = new Set(
    issued.map(({ credential }) => credential.credentialStatus.statusListCredential),
  )
  assert.equal(lists.size, openListsWanted)
})

test('a failed transaction leaves no credential', async () => {
  const [lost] = newScores(1)
  const failing = db.transaction(async (tx) => {
    await issueCredentials(tx, issuer, lost === undefined ? [] : [lost])
    throw new Error('the caller fails')
  })
  await assert.rejects(failing, /the caller fails/)
  assert.equal(await count('score_credentials where subject like $1', `%${lost?.username}`), 0)
})

test('an id that is in the registry or twice in one call is rejected, and the call issues nothing', async () => {
  const id = '5a1ba2a8-8d0b-4f8f-a8b5-0f3f6f6d2c01'
  await issueOne(db, { id })
  const before = await count('score_credentials')
  await assert.rejects(
    issue(db, [...newScores(3), ...newScores(1, { id })]),
    /5a1ba2a8.* is in use/,
  )
  await assert.rejects(issueOne(db, { id: id.toUpperCase() }), /is in use/)
  const fresh = 'c7a0f0a5-6d5b-4d5e-9a65-0d9a3a7e6b02'
  await assert.rejects(issue(db, newScores(2, { id: fresh })), /c7a0f0a5.* is in use/)
  assert.equal(await count('score_credentials'), before)
})

// supersession

test('a superseded credential stays valid, with a note (decision D28)', async () => {
  const username = 'grace-hopper'
  const first = await issueOne(db, { username, score: 700 })
  const second = await issueOne(db, { username, score: 710 })
  const [older, newer] = await Promise.all(
    [first, second].map(({ credential }) => liveVerdict(db, credential)),
  )
  assert.equal(older?.valid, true)
  assert.ok(older?.notes.includes('superseded'))
  assert.equal(newer?.valid, true)
  assert.ok(!newer?.notes.includes('superseded'))
})

test('if one call holds several scores of a subject, the last credential is current', async () => {
  const scores = newScores(3, { username: 'mary-jackson' })
  const issued = await issue(db, scores)
  const notes = await Promise.all(
    issued.map(async ({ credential }) => (await liveVerdict(db, credential)).notes),
  )
  assert.deepEqual(
    notes.map((each) => each.includes('superseded')),
    [true, true, false],
  )
})

test('SUPERSEDE_REVOKES: a newer score revokes the older credentials of earlier calls and of the same call', async () => {
  const username = 'katherine-johnson'
  const revoking = { ...issuer, supersedeRevokes: true }
  const first = await issueOne(db, { username }, revoking)
  const [second, third] = await issue(db, newScores(2, { username, issuedAt: now }), revoking)
  for (const [issued, reason] of [
    [first, 'revoked'],
    [second, 'revoked'],
    [third, undefined],
  ] as const)
    assert.equal((await liveVerdict(db, { ...issued?.credential })).reason, reason)
  const listId = first.credential.credentialStatus.statusListCredential?.slice(
    origin.statusListUrlPrefix.length,
  )
  const due = 'status_lists where revision > published_revision and list_id = $1'
  assert.equal(await count(due, listId), 1, 'the list is due for publication')
})

test('the database rejects a second current credential of a subject', async () => {
  const username = 'one-current'
  await issueOne(db, { username })
  await issueOne(db, { username })
  await assert.rejects(
    client.query(
      `update score_credentials set superseded_at = null where subject like '%one-current'`,
    ),
    /score_credentials_one_current/,
  )
})

test('20 concurrent first issues for one subject all succeed, and one credential is current', async () => {
  const username = 'dorothy-vaughan'
  const issued = await Promise.all(Array.from({ length: 20 }, () => issueOne(db, { username })))
  const verdicts = await Promise.all(issued.map(({ credential }) => liveVerdict(db, credential)))
  assert.ok(verdicts.every(({ valid }) => valid))
  assert.equal(verdicts.filter(({ notes }) => !notes.includes('superseded')).length, 1)
})

// keys

test('a signer whose key is not active issues nothing, because its signatures would never verify', async () => {
  await assert.rejects(issueOne(db, {}, { ...issuer, signer: signerOf(9) }), /is not registered/)
  const own = await testRegistry()
  try {
    await createSigningKey(contextAt(own.db, keySince), signerOf(8).kid)
    await rotateSigningKeys(contextAt(own.db, now), { atOnce: true })
    await assert.rejects(issueOne(own.db), /is retired, not active/)
    assert.equal(
      (await issueOne(own.db, {}, { ...issuer, signer: signerOf(8) })).vcSha256.length,
      64,
    )
  } finally {
    await own.drop()
  }
})

// lists

test('several processes that tend lists at once open exactly openListsWanted lists', async () => {
  await client.query('update status_lists set closed_at = $1, dies_at = $1', [now])
  await Promise.all(Array.from({ length: 6 }, () => tendLists(db, issuer, now)))
  assert.equal((await findOpenListIds(db, origin.issuer)).length, openListsWanted)
})

test('issuing opens lists if none is open', async () => {
  await client.query('update status_lists set closed_at = $1, dies_at = $1', [now])
  await Promise.all([issueOne(db), issueOne(db)])
  assert.equal((await findOpenListIds(db, origin.issuer)).length, openListsWanted)
})

/** A list filled up to the limit; later tests use it. */
let filledList = ''

test('a list is closed at 98,304 credentials, not before, and expires 90 days after the last of them', async () => {
  const [listId = ''] = await tendLists(db, issuer, now)
  filledList = listId
  await client.query('delete from score_credentials where list_id = $1', [listId])
  await fillList(registry, listId, { from: 0, count: listFillMax - 1 })
  assert.ok((await tendLists(db, issuer, now)).includes(listId))
  await fillList(registry, listId, { from: listFillMax - 1, count: 1 })
  const open = await tendLists(db, issuer, now)
  assert.ok(!open.includes(listId))
  assert.equal(open.length, openListsWanted)
  const { rows } = await client.query('select * from status_lists where list_id = $1', [listId])
  assert.deepEqual(rows[0].closed_at, now)
  const lastsDays = (rows[0].dies_at.getTime() - issuedAt.getTime()) / 86_400_000
  assert.equal(lastsDays, 365 + 90)
})

test('two concurrent issues of 2,000 into a list that is three quarters full share no index and open no list', async () => {
  await client.query('update status_lists set closed_at = $1, dies_at = $1', [now])
  await client.query(
    'update status_lists set closed_at = null, dies_at = null where list_id = $1',
    [filledList],
  )
  const lists = await count('status_lists')
  // About 120 of the 4,000 indexes, among 32,768 free ones, collide.
  const issued = await Promise.all([issue(db, newScores(2_000)), issue(db, newScores(2_000))])
  const indexes = issued.flat().map(({ credential }) => credential.credentialStatus.statusListIndex)
  assert.equal(new Set(indexes).size, 4_000)
  assert.equal(await count('score_credentials where list_id = $1', filledList), listFillMax + 4_000)
  assert.equal(await count('status_lists'), lists)
  assert.deepEqual(await findOpenListIds(db, origin.issuer), [filledList])
})

test('issuing opens a new list if every open list is completely full', async () => {
  await fillList(registry, filledList, { from: 0, count: listLength })
  const { credential } = await issueOne(db)
  const other = inside({ ...credential }, 'credentialStatus').statusListCredential
  assert.notEqual(other, `${origin.statusListUrlPrefix}${filledList}`)
  assert.equal((await liveVerdict(db, credential)).valid, true)
})

test('the payload omits every property that is not part of a score', async () => {
  const named = {
    ...score({ username: 'no-extras' }),
    issuedAt,
    workerId: 'w',
    email: 'a@b.example',
  }
  const [issued] = await issue(db, [named])
  assert.ok(!JSON.stringify(issued?.credential).includes('a@b.example'))
})
