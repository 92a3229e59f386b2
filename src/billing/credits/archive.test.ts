/**
 * Tests the months of the ledger on a real database: partitions are made ahead or late, archived
 * once, and never block a charge.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { untilItWaits } from '../../../test/support/fault/in-turn.ts'
import { beforeRival } from '../../../test/support/fault/rival.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { type Db, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { archiveMonth, makeCreditMonths, sha256OfFile } from './archive.ts'
import { findArchivedSumsOf, findArchives } from './archive-store.ts'
import { auditBooks, enterCredits } from './credits.ts'
import { debitBatch } from './debit.ts'
import { chargeReference, firstDay, monthsFrom, settledFrom } from './months.ts'
import { findCreditAccount, insertRefunds } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'assay-archive-'))
after(() => rmSync(folder, { recursive: true }))

/** A database for each test, because partitions are a state of the whole database. */
async function books(): Promise<Db> {
  const database = await testDatabase()
  after(() => database.drop())
  return database.db
}

const now = new Date()
const [thisMonth = ''] = monthsFrom(now.toISOString().slice(0, 7), 1)
let requests = 0

function debitOf({ accountId, keyId }: TestKey, month: string, amount = 1) {
  const reference = chargeReference(firstDay(month), `request-${++requests}`)
  const what = { meter: 'score_lookup', operation: 'getScore' }
  return { accountId, keyId, amount, reference, ...what }
}

async function charge(db: Queryable, key: TestKey, month: string, amount = 1): Promise<string> {
  const debit = debitOf(key, month, amount)
  const [outcome] = await debitBatch(db, [debit])
  assert.equal(outcome?.kind, 'charged', JSON.stringify(outcome))
  return debit.reference
}

async function partitionOf(db: Queryable, reference: string): Promise<string | undefined> {
  const [row] = await db.rows<{ name: string }>(sql`
    select tableoid::regclass::text as name from credit_entries where reference = ${reference}`)
  return row?.name
}

const inPartition = (month: string) => `credit_entries_${month.replace('-', '_')}`
const brokenBooks = async (db: Db, fromStart: boolean) =>
  (await auditBooks(db, { now, fromStart })).broken

async function archive(db: Db, month: string, at = now) {
  const path = join(folder, `${month}-${++requests}.ndjson`)
  const done = await db.transaction((tx) => archiveMonth(tx, { month, path, now: at }))
  return 'refusal' in done ? { refused: String(done.message), path } : { refused: null, path }
}

/** The same database, whose transactions run `hook` before they drop the entries of a month. */
function beforeDrop(db: Db, hook: () => Promise<void>): Db {
  const hooked = (tx: Tx): Tx => ({
    ...tx,
    async run(statement) {
      if (statement.text.includes('drop_credit_month')) await hook()
      return tx.run(statement)
    },
  })
  return { ...db, transaction: (work) => db.transaction((tx) => work(hooked(tx))) }
}

test('a charge is entered in the partition of its month; this month and the next three have one', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const months = monthsFrom(thisMonth, 5)
  assert.deepEqual(await makeCreditMonths(db, now), months.slice(0, 4))
  assert.deepEqual(await makeCreditMonths(db, now), [])
  for (const month of months.slice(0, 4))
    assert.equal(await partitionOf(db, await charge(db, key, month)), inPartition(month))
  const late = await charge(db, key, months[4] ?? '')
  assert.equal(await partitionOf(db, late), 'credit_entries_default')
})

test('a month without a partition is charged, and its entries move once the partition is made', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const references = [await charge(db, key, thisMonth), await charge(db, key, '2026-01')]
  assert.equal(await insertRefunds(db, [references[0] ?? '']), 1)
  assert.ok((await makeCreditMonths(db, now)).includes('2026-01'))
  for (const [i, month] of [thisMonth, '2026-01'].entries())
    assert.equal(await partitionOf(db, references[i] ?? ''), inPartition(month))
  assert.equal(await partitionOf(db, `${references[0]}:void`), inPartition(thisMonth))
  assert.equal(await insertRefunds(db, references), 1, 'what was given back stays so')
  assert.equal((await findCreditAccount(db, key.accountId))?.balance, 10)
  assert.deepEqual(await brokenBooks(db, true), [])
  for (const table of ['credit_entries_default', inPartition(thisMonth)])
    for (const statement of [
      `delete from ${table}`,
      `truncate ${table}`,
      `update ${table} set delta = 1`,
    ])
      await assert.rejects(db.run({ text: statement, name: '', values: [] }), /append-only/)
})

test('no reference is entered twice, before or after its partition is made', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const debit = debitOf(key, thisMonth)
  const outcomes = [await debitBatch(db, [debit])]
  await makeCreditMonths(db, now)
  outcomes.push(await debitBatch(db, [debit]))
  assert.deepEqual(
    outcomes.flat().map(({ kind }) => kind),
    ['charged', 'failed'],
  )
  assert.equal((await findCreditAccount(db, key.accountId))?.balance, 9)
})

