/**
 * The states of a key: published before it signs, one active at a time, and verifying for ever
 * unless it is revoked.
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { now, origin, signer, signerOf } from '../../test/support/build/credentials.ts'
import {
  issueOne,
  issuer,
  keySince,
  liveVerdict,
  newScores,
  publishedBit,
  revokeNow,
} from '../../test/support/build/registry.ts'
import {
  createSigningKey,
  revokeSigningKey,
  rotateSigningKeys,
} from '../../test/support/build/signing-keys.ts'
import { cutOffEverywhere } from '../../test/support/fault/faults.ts'
import { crossing, inTurn, untilItWaits } from '../../test/support/fault/in-turn.ts'
import { type TestDatabase, testDatabase } from '../../test/support/start/database.ts'
import { type Db, sql } from '../platform/db/db.ts'
import { type IssuedCredential, issueCredentials, tendLists } from './issue.ts'
import { findKeys } from './key-store.ts'
import { publishDueLists } from './publish-lists.ts'
import { revokeDigests } from './revoke.ts'
import { publishedBeforeUseSeconds, revokeCredentialsOfKey } from './rotate-keys.ts'
import { kidOf } from './signing-key.ts'
import { findStatuses } from './store.ts'

const databases: TestDatabase[] = []
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop()
})

async function emptyRegistry() {
  const database = await testDatabase()
  databases.push(database)
  return database.db
}

const [second, third] = [signerOf(8), signerOf(9)]
/** Returns the time of revocation as the status token reports it, or null. */
async function statusOf(db: Db, { statusToken }: IssuedCredential): Promise<Date | null> {
  const token = Buffer.from(statusToken, 'hex')
  const [status] = await findStatuses(db, [{ token, vcSha256: token }])
  if (status?.kind !== 'registered') throw new Error('the credential is not registered')
  return status.revokedAt
}

const seconds = (from: Date, by: number) => new Date(from.getTime() + by * 1_000)

test('the first key is active at once, the next is pending', async () => {
  const db = await emptyRegistry()
  assert.equal((await createSigningKey(contextAt(db, keySince), signer.kid)).state, 'active')
  assert.equal((await createSigningKey(contextAt(db, now), second.kid)).state, 'pending')
  const states = (await findKeys(db)).map((key) => [key.kid, key.state, key.activatedAt])
  assert.deepEqual(states, [
    [signer.kid, 'active', keySince],
    [second.kid, 'pending', null],
  ])
})

test('registering a key again changes nothing', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  const again = await createSigningKey(contextAt(db, now), signer.kid)
  assert.deepEqual([again.state, again.createdAt], ['active', keySince])
})

test('two first keys are registered at once: one is active and one pending', async () => {
  const db = await emptyRegistry()
  await Promise.all([
    createSigningKey(contextAt(db, now), signer.kid),
    createSigningKey(contextAt(db, now), second.kid),
  ])
  const states = (await findKeys(db)).map((key) => key.state)
  assert.deepEqual([...states].sort(), ['active', 'pending'])
})

test('refused: a kid of an unsound Ed25519 key is not stored', async () => {
  const db = await emptyRegistry()
  const identity = Buffer.alloc(32)
  identity[0] = 1
  await assert.rejects(createSigningKey(contextAt(db, now), kidOf(identity)), {
    name: 'KeyRefused',
    message: /small order/,
  })
  await assert.rejects(createSigningKey(contextAt(db, now), 'z6Mk'), {
    name: 'KeyRefused',
    message: /not an Ed25519/,
  })
  assert.deepEqual(await findKeys(db), [])
})

test('a rotation is rejected until caches hold the new key, exact to the second', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await createSigningKey(contextAt(db, now), second.kid)
  const readyAt = seconds(now, publishedBeforeUseSeconds)
  const early = await rotateSigningKeys(contextAt(db, seconds(readyAt, -1)), { atOnce: false })
  assert.ok('refusal' in early)
  assert.equal(early.refusal, 'signing_key_too_new')
  assert.ok(early.message?.includes(readyAt.toISOString().replace('.000', '')))
  const rotated = await rotateSigningKeys(contextAt(db, readyAt), { atOnce: false })
  assert.deepEqual(rotated, { active: second.kid, retired: signer.kid })
  const [old, active] = await findKeys(db)
  assert.deepEqual([old?.state, old?.retiredAt], ['retired', readyAt])
  assert.deepEqual([active?.state, active?.activatedAt], ['active', readyAt])
})

test('a rotation with atOnce does not wait', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await createSigningKey(contextAt(db, now), second.kid)
  assert.ok('active' in (await rotateSigningKeys(contextAt(db, now), { atOnce: true })))
})

test('a rotation without a pending key changes nothing', async () => {
  const db = await emptyRegistry()
  assert.deepEqual(await rotateSigningKeys(contextAt(db, now), { atOnce: true }), {
    refusal: 'signing_key_not_pending',
  })
  await createSigningKey(contextAt(db, keySince), signer.kid)
  assert.deepEqual(await rotateSigningKeys(contextAt(db, now), { atOnce: true }), {
    refusal: 'signing_key_not_pending',
  })
})

