import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { inTurn, untilItWaits } from '../../../test/support/fault/in-turn.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { openDb, type Queryable, sql } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { auditBooks, enterCredits } from './credits.ts'
import { type Debited, debitBatch, openDebits } from './debit.ts'
import {
  type Debit,
  findCreditAccount,
  insertDebits,
  insertRefunds,
  lockCreditAccount,
  updateSuspended,
} from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

let references = 0

function debitOf({ accountId, keyId }: TestKey, amount = 1): Debit {
  const reference = `request-${++references}`
  const what = { meter: 'score_lookup', operation: 'getScore' }
  return { accountId, keyId, amount, reference, ...what }
}

function chargeAll(on: Queryable, debits: readonly Debit[]): Promise<Debited[]> {
  return debitBatch(on, debits)
}

async function balanceOf({ accountId }: TestKey): Promise<number> {
  return (await findCreditAccount(db, accountId))?.balance ?? 0
}

async function spentOf({ accountId }: TestKey): Promise<number> {
  const [row] = await db.rows<{ spent: number }>(sql`
    select coalesce(-sum(delta), 0)::bigint as spent from credit_entries
    where account_id = ${accountId} and kind in ('charge', 'void')`)
  return row?.spent ?? 0
}

const summaryOf = (outcomes: Debited[]) =>
  outcomes.map((one) => (one.kind === 'charged' ? one.remaining : one.kind))

test('a batch is charged in its order, and each call gets the balance after its own debit', async () => {
  const [rich, poor] = [await newKey(db, { credits: 10 }), await newKey(db, { credits: 1 })]
  const none = await newKey(db)
  const batch = [rich, poor, rich, poor, none, rich].map((key) => debitOf(key))
  assert.deepEqual(summaryOf(await chargeAll(db, batch)), [9, 0, 8, 'short', 'short', 7])
  assert.equal(await balanceOf(rich), 7)
  assert.equal(await spentOf(rich), 3)
  assert.equal(await spentOf(poor), 1)
})

test('a call that the balance does not cover does not block a smaller call behind it', async () => {
  const key = await newKey(db, { credits: 5 })
  const batch = [3, 4, 1, 2, 1].map((amount) => debitOf(key, amount))
  assert.deepEqual(summaryOf(await chargeAll(db, batch)), [2, 'short', 1, 'short', 0])
  assert.equal(await balanceOf(key), 0)
})

test('all calls behind one that the balance does not cover are charged by one more statement', async () => {
  const [key, other] = [await newKey(db, { credits: 20 }), await newKey(db, { credits: 1 })]
  let statements = 0
  const counting: Queryable = {
    ...db,
    rows(statement) {
      statements++
      return db.rows(statement)
    },
  }
  const batch = [
    debitOf(key, 21),
    ...Array.from({ length: 20 }, () => debitOf(key)),
    debitOf(other),
  ]
  const outcomes = summaryOf(await chargeAll(counting, batch))
  const left = Array.from({ length: 20 }, (_, i) => 19 - i)
  assert.deepEqual(outcomes, ['short', ...left, 0])
  assert.equal(statements, 2)
})

test('a call with a used reference fails alone, and the rest of its batch is charged', async () => {
  const key = await newKey(db, { credits: 5 })
  const first = debitOf(key)
  await chargeAll(db, [first])
  const outcomes = await chargeAll(db, [debitOf(key), first, debitOf(key)])
  assert.deepEqual(summaryOf(outcomes), [3, 'failed', 2])
  assert.equal(await spentOf(key), 3)
})

test('a call with a used reference also fails alone behind a larger call that the balance does not cover', async () => {
  const key = await newKey(db, { credits: 6 })
  const used = debitOf(key)
  await chargeAll(db, [used])
  const outcomes = await chargeAll(db, [debitOf(key, 3), debitOf(key, 4), used])
  assert.deepEqual(summaryOf(outcomes), [2, 'short', 'failed'])
})

