import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { eventually } from '../../../test/support/start/processes.ts'
import { timeoutMultiplier } from '../../../test/support/start/timeout-multiplier.ts'
import type { MeteredCall } from '../../edge/http/admission.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import { setTimeoutMultiplier } from '../../platform/deadlines.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { enterCredits } from './credits.ts'
import { openCreditMeter, purchasesEnd } from './metering.ts'
import { deletePurchases, findCreditAccount, lockCreditAccount, updateSuspended } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const clockHand = { now: new Date() }
const prices = { score_lookup: 2, candidate_lookup: 0, candidate_search: 1 }
const meter = openCreditMeter({ db, prices, clock: () => clockHand.now })

const purchase = { idempotencyKey: 'purchase-0000000001', fingerprint: '00'.repeat(32) }
let calls = 0
const callOf = ({ accountId, keyId }: TestKey, over: Partial<MeteredCall> = {}): MeteredCall => ({
  caller: { kind: 'key', keyId, accountId, environment: 'live' },
  meter: 'score_lookup',
  operationId: 'getScore',
  requestId: `call-${++calls}`,
  begunAt: clockHand.now,
  purchase: null,
  ...over,
})
const balanceOf = async ({ accountId }: TestKey) =>
  (await findCreditAccount(db, accountId))?.balance

test('a call costs the price of its meter; a free call writes nothing', async () => {
  const key = await newKey(db, { credits: 5 })
  assert.deepEqual(await meter.charge(callOf(key)), { charged: 2, remaining: 3 })
  const free = await meter.charge(callOf(key, { meter: 'candidate_lookup' }))
  assert.deepEqual(free, { charged: 0 })
  assert.equal(
    meter.shortfall(
      { caller: callOf(key).caller, scopes: [], credits: { balance: 0, suspended: true } },
      'candidate_lookup',
    ),
    null,
  )
  assert.equal(await balanceOf(key), 3)
})

test('too few credits or a suspended account are known before the work', () => {
  const caller = callOf({
    accountId: 'a',
    keyId: 'k',
    key: '',
    headers: { Authorization: '' },
  }).caller
  const key = (balance: number, suspended = false) => ({
    caller,
    scopes: [],
    credits: { balance, suspended },
  })
  const refusalOf = (balance: number, suspended?: boolean) =>
    meter.shortfall(key(balance, suspended), 'score_lookup')?.refusal
  assert.deepEqual(
    [refusalOf(2), refusalOf(1), refusalOf(9, true)],
    [undefined, 'insufficient_credits', 'metering_suspended'],
  )
})

test('a call that got 503 and was charged afterwards is refunded once', async () => {
  setTimeoutMultiplier(1)
  const meter = openCreditMeter({ db, prices, clock: () => clockHand.now })
  setTimeoutMultiplier(timeoutMultiplier)
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key)
  await db.transaction(async (tx) => {
    await lockCreditAccount(tx, key.accountId)
    await assert.rejects(meter.charge(call), { name: 'UnavailableError' })
  })
  await eventually('the statement that was waiting has charged', {
    see: async () => (await balanceOf(key)) === 8,
  })
  await meter.writeRefunds()
  assert.equal(await balanceOf(key), 10)
  clockHand.now = new Date(clockHand.now.getTime() + 61_000)
  await meter.writeRefunds()
  await meter.writeRefunds()
  assert.equal(await balanceOf(key), 10, 'once, however often it is tried')
  const entries = await db.rows<{ kind: string; delta: number }>(sql`
    select kind, delta from credit_entries where account_id = ${key.accountId} order by seq`)
  assert.deepEqual(
    entries.map(({ kind, delta }) => `${kind} ${delta}`),
    ['grant 10', 'charge -2', 'void 2'],
  )
})

test('refunds are made in pages of 1,000, so that each statement ends in time', async () => {
  let statements = 0
  const counting: Db = {
    ...db,
    run(statement) {
      statements++
      return db.run(statement)
    },
  }
  const many = openCreditMeter({ db: counting, prices, clock: () => clockHand.now })
  const key = await newKey(db, { credits: 10 })
  const charged = [callOf(key), callOf(key)]
  for (const call of charged) await many.charge(call)
  many.refund(charged[0] as MeteredCall)
  for (let i = 0; i < 2_000; i++) many.refund(callOf(key))
  many.refund(charged[1] as MeteredCall)
  await many.writeRefunds()
  assert.equal(await balanceOf(key), 10)
  assert.equal(statements, 3)
})

test('close waits for debits under way and refunds them', async () => {
  const events: string[] = []
  const watched: Db = {
    ...db,
    run: (statement) => {
      events.push('given back')
      return db.run(statement)
    },
  }
  setTimeoutMultiplier(1)
  const meter = openCreditMeter({ db: watched, prices, clock: () => clockHand.now })
  setTimeoutMultiplier(timeoutMultiplier)
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key)
  const closed = await db.transaction(async (tx) => {
    await lockCreditAccount(tx, key.accountId)
    await assert.rejects(meter.charge(call), { name: 'UnavailableError' })
    const by = meter.close()
    await tx.rows(sql`select 1`)
    events.push('still locked')
    return { by }
  })
  await closed.by
  assert.deepEqual(events, ['still locked', 'given back'])
  assert.equal(await balanceOf(key), 10)
})

