import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey, revokeKey } from '../../../test/support/build/keys.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { enterCredits } from '../../billing/credits/credits.ts'
import { updateSuspended } from '../../billing/credits/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Db, type Statement, sql } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { newApiKey } from './api-key.ts'
import { openKeyAuthenticator } from './authenticate.ts'
import { restrictApiKey } from './manage.ts'
import { findKeys } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

function authenticatorOn(over: Partial<Db>, clock: Clock = () => new Date()) {
  const authenticator = openKeyAuthenticator({ db: { ...db, ...over }, clock })
  const present = (key: string, address?: string) =>
    authenticator.authenticate(`Bearer ${key}`, address)
  return { ...authenticator, present }
}

test('100 concurrent unknown keys cost the database one statement', async () => {
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
  assert.equal(statements, 1)
})

test('every call looks its key up: a change of the key or of its account counts at the next call', async () => {
  const { key, keyId, accountId } = await newKey(db, { scopes: ['scores:read'] })
  const { present } = authenticatorOn({})
  const [inside, outside] = ['192.0.2.1', '198.51.100.1']
  const known = async (address: string) => {
    const found = await present(key, address)
    return found && [found.caller.keyId, ...found.scopes, found.credits.balance]
  }
  assert.deepEqual(await known(outside), [keyId, 'scores:read', 0])
  await db.run(sql`update api_keys set scopes = '{candidates:read}' where id = ${keyId}`)
  await db.transaction((tx) =>
    enterCredits(tx, { accountId, kind: 'grant', delta: 1, reason: 'x' }),
  )
  assert.deepEqual(await known(outside), [keyId, 'candidates:read', 1])
  await db.transaction((tx) => restrictApiKey(tx, { id: keyId, owner: 'any' }, ['192.0.2.0/24']))
  assert.deepEqual(
    [await known(inside), await known(outside)],
    [[keyId, 'candidates:read', 1], null],
  )
  await updateSuspended(db, accountId, new Date())
  assert.equal((await present(key, inside))?.credits.suspended, true)
  await revokeKey(db, keyId)
  assert.equal(await known(inside), null)
})

test('a key is expected after it was valid, from the addresses that it allowed, until a look-up refuses it', async () => {
  const { key, keyId } = await newKey(db)
  const { present, expectedKey } = authenticatorOn({})
  const [inside, outside] = ['192.0.2.1', '198.51.100.1']
  const keyIdAt = (address: string) => expectedKey(`Bearer ${key}`, address)?.caller.keyId ?? null
  assert.equal(keyIdAt(inside), null)
  await present(key, inside)
  assert.deepEqual([keyIdAt(inside), keyIdAt(outside)], [keyId, keyId])
  await db.transaction((tx) => restrictApiKey(tx, { id: keyId, owner: 'any' }, ['192.0.2.0/24']))
  await present(key, outside)
  assert.deepEqual([keyIdAt(inside), keyIdAt(outside)], [keyId, null])
  await revokeKey(db, keyId)
  assert.equal(await present(key, inside), null)
  assert.equal(keyIdAt(inside), null)
})

test('a key is not expected after a look-up that the database did not answer', async () => {
  const { key } = await newKey(db)
  let isDown = false
  const { present, expectedKey } = authenticatorOn({
    rows: <Row>(statement: Statement) =>
      isDown ? Promise.reject(new UnavailableError('down')) : db.rows<Row>(statement),
  })
  assert.ok(await present(key))
  isDown = true
  await assert.rejects(present(key), UnavailableError)
  assert.equal(expectedKey(`Bearer ${key}`, undefined), null)
})

test('a key is valid until the moment it expires', async () => {
  const expiresAt = new Date('2027-01-01T00:00:01Z')
  let now = new Date('2027-01-01T00:00:00Z')
  const { key } = await newKey(db, { now, expiresAt })
  const { present } = authenticatorOn({}, () => now)
  assert.ok(await present(key))
  now = expiresAt
  assert.equal(await present(key), null)
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
