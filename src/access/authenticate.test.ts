import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { newKey } from '../../test/support/keys.ts'
import { testPeppers } from '../../test/support/service.ts'
import { type Db, type Statement } from '../platform/db.ts'
import { UnavailableError } from '../platform/errors.ts'
import { parseKeyring } from '../platform/keyring.ts'
import { newApiKey } from './api-key.ts'
import { openKeyDesk } from './authenticate.ts'
import { findKeys } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

function deskOn(over: Partial<Db>, clock = () => new Date()) {
  const peppers = async () => parseKeyring(testPeppers)
  const desk = openKeyDesk({ db: { ...db, ...over }, peppers, clock })
  const present = (key: string) =>
    desk.authenticate(`Bearer ${key}`, { address: undefined, onSeen() {} })
  return { ...desk, present }
}

test('a hundred wrong keys at once cost the database two statements', async () => {
  let statements = 0
  const { present } = deskOn({
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

test('uses that could not be written are written the next time, and a use meanwhile is the last', async () => {
  const [first, second] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:30Z')]
  const [once, twice] = [await newKey(db), await newKey(db)]
  let now = first
  let isDown = true
  const { present, recordUses } = deskOn(
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

test('503 for each of the keys that rest on a pepper that came later, also for all at once', async () => {
  const { present } = deskOn({})
  assert.ok(await present((await newKey(db)).key))
  const peppers = `k2:${Buffer.alloc(32, 8).toString('base64')}`
  const later = await Promise.all(Array.from({ length: 3 }, () => newKey(db, { peppers })))
  await Promise.all(later.map(({ key }) => assert.rejects(present(key), UnavailableError)))
})
