import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Db, sql } from './db.ts'
import { impatientDb } from './impatient-db.ts'

/** Answers with `given`; never where that is undefined. */
function dbOf(given: unknown): Db {
  const answer = async () => (given === undefined ? new Promise(() => {}) : given)
  return { rows: answer, run: answer, transaction: answer, close: answer } as unknown as Db
}

const ask = (db: Db) => [db.rows(sql`x`), db.run(sql`x`), db.transaction(async () => 1)]

test('what is answered in time is given, and what failed fails', async () => {
  assert.deepEqual(await Promise.all(ask(impatientDb(dbOf(7), 60_000))), [7, 7, 7])
  const error = new Error('no')
  const failing = dbOf(Promise.reject(error))
  for (const asked of ask(impatientDb(failing, 60_000)))
    await assert.rejects(asked, (thrown) => thrown === error)
})

test('what is not is given up', async () => {
  for (const asked of ask(impatientDb(dbOf(undefined), 1)))
    await assert.rejects(asked, { name: 'UnavailableError' })
})
