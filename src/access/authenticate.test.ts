import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { newKey } from '../../test/support/build/keys.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { testPeppers } from '../../test/support/start/service.ts'
import { enterCredits } from '../credits/credits.ts'
import { updateSuspended } from '../credits/store.ts'
import type { Clock } from '../platform/clock.ts'
import { parseKeyring } from '../platform/crypto/keyring.ts'
import { type Db, type Statement, sql } from '../platform/db/db.ts'
import type { SeenKey } from '../platform/http/admission.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { newApiKey } from './api-key.ts'
import { type KeyAuthenticator, openKeyAuthenticator } from './authenticate.ts'
import { restrictApiKey, revokeApiKey } from './manage.ts'
import { findKeys } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

function authenticatorOn(over: Partial<Db>, clock: Clock = () => new Date(), ring = testPeppers) {
  const peppers = async () => parseKeyring(ring)
  const authenticator = openKeyAuthenticator({ db: { ...db, ...over }, peppers, clock })
  const present = (key: string) =>
    authenticator.authenticate(`Bearer ${key}`, { address: undefined, onSeen: () => null })
  return { ...authenticator, present }
}

test('100 concurrent unknown keys cost the database two statements', async () => {
  let statements = 0
  const { present } = authenticatorOn({
    rows: <Row>(statement: Statement) => {
      statements++
      return db.rows<Row>(statement)
    },
  })
  assert.ok(await present((await newKey(db)).key))
  statements = 0
  const wrong = Array.from({ length: 100 }, () => present(newApiKey('live')))
  assert.deepEqual(new Set(await Promise.all(wrong)), new Set([null]))
  assert.equal(statements, 2)
})

/**
 * Presents a key twice. Returns both answers, the cached keys passed to `onSeen`, and the number of
 * statements of the second call.
 */
async function presentTwice(
  authenticator: Pick<KeyAuthenticator, 'authenticate'> & { statements(): number },
  { key, address, isProven = false }: { key: string; address?: string; isProven?: boolean },
) {
  const seen: SeenKey[] = []
  const present = () =>
    authenticator.authenticate(`Bearer ${key}`, {
      address,
      onSeen(known) {
        seen.push(known)
        return isProven ? Promise.resolve(true) : null
      },
    })
  const first = await present()
  const before = authenticator.statements()
  const second = await present()
  return { answers: [first, second], seen, statements: authenticator.statements() - before }
}

function countingAuthenticator(clock?: Clock) {
  let statements = 0
  const rows: Db['rows'] = (statement) => {
    statements++
    return db.rows(statement)
  }
  return { ...authenticatorOn({ rows }, clock), statements: () => statements }
}

test('a cached key is passed to onSeen at once, and a key proven by its charge is not looked up and counts as used', async () => {
  const { key, keyId, accountId } = await newKey(db, { credits: 1 })
  let now = new Date('2027-01-01T00:00:00Z')
  const authenticator = countingAuthenticator(() => now)
  const looked = await presentTwice(authenticator, { key })
  assert.equal(looked.statements, 1)
  assert.deepEqual(
    looked.seen.map(({ caller, isProvable }) => [caller.keyId, isProvable]),
    [[keyId, true]],
  )
  now = new Date('2027-01-01T00:00:01Z')
  const proven = await presentTwice(authenticator, { key, isProven: true })
  assert.equal(proven.statements, 0)
  assert.deepEqual(
    proven.answers.map((answer) => answer?.caller.keyId),
    [keyId, keyId],
  )
  await authenticator.recordUses()
  assert.deepEqual((await findKeys(db, accountId))[0]?.lastUsedAt, now)
})

