import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patience } from '../../../test/support/start/patience.ts'
import { setPatience } from '../patience.ts'
import { type Db, sql } from './db.ts'
import { impatientDb } from './impatient-db.ts'

function dbOf(answer: () => Promise<unknown>): Db {
  return { rows: answer, run: answer, transaction: answer, close: answer } as unknown as Db
}

const ask = (db: Db) => [db.rows(sql`x`), db.run(sql`x`), db.transaction(async () => 1)]

test('a result or an error within the deadline is passed on', async () => {
  assert.deepEqual(await Promise.all(ask(impatientDb(dbOf(async () => 7)))), [7, 7, 7])
  const error = new Error('no')
  for (const asked of ask(impatientDb(dbOf(() => Promise.reject(error)))))
    await assert.rejects(asked, (thrown) => thrown === error)
})

test('503: a statement that exceeds the deadline is unavailable', async () => {
  setPatience(0.01)
  const never = impatientDb(dbOf(() => new Promise(() => {})))
  await Promise.all(ask(never).map((asked) => assert.rejects(asked, { name: 'UnavailableError' })))
  setPatience(patience)
})
