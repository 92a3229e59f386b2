/** The payment commands: the operator's view of x402 payments. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  paymentsList,
  paymentsUndelivered,
  paymentsUnresolved,
} from '../../src/billing/x402/operations.ts'
import {
  holdPayment,
  markSettled,
  markUnknown,
  releasePayment,
} from '../../src/billing/x402/settlement/store.ts'
import { perform } from '../../src/operations/perform.ts'
import { uuidV7 } from '../../src/platform/db/uuid-v7.ts'
import { installation } from '../support/start/installation.ts'

const command = await installation()
const { db } = command
const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`
const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000)

async function settling(
  endpoint: string,
  at: Date,
  validBefore = new Date('9999-12-31T23:59:59Z'),
): Promise<string> {
  const id = uuidV7(at)
  const payment = {
    id,
    chainId: 84532,
    asset: hex(20),
    payer: hex(20),
    nonce: hex(32),
    signatureHash: randomBytes(32),
    resourceKey: randomBytes(32),
    endpoint,
    amount: '10000',
    payTo: hex(20),
    validBefore,
    idempotencyKey: null,
    facilitator: 'remote',
    sealedPayment: randomBytes(64),
  } as const
  assert.equal(await holdPayment(db, payment, { now: at, leaseUntil: at }), 'held')
  return id
}

const report = async (...args: string[]) => {
  const { code, out } = await command.run(['payments', ...args, '--json'])
  return { code, ...JSON.parse(out) }
}

test('without payments: lists are empty, the CSV has only its header, and no payment is unresolved', async () => {
  assert.deepEqual(await report('list'), { code: 0, ok: true, payments: [], next: null })
  assert.deepEqual(await report('unresolved'), { code: 0, ok: true, payments: [], next: null })
  const { out } = await command.run(['payments', 'revenue', '--csv'])
  assert.equal(out, 'day,endpoint,chain,payments,amount,refunded\n')
})

test('payments are listed by state, revenue by day, and payments left open for too long as unresolved', async () => {
  const now = new Date()
  const day = now.toISOString().slice(0, 10)
  const transactions = [hex(32), hex(32), hex(32)]
  for (const txHash of transactions)
    await markSettled(db, await settling('score_lookup', now), { txHash, now, durably: true })
  const txHash = hex(32)
  await markSettled(db, await settling('candidate_search', now), { txHash, now, durably: true })
  const released = await settling('score_lookup', now)
  const ending = { reason: 'insufficient_funds', now, durably: true }
  await releasePayment(db, released, { leaseUntil: now, ...ending })
  const open = await settling('candidate_lookup', minutesAgo(10))
  await markUnknown(db, open, { reason: 'unexpected_settle_error', now })
  await settling('candidate_lookup', minutesAgo(1))

  const found = { txHash: hex(32), now: minutesAgo(1_500), durably: true, isFound: true }
  const undelivered = await settling('score_lookup', minutesAgo(2_000))
  await markSettled(db, undelivered, found)

  assert.equal((await report('list')).payments.length, 8)
  const sums = (await report('states')).states.map(
    ({ state, payments, amount }: Record<string, unknown>) => [state, payments, amount],
  )
  assert.deepEqual(sums, [
    ['released', 1, '10000'],
    ['settled', 5, '50000'],
    ['settling', 1, '10000'],
    ['unknown', 1, '10000'],
  ])
  const { payments } = await report('undelivered')
  assert.deepEqual(
    payments.map(({ id }: { id: string }) => id),
    [undelivered],
  )
  const [{ payer }] = payments
  assert.equal(
    (await report('list', '--payer', payer.toUpperCase().replace('X', 'x'))).payments.length,
    1,
  )
  const [listed] = (await report('list', '--state', 'released')).payments
  assert.equal(listed.reason, 'insufficient_funds')
  assert.equal(listed.amount, '10000')
  assert.deepEqual((await report('revenue', '--since', day)).revenue, [
    {
      day,
      endpoint: 'candidate_search',
      chainId: 84532,
      payments: 1,
      amount: '10000',
      refunded: '0',
    },
    { day, endpoint: 'score_lookup', chainId: 84532, payments: 3, amount: '30000', refunded: '0' },
  ])
  const { out } = await command.run(['payments', 'revenue', '--since', day, '--csv'])
  assert.equal(out.split('\n')[2], `${day},score_lookup,84532,3,30000,0`)
  const unresolved = await report('unresolved')
  assert.equal(unresolved.code, 1)
  assert.deepEqual(
    unresolved.payments.map(({ id }: { id: string }) => id),
    [open],
  )
  const { out: text } = await command.run(['payments', 'unresolved'])
  assert.match(text, /X402_RPC_URL/)
})

test('an invalid state, day, payer or number is rejected', async () => {
  for (const args of [
    ['list', '--state', 'lost'],
    ['list', '--limit', '0'],
    ['list', '--payer', 'abc'],
    ['revenue', '--since', 'yesterday'],
    ['list', '--since', '2026-02-30'],
  ])
    assert.equal((await report(...args)).code, 2, args.join(' '))
})

test('the operator closes an unresolved payment once, as paid or not paid, and the audit log records it', async () => {
  const past = minutesAgo(2)
  const [paid, unpaid] = [
    await settling('score_lookup', minutesAgo(9)),
    await settling('score_lookup', minutesAgo(9), past),
  ]
  const payable = await settling('score_lookup', minutesAgo(9), new Date(Date.now() - 1_000))
  const batched = await settling('score_lookup', minutesAgo(9))
  const inWork = await settling('score_lookup', new Date(Date.now() + 60_000), past)
  const txHash = hex(32)
  const close = (...args: string[]) => report('close', ...args, '--yes')
  assert.equal((await report('close', paid, '--not-paid')).code, 2, 'not confirmed')
  assert.partialDeepStrictEqual(await close(payable, '--not-paid'), { code: 1, ok: false })
  assert.partialDeepStrictEqual(await close(inWork, '--not-paid'), { code: 1, ok: false })
  assert.partialDeepStrictEqual(await close(uuidV7(past), '--not-paid'), { code: 1, ok: false })
  const upper = `0x${txHash.slice(2).toUpperCase()}`
  assert.deepEqual(await close(paid.toUpperCase(), '--paid', upper), {
    code: 0,
    ok: true,
    payment: paid,
    transaction: txHash,
  })
  const again = await close(batched, '--paid', txHash)
  assert.partialDeepStrictEqual(again, { code: 1, error: 'payment_state' })
  assert.match(again.message, new RegExp(`${txHash} made the payment ${paid}`))
  const shared = await close(batched, '--paid', txHash, '--shared')
  assert.partialDeepStrictEqual(shared, { code: 0, transaction: txHash })
  assert.partialDeepStrictEqual(await close(unpaid, '--not-paid'), { code: 0, transaction: null })
  for (const closed of [paid, unpaid])
    assert.partialDeepStrictEqual(await close(closed, '--not-paid'), { code: 1, ok: false })
  for (const args of [
    [paid],
    [paid, '--paid', txHash, '--not-paid'],
    [paid, '--paid', '0x12'],
    ['it', '--not-paid'],
  ])
    assert.equal((await close(...args)).code, 2, args.join(' '))

  const transaction = hex(32)
  const refund = (id: string, by = transaction) => report('refunded', id, '--transaction', by)
  for (const [id, by, error] of [
    [uuidV7(past), transaction, 'payment_not_found'],
    [unpaid, transaction, 'payment_state'],
    [paid, txHash, 'payment_state'],
  ] as const)
    assert.partialDeepStrictEqual(await refund(id, by), { code: 1, error })

  const { payments } = await report('list', '--limit', '999')
  const stateOf = (id: string) => payments.find((each: { id: string }) => each.id === id)?.state
  assert.deepEqual([paid, unpaid, payable, inWork].map(stateOf), [
    'settled',
    'failed',
    'settling',
    'settling',
  ])
  const undelivered = (await report('undelivered')).payments.map(({ id }: { id: string }) => id)
  assert.ok(undelivered.includes(paid))
  assert.partialDeepStrictEqual(await refund(paid), { code: 0, changed: true, transaction })
  assert.partialDeepStrictEqual(await refund(paid), { code: 0, changed: false })
  assert.partialDeepStrictEqual(await refund(paid, hex(32)), { code: 1, error: 'payment_state' })
  assert.equal((await report('undelivered')).payments.length, undelivered.length - 1)
  const refunds = (await report('revenue')).revenue.map(({ refunded }: { refunded: string }) =>
    Number(refunded),
  )
  assert.deepEqual(Math.max(...refunds), 10_000)
  const { out } = await command.run(['audit', 'list', '--json'])
  const payment = JSON.parse(out)
    .entries.filter(({ action }: { action: string }) => action.startsWith('payments.'))
    .map(({ subjects, details }: Record<string, string>) => `${subjects} ${details}`)
  assert.deepEqual(
    payment.sort(),
    [
      `["${paid}"] {"paid":true}`,
      `["${batched}"] {"paid":true}`,
      `["${unpaid}"] {"paid":false}`,
      `["${paid}"] {}`,
    ].sort(),
  )
})

test('the pages of each list of payments, joined, equal one big page', async () => {
  const performer = { db, clock: () => new Date(), services: {} }
  const operator = { kind: 'operator', role: 'viewer', actor: 'x', by: 'x' } as const
  for (const list of [paymentsList, paymentsUndelivered, paymentsUnresolved]) {
    const page = async (limit: number, after: string | null) => {
      const input = { limit, ...(after !== null && { after }) }
      const performed = await perform(performer, list, operator, input)
      assert.ok('output' in performed)
      return performed.output
    }
    const whole = await page(1_000, null)
    const joined: object[] = []
    let after: string | null = null
    do {
      const { payments, next } = await page(1, after)
      joined.push(...payments)
      after = next
    } while (after !== null)
    assert.deepEqual(joined, whole.payments, list.name)
  }
})