test('five concurrent rotations activate each pending key once and leave one key active', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await createSigningKey(contextAt(db, now), second.kid)
  await createSigningKey(contextAt(db, seconds(now, 1)), third.kid)
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => rotateSigningKeys(contextAt(db, now), { atOnce: true })),
  )
  assert.equal(outcomes.filter((one) => 'active' in one).length, 2)
  const states = (await findKeys(db)).map((key) => key.state)
  assert.deepEqual(states, ['retired', 'retired', 'active'])
})

test('credentials of the first key verify after two rotations', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, keySince)
  const first = await issueOne(db)
  for (const next of [second, third]) {
    await createSigningKey(contextAt(db, now), next.kid)
    await rotateSigningKeys(contextAt(db, now), { atOnce: true })
    const issued = await issueOne(db, { issuedAt: now }, { ...issuer, signer: next })
    assert.equal((await liveVerdict(db, issued.credential)).valid, true)
  }
  const result = await liveVerdict(db, first.credential)
  assert.equal(result.valid, true)
  assert.ok(result.notes.includes('key_retired'))
})

test('a revoked key fails its own credentials and no others, and signs no published list', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, now)
  const stolen = await issueOne(db)
  await createSigningKey(contextAt(db, now), second.kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  const sound = { ...issuer, signer: second }
  const kept = await issueOne(db, { issuedAt: now }, sound)
  assert.equal(await publishDueLists(db, sound, now), 0)
  assert.equal(await revokeSigningKey(contextAt(db, now), signer.kid), true)
  assert.equal((await liveVerdict(db, stolen.credential)).reason, 'key_revoked')
  assert.equal((await liveVerdict(db, kept.credential)).valid, true)
  assert.deepEqual([await statusOf(db, stolen), await statusOf(db, kept)], [now, null])
  assert.equal(await publishDueLists(db, sound, now), 4, 'every list is signed anew')
  assert.deepEqual([await publishedBit(db, stolen), await publishedBit(db, kept)], [true, false])
  const keyed = await db.rows<{ method: string }>({
    name: 'list_keys',
    text: `select distinct proofs #>> '{eddsa-rdfc-2022,verificationMethod}' as method from status_lists`,
    values: [],
  })
  assert.deepEqual(keyed, [{ method: `${origin.issuer}#${second.kid}` }])
})

test('a key is revoked once and for ever, and an unknown key cannot be revoked', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  assert.equal(await revokeSigningKey(contextAt(db, now), second.kid), false)
  assert.equal(await revokeSigningKey(contextAt(db, now), signer.kid), true)
  assert.equal(await revokeSigningKey(contextAt(db, seconds(now, 5)), signer.kid), false)
  const [key] = await findKeys(db)
  assert.deepEqual([key?.state, key?.revokedAt], ['revoked', now])
  const reopen = { name: 'reopen', text: 'update signing_keys set revoked_at = now()', values: [] }
  await assert.rejects(db.run(reopen), /a revoked signing key stays revoked/)
})

/**
 * Returns a database with a retired key, the credential `stolen` that it signed, and the issuer
 * with the active key.
 */
async function rotatedRegistry() {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, now)
  const stolen = await issueOne(db)
  await createSigningKey(contextAt(db, now), second.kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  return { db, stolen, sound: { ...issuer, signer: second } }
}

test('credentials kept at the revocation of their key can be revoked later, once and for ever', async () => {
  const { db, stolen, sound } = await rotatedRegistry()
  const revokeKept = (at: Date) =>
    db.transaction((tx) => revokeCredentialsOfKey(tx, signer.kid, at))
  assert.equal(await revokeKept(now), false, 'the key is not revoked')
  await revokeSigningKey(contextAt(db, now), signer.kid, { keepCredentials: true })
  await publishDueLists(db, sound, now)
  assert.equal((await liveVerdict(db, stolen.credential)).reason, 'key_revoked')
  assert.deepEqual([await statusOf(db, stolen), await publishedBit(db, stolen)], [null, false])

  const later = seconds(now, 5)
  assert.equal(await revokeKept(later), true)
  assert.equal(await revokeKept(seconds(now, 6)), false)
  assert.equal(await publishDueLists(db, sound, later), 4)
  assert.deepEqual([await statusOf(db, stolen), await publishedBit(db, stolen)], [later, true])
  for (const at of [null, seconds(now, 9)])
    await assert.rejects(
      db.run(sql`update signing_keys set credentials_revoked_at = ${at} where kid = ${signer.kid}`),
      /revoked credentials of a signing key stay revoked/,
    )
})