test('if the database fails between two statements, the whole batch fails and no further statement is sent', async () => {
  for (const lastStatement of [1, 3]) {
    const key = await newKey(db, { credits: 5 })
    const used = debitOf(key)
    await chargeAll(db, [used])
    let statements = 0
    const going: Queryable = {
      ...db,
      async rows(statement) {
        if (++statements === lastStatement) throw new UnavailableError('gone')
        return db.rows(statement)
      },
    }
    const batch = [debitOf(key), debitOf(key), used]
    await assert.rejects(chargeAll(going, batch), { name: 'UnavailableError' })
    assert.equal(statements, lastStatement)
  }
})

test('concurrent charges of one account wait for each other and see each other’s debits', async () => {
  const key = await newKey(db, { credits: 1 })
  const charge = (on: Queryable) => chargeAll(on, [debitOf(key)])
  const [first, second] = await inTurn(db, charge, () => charge(db))
  assert.deepEqual([...summaryOf(first), ...summaryOf(second)], [0, 'short'])
})

test('a refund is entered behind the charges that were made before it', async () => {
  const key = await newKey(db, { credits: 5 })
  const first = debitOf(key)
  await chargeAll(db, [first])
  const second = await db.transaction(async (tx) => {
    await lockCreditAccount(tx, key.accountId)
    const waiting = insertRefunds(db, [first.reference])
    await untilItWaits(db, waiting)
    await chargeAll(tx, [debitOf(key)])
    return { waiting }
  })
  assert.equal(await second.waiting, 1)
  const entries = await db.rows<{ kind: string }>(sql`
    select kind from credit_entries where account_id = ${key.accountId} order by seq`)
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ['grant', 'charge', 'charge', 'void'],
  )
})

test('a suspended account is not charged', async () => {
  const key = await newKey(db, { credits: 5 })
  await updateSuspended(db, key.accountId, new Date())
  assert.deepEqual(summaryOf(await chargeAll(db, [debitOf(key)])), ['suspended'])
  assert.equal(await balanceOf(key), 5)
  await updateSuspended(db, key.accountId, null)
})

test('a refund is made once, and only if the call was charged', async () => {
  const key = await newKey(db, { credits: 5 })
  const [one, two] = [debitOf(key), debitOf(key, 2)]
  await chargeAll(db, [one, two])
  const references = [one.reference, two.reference, 'never-charged']
  await insertRefunds(db, references)
  await insertRefunds(db, references)
  assert.equal(await balanceOf(key), 5)
  assert.equal(await spentOf(key), 0)
})

test('entries are never changed or removed, and no balance goes below zero', async () => {
  const key = await newKey(db, { credits: 1 })
  for (const statement of [
    sql`update credit_entries set delta = 5`,
    sql`delete from credit_entries`,
    sql`truncate credit_entries cascade`,
  ])
    await assert.rejects(db.run(statement), /append-only/)
  const { accountId } = key
  await assert.rejects(
    db.run(sql`update credit_accounts set balance = -1 where account_id = ${accountId}`),
    /credit_accounts_balance_check/,
  )
  assert.equal(await balanceOf(key), 1)
})

test('keys and credit accounts are never deleted, and their ids never change', async () => {
  await newKey(db, { credits: 1 })
  for (const statement of [
    sql`delete from api_keys`,
    sql`truncate api_keys cascade`,
    sql`update api_keys set id = gen_random_uuid()`,
    sql`update api_keys set account_id = gen_random_uuid()`,
    sql`delete from credit_accounts`,
    sql`truncate credit_accounts cascade`,
    sql`update credit_accounts set account_id = gen_random_uuid()`,
  ])
    await assert.rejects(db.run(statement), /in the ledger is permanent/, statement.text)
})

test('eight connections that charge twenty accounts at once spend exactly the credits of the entries', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => newKey(db, { credits: 100 })))
  const options = { connectionsMax: 1, applicationName: 'debits', onError: () => {} }
  const nodes = Array.from({ length: 8 }, () => openDb({ url: database.url, ...options }))
  let charged = 0
  await Promise.all(
    nodes.map(async (node, n) => {
      for (let round = 0; round < 10; round++) {
        const batch = Array.from({ length: 64 }, (_, i) => {
          const key = keys[(i * 7 + n * 3 + round) % keys.length] as TestKey
          return debitOf(key, 1 + ((i + n) % 3))
        })
        const outcomes = await chargeAll(node, batch)
        for (const [i, { kind }] of outcomes.entries())
          if (kind === 'charged') charged += batch[i]?.amount ?? 0
      }
    }),
  )
  await Promise.all(nodes.map((node) => node.close()))
  assert.equal(charged, 2_000)
  for (const key of keys) {
    assert.equal(await balanceOf(key), 0)
    assert.equal(await spentOf(key), 100)
  }
})

