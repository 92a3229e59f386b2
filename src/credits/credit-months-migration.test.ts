/**
 * Tests the migration `credit_months` on a database of the previous release, whose processes keep
 * running beside it.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newKey } from '../../test/support/build/keys.ts'
import { emptyDatabase } from '../../test/support/start/database.ts'
import { migrate } from '../database/migrate.ts'
import { migrationsDirectory } from '../database/open.ts'
import { sql } from '../platform/db/db.ts'
import { makeCreditMonths } from './archive.ts'
import { auditBooks } from './audit-books.ts'
import { enterCredits } from './credits.ts'
import { debitBatch } from './debit.ts'
import { findCreditAccount, insertVoids } from './store.ts'

const before = mkdtempSync(join(tmpdir(), 'assay-migrations-'))
cpSync(migrationsDirectory, before, { recursive: true })
const names = readdirSync(before).sort()
for (const name of names.slice(names.findIndex((one) => one.endsWith('_credit_months.sql'))))
  rmSync(join(before, name))
const database = await emptyDatabase()
const { db, url } = database
const role = `assay_before_${process.pid}`
after(async () => {
  for (const text of [`drop owned by ${role}`, `drop role ${role}`])
    await db.run({ text, name: '', values: [] })
  await database.drop()
  rmSync(before, { recursive: true })
})

test('entries move to their months with their numbers, sums and rights, and the previous release still charges, refunds and grants', async () => {
  const now = new Date()
  await migrate(url, before, now)
  const key = await newKey(db, { credits: 100 })
  const { accountId } = key
  const enter = (reference: string, kind: 'charge' | 'void', at: Date) =>
    db.run(sql`
    with entered as (
      insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation, at)
      values (${accountId}, ${kind}, ${kind === 'charge' ? -1 : 1}, ${reference}, ${key.keyId}, 'm', 'o', ${at})
      returning delta
    )
    update credit_accounts set balance = balance + delta from entered where account_id = ${accountId}`)
  await enter('old-1', 'charge', new Date('2026-01-31T23:59:59.999999Z'))
  await enter('void:old-1', 'void', new Date('2026-02-01T00:00:00Z'))
  await enter('old-2', 'charge', new Date('2026-02-01T00:00:01Z'))
  await enter('recent', 'charge', now)
  const grant = { accountId, kind: 'grant', delta: 5, reason: 'x', reference: 'INV-1' } as const
  await db.transaction((tx) => enterCredits(tx, grant))
  await db.run({ text: `create role ${role}`, name: '', values: [] })
  await db.run({ text: `grant select, insert on credit_entries to ${role}`, name: '', values: [] })
  const numbers = () => db.rows(sql`select seq, delta, at from credit_entries order by seq`)
  const entries = await numbers()

  await migrate(url, migrationsDirectory, now)
  assert.deepEqual(await numbers(), entries)
  const found = await db.rows<{ reference: string; partition: string }>(sql`
    select reference, tableoid::regclass::text as partition from credit_entries
    where account_id = ${accountId} and reason is distinct from 'for a test' order by seq`)
  assert.deepEqual(
    found.map(({ reference, partition }) => [reference, partition.replace('credit_entries_', '')]),
    [
      ['2026-01:old-1', '2026_01'],
      ['2026-02:old-1:void', '2026_02'],
      ['2026-02:old-2', '2026_02'],
      ['recent', 'default'],
      ['operator:INV-1', 'operator'],
    ],
  )
  const [rights] = await db.rows<{ told: string }>(sql`
    select string_agg(privilege_type, ' ' order by privilege_type) as told
    from information_schema.role_table_grants where grantee = ${role}`)
  assert.equal(rights?.told, 'INSERT SELECT')

  // Statements of the previous release, with the same keys and references.
  await enter('after', 'charge', now)
  await assert.rejects(enter('after', 'charge', now), { code: '23505' })
  for (const expected of [1, 0])
    assert.equal(
      await db.run(sql`
        insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
        select account_id, 'void', -delta, 'void:' || reference, key_id, meter, operation
        from credit_entries where reference = 'recent' and kind = 'charge'
        on conflict (reference) do nothing`),
      expected,
    )
  await db.run(
    sql`update credit_accounts set balance = balance + 1 where account_id = ${accountId}`,
  )
  assert.equal((await db.transaction((tx) => enterCredits(tx, grant))).outcome, 'entered before')

  await makeCreditMonths(db, now)
  const debit = { accountId, keyId: key.keyId, amount: 1, meter: 'm', operation: 'o' }
  const reference = `${now.toISOString().slice(0, 7)}:new`
  const [charged] = await debitBatch(db, [{ ...debit, reference, provenFor: '' }], now)
  assert.equal(charged?.outcome, 'charged')
  assert.equal(await insertVoids(db, [reference]), 1)
  for (const fromStart of [false, true])
    assert.deepEqual((await auditBooks(db, { now, fromStart })).broken, [])
  assert.equal((await findCreditAccount(db, accountId))?.balance, 103)
})
