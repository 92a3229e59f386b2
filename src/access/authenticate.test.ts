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

const database = await testDatabase()
const { db } = database
after(() => database.drop())

function deskOn(over: Partial<Db>) {
  const peppers = async () => parseKeyring(testPeppers)
  const desk = openKeyDesk({ db: { ...db, ...over }, peppers, clock: () => new Date() })
  const present = (key: string) =>
    desk.authenticate(`Bearer ${key}`, { address: undefined, onSeen() {} })
  return { present }
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

test('503 for each of the keys that rest on a pepper that came later, also for all at once', async () => {
  const { present } = deskOn({})
  assert.ok(await present((await newKey(db)).key))
  const peppers = `k2:${Buffer.alloc(32, 8).toString('base64')}`
  const later = await Promise.all(Array.from({ length: 3 }, () => newKey(db, { peppers })))
  await Promise.all(later.map(({ key }) => assert.rejects(present(key), UnavailableError)))
})