test('calls of one event-loop turn are charged together, and each gets its own answer', async () => {
  const key = await newKey(db, { credits: 50 })
  const { debit } = openDebits(db)
  const outcomes = await Promise.all(Array.from({ length: 80 }, () => debit(debitOf(key))))
  const charged = outcomes.filter(({ kind }) => kind === 'charged')
  assert.equal(charged.length, 50)
  assert.equal(new Set(summaryOf(charged)).size, 50)
  assert.equal(await spentOf(key), 50)
})

type Step =
  | { kind: 'enter'; who: number; delta: number }
  | { kind: 'charge'; amounts: { who: number; amount: number }[] }
  | { kind: 'void'; nth: number }

const who = fc.nat({ max: 2 })
const amount = fc.integer({ min: 1, max: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('enter' as const), who, delta: fc.integer({ min: -6, max: 12 }) }),
  fc.record({
    kind: fc.constant('charge' as const),
    amounts: fc.array(fc.record({ who, amount }), { minLength: 1, maxLength: 8 }),
  }),
  fc.record({ kind: fc.constant('void' as const), nth: fc.nat({ max: 9 }) }),
)

test('grants, adjustments, batched charges and refunds leave the same balances as a model that handles one call at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const keys = [await newKey(db), await newKey(db), await newKey(db)] as const
      const model = [0, 0, 0]
      const charged: { debit: Debit; who: number; isVoid: boolean }[] = []
      for (const one of steps) {
        if (one.kind === 'enter') {
          const { accountId } = keys[one.who] as TestKey
          if (one.delta === 0) continue
          const kind = one.delta > 0 ? 'grant' : 'adjustment'
          const entry = { accountId, kind, delta: one.delta, reason: 'model' } as const
          const entered = await db.transaction((tx) => enterCredits(tx, entry))
          const fits = (model[one.who] as number) + one.delta >= 0
          assert.equal('balance' in entered, fits)
          if (fits) (model[one.who] as number) += one.delta
        } else if (one.kind === 'void') {
          const chosen = charged[one.nth]
          if (chosen === undefined) continue
          await insertRefunds(db, [chosen.debit.reference])
          if (!chosen.isVoid) (model[chosen.who] as number) += chosen.debit.amount
          chosen.isVoid = true
        } else {
          const debits = one.amounts.map((asked) =>
            debitOf(keys[asked.who] as TestKey, asked.amount),
          )
          const outcomes = await chargeAll(db, debits)
          for (const [i, { kind }] of outcomes.entries()) {
            const { who, amount } = one.amounts[i] as { who: number; amount: number }
            if (kind !== 'charged') continue
            ;(model[who] as number) -= amount
            charged.push({ debit: debits[i] as Debit, who, isVoid: false })
          }
          // No call was refused that the balance would have covered.
          for (const [i, { kind }] of outcomes.entries()) {
            const { who, amount } = one.amounts[i] as { who: number; amount: number }
            if (kind === 'short') assert.ok(amount > (model[who] as number))
          }
        }
        assert.ok(model.every((balance) => balance >= 0))
        assert.deepEqual(await Promise.all(keys.map(balanceOf)), model)
      }
      const { broken } = await auditBooks(db, { now: new Date(), fromStart: true })
      assert.ok(broken.every(({ accountId }) => !keys.some((key) => key.accountId === accountId)))
    }),
    { numRuns: 40 },
  )
})

test('the statement returns the outcome of each call', async () => {
  const key = await newKey(db, { credits: 2 })
  const rows = await insertDebits(db, [debitOf(key, 2), debitOf(key)])
  assert.deepEqual(rows, [
    { place: 1, isAccepted: true, isSuspended: false, remaining: 0 },
    { place: 2, isAccepted: false, isSuspended: false, remaining: 0 },
  ])
})