test('close refunds calls that are being debited while their callers leave', async () => {
  const key = await newKey(db, { credits: 10 })
  const meter = openCreditMeter({ db, prices, clock: () => clockHand.now })
  const leave = async (call: MeteredCall): Promise<void> => {
    await meter.charge(call)
    meter.refund(call)
  }
  const first = leave(callOf(key))
  // The first call is under way before the second comes, so the second waits for the next batch.
  await turn()
  const second = leave(callOf(key))
  await meter.close()
  await Promise.all([first, second])
  assert.equal(await balanceOf(key), 10)
})

test('no call is charged while too many refunds are open', async () => {
  const meter = openCreditMeter({ db, prices, clock: () => clockHand.now, pendingRefundsMax: 1 })
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key)
  await meter.charge(call)
  meter.refund(call)
  await assert.rejects(meter.charge(callOf(key)), { name: 'UnavailableError' })
  assert.equal(await balanceOf(key), 8)
  clockHand.now = new Date(clockHand.now.getTime() + 61_000)
  await meter.writeRefunds()
  assert.deepEqual(await meter.charge(callOf(key)), { charged: 2, remaining: 8 })
})

test('a call that is debited only after a refund attempt is refunded by the next attempt', async () => {
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key)
  meter.refund(call)
  await meter.writeRefunds()
  await meter.charge(call)
  await meter.writeRefunds()
  assert.equal(await balanceOf(key), 10)
})

test('a refund that fails is made once the database is back', async () => {
  let isAway = true
  const away: Db = {
    ...db,
    run: (statement) => (isAway ? Promise.reject(new UnavailableError('away')) : db.run(statement)),
  }
  const meter = openCreditMeter({ db: away, prices, clock: () => clockHand.now })
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key)
  await meter.charge(call)
  meter.refund(call)
  clockHand.now = new Date(clockHand.now.getTime() + 61_000)
  await assert.rejects(meter.writeRefunds(), { name: 'UnavailableError' })
  isAway = false
  await meter.writeRefunds()
  assert.equal(await balanceOf(key), 10)
})

test('a refused purchase was not made: it costs as soon as the account has credits', async () => {
  const key = await newKey(db, { credits: 1 })
  assert.partialDeepStrictEqual(await meter.charge(callOf(key, { purchase })), {
    refusal: 'insufficient_credits',
    message: 'This call costs 2 credits, and the account of this API key has 1 credit.',
    headers: { 'Service-Credits-Charged': '0', 'Service-Credits-Remaining': '1' },
  })
  const { accountId } = key
  const grant = { accountId, kind: 'grant', delta: 5, reason: 'more' } as const
  await db.transaction((tx) => enterCredits(tx, grant))
  assert.deepEqual(await meter.charge(callOf(key, { purchase })), { charged: 2, remaining: 4 })
})

test('a purchase belongs to one account: another account pays under the same key', async () => {
  for (const key of [await newKey(db, { credits: 10 }), await newKey(db, { credits: 10 })])
    assert.deepEqual(await meter.charge(callOf(key, { purchase })), { charged: 2, remaining: 8 })
})

test('a purchase is charged once, also by ten calls at once, and belongs to one request', async () => {
  const key = await newKey(db, { credits: 10 })
  const charges = await Promise.all(
    Array.from({ length: 10 }, () => meter.charge(callOf(key, { purchase }))),
  )
  const of = (charged: number) =>
    charges.filter((charge) => 'charged' in charge && charge.charged === charged).length
  assert.deepEqual([of(2), of(0)], [1, 9])
  const other = { ...purchase, fingerprint: '11'.repeat(32) }
  const refused = await meter.charge(callOf(key, { purchase: other }))
  assert.partialDeepStrictEqual(refused, { refusal: 'purchase_key_reused' })
  assert.equal(await balanceOf(key), 8)
})

test('a purchase answers for one day and is then deleted', async () => {
  const key = await newKey(db, { credits: 10 })
  const buy = () => meter.charge(callOf(key, { purchase }))
  const { now } = clockHand
  await buy()
  await deletePurchases(db, purchasesEnd(now))
  assert.deepEqual(await buy(), { charged: 0, remaining: 8 })
  assert.ok((await deletePurchases(db, purchasesEnd(new Date(now.getTime() + 86_400_000)))) > 0)
  assert.deepEqual(await buy(), { charged: 2, remaining: 6 })
})

test('503: a suspended account is refused even for a purchase that it has made', async () => {
  const key = await newKey(db, { credits: 10 })
  await meter.charge(callOf(key, { purchase }))
  await updateSuspended(db, key.accountId, clockHand.now)
  assert.partialDeepStrictEqual(await meter.charge(callOf(key, { purchase })), {
    refusal: 'metering_suspended',
  })
})

test('a named purchase is not refunded: its caller asks again and finds it paid for', async () => {
  const key = await newKey(db, { credits: 10 })
  const call = callOf(key, { purchase })
  await meter.charge(call)
  meter.refund(call)
  await meter.writeRefunds()
  const again = await meter.charge(callOf(key, { purchase }))
  assert.deepEqual(again, { charged: 0, remaining: 8 })
})