test('the earlier time counts if a credential is revoked both by itself and with its key', async () => {
  const { db, stolen } = await rotatedRegistry()
  const [before, at, after] = [seconds(now, 1), seconds(now, 2), seconds(now, 3)]
  const early = await issueOne(db, { issuedAt: now }, { ...issuer, signer: second })
  const revokeAt = (issued: IssuedCredential, time: Date) =>
    revokeNow(contextAt(db, time), [{ by: 'digest', bytes: Buffer.from(issued.vcSha256, 'hex') }])
  await revokeAt(early, before)
  for (const kid of [signer.kid, second.kid]) await revokeSigningKey(contextAt(db, at), kid)
  const [row] = (await revokeAt(stolen, after)).rows
  assert.deepEqual([row?.revokedAt, row?.now], [at, false], 'the key came first')
  const [again] = (await revokeAt(early, after)).rows
  assert.deepEqual([again?.revokedAt, again?.now], [before, false])
  assert.deepEqual([await statusOf(db, early), await statusOf(db, stolen)], [before, at])
})

test('a key revocation waits for an issuing transaction, and the next lists show its credentials', async () => {
  const { db, sound } = await rotatedRegistry()
  const [[issued], revoked] = await inTurn(
    db,
    (tx) => issueCredentials(tx, sound, newScores(1, { issuedAt: now })),
    () => revokeSigningKey(contextAt(db, now), second.kid),
  )
  assert.equal(revoked, true)
  assert.ok(issued !== undefined)
  await createSigningKey(contextAt(db, now), third.kid)
  await publishDueLists(db, { ...issuer, signer: third }, now)
  assert.deepEqual([await statusOf(db, issued), await publishedBit(db, issued)], [now, true])
})

test('a waiting key revocation precedes later issuing transactions', async () => {
  const { db, sound } = await rotatedRegistry()
  const issueNow = () => issueOne(db, { issuedAt: now }, sound)
  const { revoking, late } = await db.transaction(async (tx) => {
    await issueCredentials(tx, sound, newScores(1, { issuedAt: now }))
    await issueNow()
    const revoking = revokeSigningKey(contextAt(db, now), second.kid)
    await untilItWaits(db, revoking)
    return { revoking, late: assert.rejects(issueNow(), /is revoked, not active/) }
  })
  assert.equal(await revoking, true)
  await late
})

test('a key revocation does not deadlock with a transaction that revokes a credential and issues its successor', async () => {
  const { db, sound } = await rotatedRegistry()
  const wrong = await issueOne(db, { issuedAt: now }, sound)
  const revoked = await crossing(
    db,
    {
      first: (tx) => revokeDigests(tx, [Buffer.from(wrong.vcSha256, 'hex')], now),
      second: (tx) => issueCredentials(tx, sound, newScores(1, { issuedAt: now })),
    },
    (tx) => {
      const within: Db = {
        ...tx,
        transaction: (work) => work(tx),
        untilShown: async () => {},
        close: async () => {},
      }
      return revokeSigningKey(contextAt(within, now), second.kid)
    },
  )
  assert.equal(revoked, true)
})

test('a connection lost between any two statements leaves key, credentials and lists unchanged or all revoked', async () => {
  const { db, stolen } = await rotatedRegistry()
  const look = async () => ({
    key: (await findKeys(db))[0]?.state,
    revokedAt: await statusOf(db, stolen),
    due: await db.rows(sql`select from status_lists where revision > published_revision`),
  })
  const before = await look()
  const cut = await cutOffEverywhere(
    db,
    (bounded) => revokeSigningKey(contextAt(bounded, now), signer.kid),
    async (cutOff) => {
      if (cutOff) assert.deepEqual(await look(), before)
    },
  )
  assert.ok(cut >= 4, `${cut} boundaries`)
  const { key, revokedAt, due } = await look()
  assert.deepEqual([key, revokedAt, due.length], ['revoked', now, 4])
})

test('after the active key is revoked, the pending key takes over without waiting, or a new key is active at once', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await createSigningKey(contextAt(db, now), second.kid)
  await revokeSigningKey(contextAt(db, now), signer.kid)
  const rotated = await rotateSigningKeys(contextAt(db, now), { atOnce: false })
  assert.deepEqual(rotated, { active: second.kid, retired: null })
  await revokeSigningKey(contextAt(db, now), second.kid)
  assert.equal((await createSigningKey(contextAt(db, now), third.kid)).state, 'active')
})

test('after the active key is revoked, a new key is pending behind the one that is pending already', async () => {
  const db = await emptyRegistry()
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await createSigningKey(contextAt(db, now), second.kid)
  await revokeSigningKey(contextAt(db, now), signer.kid)
  assert.equal((await createSigningKey(contextAt(db, seconds(now, 1)), third.kid)).state, 'pending')
  const rotated = await rotateSigningKeys(contextAt(db, seconds(now, 1)), { atOnce: false })
  assert.deepEqual(rotated, { active: second.kid, retired: null })
})

after(() => assert.equal(databases.length, 0))