test('charges succeed while the partition of their month is made', async () => {
  const db = await books()
  const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(db, { credits: 1_000 })))
  const making = new AbortController()
  const callers = keys.map(async (key) => {
    let charged = 0
    for (; !making.signal.aborted || charged < 20; charged++) await charge(db, key, thisMonth)
    return charged
  })
  // Waits until some entries are in the default partition.
  while ((await db.rows(sql`select 1 from credit_entries_default limit 8`)).length < 8);
  assert.ok((await makeCreditMonths(db, now)).includes(thisMonth))
  making.abort()
  const charged = (await Promise.all(callers)).reduce((sum, count) => sum + count, 0)
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) as count from credit_entries where kind = 'charge'
      and tableoid = to_regclass(${inPartition(thisMonth)})`)
  assert.equal(row?.count, charged)
  assert.deepEqual(await brokenBooks(db, true), [])
})

test('if a long read blocks a new partition, the partition is made later and charges do not wait behind it', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  await db.transaction(async (tx) => {
    await tx.rows(sql`select count(*) from credit_entries`)
    const making = makeCreditMonths(db, now)
    await untilItWaits(db, making)
    const refusal = assert.rejects(making, UnavailableError)
    const charged = Promise.all([refusal, charge(db, key, thisMonth)])
    const rival = () => db.rows(sql`select 1`)
    await beforeRival({ what: 'the charge', withinMs: 1_000, rival }, charged)
  })
  assert.ok((await makeCreditMonths(db, now)).includes(thisMonth))
})

test('an archived month is in its file, its sums stay, and every audit still adds up', async () => {
  const db = await books()
  const [one, two, none] = [
    await newKey(db, { credits: 100 }),
    await newKey(db, { credits: 100 }),
    await newKey(db, { credits: 100 }),
  ]
  await makeCreditMonths(db, now)
  const reference = await charge(db, one, '2026-01', 3)
  for (const amount of [1, 2]) await charge(db, two, '2026-01', amount)
  await insertRefunds(db, [reference])
  await charge(db, none, thisMonth, 7)
  assert.match(String((await archive(db, '2026-01')).refused), /differs from its entries/)
  assert.deepEqual(await brokenBooks(db, false), [])

  const archived = await archive(db, '2026-01')
  assert.equal(archived.refused, null)
  const lines = readFileSync(archived.path, 'utf8').trimEnd().split('\n')
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    file: 'assay credit entries',
    version: 1,
    month: '2026-01',
  })
  const entries = lines.slice(1).map((line) => JSON.parse(line))
  assert.equal(entries.length, 4)
  const { at, seq, ...entry } = entries.find((each) => each.reference === reference)
  assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.ok(Number.isInteger(seq))
  assert.deepEqual(entry, {
    accountId: one.accountId,
    kind: 'charge',
    delta: -3,
    reference,
    keyId: one.keyId,
    meter: 'score_lookup',
    operation: 'getScore',
  })
  assert.equal(await partitionOf(db, reference), undefined)

  assert.deepEqual(
    await findArchivedSumsOf(db, two.accountId, { from: '2026-01', to: '2026-01' }),
    [{ month: '2026-01', entries: 2, delta: -3 }],
  )
  for (const fromStart of [false, true]) {
    await charge(db, two, thisMonth)
    assert.deepEqual(await brokenBooks(db, fromStart), [])
  }
  await db.run(sql`
    update credit_accounts set balance = balance + 1 where account_id = ${two.accountId}`)
  for (const fromStart of [false, true])
    assert.deepEqual(
      (await brokenBooks(db, fromStart)).map(({ accountId }) => accountId),
      [two.accountId],
    )
})

test('the digest of an archive is that of its file, and its sums cannot be changed', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 100 })
  for (let i = 0; i < 3; i++) await charge(db, key, '2026-01')
  await brokenBooks(db, true)
  const { path, refused } = await archive(db, '2026-01')
  assert.equal(refused, null)
  const [archived] = await findArchives(db)
  assert.deepEqual([archived?.entries, archived?.delta], [3, -3])
  assert.deepEqual(archived?.fileSha256, await sha256OfFile(path))
  await assert.rejects(sha256OfFile(join(folder, 'nowhere')), /ENOENT/)

  await assert.rejects(db.run(sql`update credit_archived_sums set delta = -2`), /append-only/)
  await db.run(
    sql`alter table credit_archived_sums disable trigger credit_archived_sums_append_only`,
  )
  await db.run(sql`update credit_archived_sums set delta = -2`)
  assert.equal((await brokenBooks(db, true)).length, 1, 'the books do not add up')
})

test('a month is archived once, at the earliest two days after its end, and only if it has entries', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  await charge(db, key, '2026-01')
  await brokenBooks(db, true)
  const from = settledFrom('2026-01')
  assert.equal(from.toISOString(), '2026-02-03T00:00:00.000Z')
  const early = await archive(db, '2026-01', new Date(from.getTime() - 1))
  assert.match(String(early.refused), /can be archived from/)
  assert.equal(existsSync(early.path), false)
  assert.match(String((await archive(db, '2025-12')).refused), /has no charges/)
  assert.equal((await archive(db, '2026-01', from)).refused, null)
  assert.match(String((await archive(db, '2026-01')).refused), /is archived already/)
})

test('an interrupted archive leaves the ledger unchanged, and the next attempt archives the month', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const reference = await charge(db, key, '2026-01')
  await brokenBooks(db, true)
  const killed = beforeDrop(db, () => Promise.reject(new Error('killed')))
  await assert.rejects(archive(killed, '2026-01'), /killed/)
  assert.notEqual(await partitionOf(db, reference), undefined)
  assert.deepEqual(await findArchives(db), [])
  assert.deepEqual(await brokenBooks(db, true), [])
  assert.equal((await archive(db, '2026-01')).refused, null)
})

test('an entry of an archived month is entered and counted; an operator’s reference stays used forever', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const grant = { accountId: key.accountId, kind: 'grant', delta: 5, reason: 'x' } as const
  const enter = () => db.transaction((tx) => enterCredits(tx, { ...grant, reference: 'INV-1' }))
  assert.ok('balance' in (await enter()))
  const gone = await charge(db, key, '2026-01')
  await brokenBooks(db, true)
  assert.equal((await archive(db, '2026-01')).refused, null)
  assert.match(JSON.stringify(await enter()), /INV-1 was entered before/)
  assert.equal(await insertRefunds(db, [gone]), 0)
  await charge(db, key, '2026-01', 2)
  await makeCreditMonths(db, now)
  for (const fromStart of [false, true]) assert.deepEqual(await brokenBooks(db, fromStart), [])
  assert.equal((await findCreditAccount(db, key.accountId))?.balance, 12)
})

test('a late charge refuses the archive of its month, and charges of the current month do not wait for it', async () => {
  const db = await books()
  const key = await newKey(db, { credits: 10 })
  const other = await newKey(db, { credits: 10 })
  await charge(db, key, '2026-01')
  await makeCreditMonths(db, now)
  await brokenBooks(db, true)
  let late: Promise<string> | undefined
  const delayed = beforeDrop(db, async () => {
    await charge(db, other, thisMonth)
    late = charge(db, key, '2026-01')
    await untilItWaits(db, late)
  })
  await assert.rejects(archive(delayed, '2026-01'), UnavailableError)
  assert.equal(await partitionOf(db, (await late) ?? ''), inPartition('2026-01'))
  assert.match(String((await archive(db, '2026-01')).refused), /differs from its entries/)
  assert.deepEqual(await brokenBooks(db, false), [])
  assert.equal((await archive(db, '2026-01')).refused, null)
  for (const fromStart of [false, true]) assert.deepEqual(await brokenBooks(db, fromStart), [])
})

const step = fc.record({
  who: fc.nat({ max: 1 }),
  month: fc.constantFrom('2025-11', '2025-12', '2026-01', thisMonth),
  what: fc.constantFrom('charge', 'void', 'make', 'archive', 'audit'),
})

test('balances equal the credits granted less the credits spent after any order of charges, refunds, partitions and archives', async () => {
  const db = await books()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const keys = [await newKey(db, { credits: 50 }), await newKey(db, { credits: 50 })] as const
      const left = [50, 50]
      const charged: { who: number; reference: string }[] = []
      for (const { who, month, what } of steps) {
        const key = keys[who] as TestKey
        if (what === 'charge') {
          charged.push({ who, reference: await charge(db, key, month) })
          left[who] = (left[who] ?? 0) - 1
        } else if (what === 'void') {
          const last = charged.pop()
          if (last === undefined) continue
          left[last.who] = (left[last.who] ?? 0) + (await insertRefunds(db, [last.reference]))
        } else if (what === 'make') await makeCreditMonths(db, now)
        else if (what === 'audit') await auditBooks(db, { now, fromStart: false })
        else {
          const { refused } = await archive(db, month)
          assert.ok(month !== thisMonth || refused?.includes('can be archived from'))
        }
      }
      for (const [i, { accountId }] of keys.entries())
        assert.equal((await findCreditAccount(db, accountId))?.balance, left[i])
      for (const fromStart of [false, true]) assert.deepEqual(await brokenBooks(db, fromStart), [])
    }),
    { numRuns: 25 },
  )
})
