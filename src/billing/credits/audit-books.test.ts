import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { auditBooks } from './credits.ts'
import { debitBatch } from './debit.ts'
import type { Debit } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

let references = 0

function debitOf({ accountId, keyId }: TestKey): Debit {
  const reference = `request-${++references}`
  const what = { meter: 'score_lookup', operation: 'getScore' }
  return { accountId, keyId, amount: 1, reference, ...what }
}

test('the audit finds a balance that differs from its entries, and suspends only that account', async () => {
  const [sound, broken] = [await newKey(db, { credits: 5 }), await newKey(db, { credits: 5 })]
  const now = new Date()
  await debitBatch(db, [debitOf(sound), debitOf(broken)])
  const ofBroken = (fromStart: boolean) =>
    auditBooks(db, { now, fromStart }).then((found) => found.broken.map((book) => book.accountId))
  assert.deepEqual(await ofBroken(false), [])
  await db.run(sql`
    update credit_accounts set balance = balance + 1 where account_id = ${broken.accountId}`)
  for (const fromStart of [false, true]) {
    assert.deepEqual(await ofBroken(fromStart), [broken.accountId])
    const [outcome] = await debitBatch(db, [debitOf(broken), debitOf(sound)])
    assert.equal(outcome?.kind, 'suspended')
  }
  await db.run(sql`
    update credit_accounts set balance = balance - 1 where account_id = ${broken.accountId}`)
  const { repaired } = await auditBooks(db, { now, fromStart: true })
  assert.deepEqual(repaired, [broken.accountId])
})

test('an audit from the start ignores the results of earlier audits', async () => {
  const { accountId } = await newKey(db, { credits: 5 })
  const now = new Date()
  await auditBooks(db, { now, fromStart: false })
  await db.run(sql`update credit_audits set balance = balance + 1 where account_id = ${accountId}`)
  await db.run(
    sql`update credit_accounts set balance = balance + 1 where account_id = ${accountId}`,
  )
  const brokenOf = async (fromStart: boolean) =>
    (await auditBooks(db, { now, fromStart })).broken.map((book) => book.accountId)
  assert.deepEqual(await brokenOf(false), [])
  assert.deepEqual(await brokenOf(true), [accountId])
})