test('a charge cannot prove a key with allowed networks, without credits, of a suspended account or under an old pepper', async () => {
  const address = '192.0.2.1'
  const credits = 1
  const twoPeppers = `k2:${Buffer.alloc(32, 9).toString('base64')},${testPeppers}`
  const suspended = await newKey(db, { credits })
  await updateSuspended(db, suspended.accountId, new Date())
  for (const [key, authenticator] of [
    [await newKey(db, { credits, allowedFrom: ['192.0.2.0/24'] }), countingAuthenticator()],
    [await newKey(db), countingAuthenticator()],
    [suspended, countingAuthenticator()],
    [
      await newKey(db, { credits }),
      { ...authenticatorOn({}, undefined, twoPeppers), statements: () => 0 },
    ],
  ] as const) {
    const { seen } = await presentTwice(authenticator, { key: key.key, address })
    assert.deepEqual(
      seen.map(({ isProvable }) => isProvable),
      [false],
    )
  }
})

test('a key whose charge had no result in time is looked up at its next call', async () => {
  const { key } = await newKey(db, { credits: 1 })
  const { present, authenticate } = authenticatorOn({})
  let calls = 0
  const failing = () =>
    authenticate(`Bearer ${key}`, {
      address: undefined,
      onSeen() {
        calls++
        return Promise.reject(new UnavailableError('down'))
      },
    })
  await present(key)
  await assert.rejects(failing(), UnavailableError)
  assert.ok(await failing())
  assert.equal(calls, 1)
})

test('the cache holds the result of the last lookup', async () => {
  const { key, accountId, keyId } = await newKey(db, { scopes: ['scores:read'] })
  const authenticator = countingAuthenticator()
  const [here, there] = ['192.0.2.1', '198.51.100.1']
  const seenFrom = async (address: string) =>
    (await presentTwice(authenticator, { key, address })).seen.map(({ isProvable, scopes }) => [
      isProvable,
      ...scopes,
    ])
  assert.deepEqual(await seenFrom(here), [[false, 'scores:read']])
  await db.run(sql`update api_keys set scopes = '{candidates:read}' where id = ${keyId}`)
  const [before, now] = await seenFrom(here)
  assert.deepEqual(
    [before, now],
    [
      [false, 'scores:read'],
      [false, 'candidates:read'],
    ],
  )
  await enterCredits(contextAt(db), { accountId, kind: 'grant', delta: 1, reason: 'x' })
  assert.deepEqual((await seenFrom(here))[1], [true, 'candidates:read'])
  for (const network of ['192.0.2.0/24', '198.51.100.0/24'])
    await restrictApiKey(contextAt(db), keyId, [network])
  assert.deepEqual(await seenFrom(here), [[true, 'candidates:read']])
  assert.deepEqual(await seenFrom(here), [])
  const remembered = [false, 'candidates:read']
  assert.deepEqual(await seenFrom(there), [remembered, remembered])
  await restrictApiKey(contextAt(db), keyId, ['192.0.2.0/24'])
  assert.deepEqual(await seenFrom(there), [remembered])
  assert.deepEqual(await seenFrom(here), [remembered, remembered])
  await revokeApiKey(contextAt(db), keyId)
  assert.deepEqual(await seenFrom(here), [remembered])
  assert.deepEqual(await seenFrom(here), [])
})

test('uses that could not be written are written the next time, and the latest use wins', async () => {
  const [first, second] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:30Z')]
  const [once, twice] = [await newKey(db), await newKey(db)]
  let now = first
  let isDown = true
  const { present, recordUses } = authenticatorOn(
    {
      async run(statement) {
        if (!isDown) return db.run(statement)
        now = second
        await present(twice.key)
        throw new UnavailableError('down')
      },
    },
    () => now,
  )
  for (const { key } of [once, twice]) assert.ok(await present(key))
  await assert.rejects(recordUses(), UnavailableError)
  isDown = false
  await recordUses()
  for (const [{ accountId }, usedAt] of [
    [once, first],
    [twice, second],
  ] as const)
    assert.deepEqual((await findKeys(db, accountId))[0]?.lastUsedAt, usedAt)
})

test('503: every key under a pepper that this machine lacks, also for concurrent calls', async () => {
  const { present } = authenticatorOn({})
  assert.ok(await present((await newKey(db)).key))
  const peppers = `k2:${Buffer.alloc(32, 8).toString('base64')}`
  const later = await Promise.all(Array.from({ length: 3 }, () => newKey(db, { peppers })))
  await Promise.all(later.map(({ key }) => assert.rejects(present(key), UnavailableError)))
})
