/**
 * An Idempotency-Key identifies a purchase of a payer. Any number of signatures under one key is
 * charged once.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { networks } from '../../src/billing/x402/protocol/terms.ts'
import { sql } from '../../src/platform/db/db.ts'
import { base64Json, payloadV1, payloadV2, signAuthorization } from '../support/build/payments.ts'
import { startFaultyLoop } from '../support/fault/faulty-loop.ts'
import { ask, type Reply } from '../support/start/ask.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  signedHeader,
  terms,
} from '../support/start/paid-loop.ts'
import { eventually } from '../support/start/processes.ts'

const loop = await startFaultyLoop()
const server = await loop.start()
after(() => loop.stop())

chainTest(
  'an Idempotency-Key with two signatures is charged once; 400 for another thing under the same key',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'one-purchase-of-mine' }
    const first = assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    const again = assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    assert.equal(again, first)
    const reused = await pay(server, await signedHeader(wallet), { headers, path: '/things/2' })
    assertError(reused, 400, 'purchase_key_reused')
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'two spellings of a thing are the same thing for a payment and for a purchase',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'one-purchase-spelled-twice' }
    const signed = await signedHeader(wallet)
    const first = assertPaid(await pay(server, signed, { headers, path: '/things/1' }))
    assert.equal(assertPaid(await pay(server, signed, { path: '/things/@1' })), first)
    const again = await pay(server, await signedHeader(wallet), { headers, path: '/things/@1' })
    assert.equal(assertPaid(again), first)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('the same Idempotency-Key of two payers identifies two purchases', async () => {
  const headers = { 'Idempotency-Key': 'a-purchase-of-everybody' }
  const wallets = [await loop.richWallet(), await loop.richWallet()]
  const buyAll = async () => {
    const transactions: string[] = []
    for (const wallet of wallets)
      transactions.push(assertPaid(await pay(server, await signedHeader(wallet), { headers })))
    return transactions
  }
  const transactions = await buyAll()
  assert.equal(new Set(transactions).size, 2)
  assert.deepEqual(await buyAll(), transactions)
  for (const wallet of wallets) assert.equal(await loop.spent(wallet), 10_000)
})

chainTest('an Idempotency-Key identifies a purchase for 24 hours', async () => {
  const wallet = await loop.richWallet()
  const headers = { 'Idempotency-Key': 'a-purchase-of-the-day' }
  const first = assertPaid(await pay(server, await signedHeader(wallet), { headers }))
  const buyAfter = async (hours: number): Promise<string> => {
    const validBefore = String(Math.floor(Date.now() / 1_000) + (hours + 1) * 3_600)
    const header = await signedHeader(wallet, { validBefore })
    let transaction = ''
    await loop.later(hours * 3_600, async () => {
      transaction = assertPaid(await pay(server, header, { headers }))
    })
    return transaction
  }
  assert.equal(await buyAfter(23), first)
  assert.notEqual(await buyAfter(25), first)
  assert.equal(await loop.spent(wallet), 20_000)
})

chainTest(
  'a purchase on another chain does not pay for one under the same key on this chain',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'a-purchase-on-two-chains' }
    const buy = async () => assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    const elsewhere = await buy()
    const payer = wallet.address.toLowerCase()
    await loop.database.db.run(sql`
    update x402_payments set chain_id = ${networks.base.chainId} where payer = ${payer}`)
    const here = await buy()
    assert.notEqual(here, elsewhere)
    assert.equal(await buy(), here)
    assert.equal(await loop.spent(wallet), 20_000)
  },
)

chainTest('the Idempotency-Key header takes precedence over the payment identifier', async () => {
  const wallet = await loop.richWallet()
  const headers = { 'Idempotency-Key': 'the-name-in-the-header' }
  const named = base64Json({
    ...payloadV2(await signAuthorization(wallet, terms), terms),
    extensions: { 'payment-identifier': { info: { id: 'the-name-in-the-payment' } } },
  })
  const first = assertPaid(await pay(server, named, { headers }))
  assert.equal(assertPaid(await pay(server, await signedHeader(wallet), { headers })), first)
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest(
  '402: a payment sent by a third party is rejected at once if another payment has made its purchase',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'a-purchase-that-was-made' }
    assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    const signed = await signAuthorization(wallet, terms)
    await loop.broadcast(signed)
    const reply = await pay(server, base64Json(payloadV1(signed, terms)), { headers })
    assertRefused(reply, 'invalid_transaction_state')
  },
)

chainTest('ten concurrent signatures under one key are charged once', async () => {
  const wallet = await loop.richWallet()
  const headers = { 'Idempotency-Key': 'ten-signatures-at-once' }
  const replies = await Promise.all(
    Array.from({ length: 10 }, async () => pay(server, await signedHeader(wallet), { headers })),
  )
  assert.equal(new Set(replies.map(assertPaid)).size, 1)
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest(
  'a server that waits for a payment held by another server polls the ledger and tries one hold',
  async () => {
    const { db } = loop.database
    const asked = { looks: 0, holds: 0 }
    const waiter = await loop.start({
      db: {
        ...db,
        rows: (statement) => {
          if (/select\s+id, state.* from x402_payments/s.test(statement.text)) asked.looks++
          return db.rows(statement)
        },
        run: (statement) => {
          if (statement.text.includes('insert into x402_payments')) asked.holds++
          return db.run(statement)
        },
      },
    })
    const header = await signedHeader(await loop.richWallet())
    let waiting: Promise<Reply> | undefined
    loop.facilitator.onSettled = async () => {
      loop.facilitator.onSettled = undefined
      waiting = pay(waiter, header)
      await eventually('it has looked again and again', {
        see: () => Promise.resolve(asked.looks > 2),
      })
    }
    const paid = assertPaid(await pay(server, header))
    assert.ok(waiting !== undefined)
    assert.equal(assertPaid(await waiting), paid)
    assert.equal(asked.holds, 1)
    assert.equal(waiter.reads, 2, 'before it knew, and to answer')
  },
)

chainTest(
  'a server without a facilitator serves settled payments again and accepts no new ones',
  async () => {
    const idle = await loop.start({ settings: { facilitator: { kind: 'none', rpcUrl: null } } })
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const challenge = await ask(idle.base, { path: '/things/1' })
    assert.equal(challenge.status, 402)
    assert.equal(idle.fitness(), 'no facilitator is set')
    for (const _ of ['not seen', 'seen'])
      assertError(await pay(idle, header), 503, 'payment_facilitator_unavailable')
    const contract = base64Json(
      payloadV1(
        { ...(await signAuthorization(wallet, terms)), signature: `0x${'ab'.repeat(80)}` },
        terms,
      ),
    )
    assertError(await pay(idle, contract), 503, 'payment_facilitator_unavailable')
    assert.equal(await loop.stateOf(header), undefined)
    const paid = assertPaid(await pay(server, header))
    assert.equal(assertPaid(await pay(idle, header)), paid)
    const another = await signedHeader(wallet)
    const bought = assertPaid(await pay(server, another))
    assert.equal(assertPaid(await pay(idle, another)), bought, 'not seen here before')
    assert.equal(await loop.spent(wallet), 20_000)
    await idle.examine()
    assert.deepEqual(idle.troubles, [])
  },
)
