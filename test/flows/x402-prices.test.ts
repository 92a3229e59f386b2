/**
 * A price changes while payers hold challenges. A payer pays the price of its challenge until the
 * challenge expires, and the new price after that.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import type { X402Settings } from '../../src/billing/x402/settlement/open.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import type { Db } from '../../src/platform/db/db.ts'
import { UnavailableError } from '../../src/platform/errors.ts'
import { base64Json, payloadV1, payloadV2, signAuthorization } from '../support/build/payments.ts'
import { ask } from '../support/start/ask.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  startLoopServer,
  startPaidLoop,
  terms,
} from '../support/start/paid-loop.ts'
import type { PaidServer } from '../support/start/paid-server.ts'
import { startFacilitator } from '../support/start/test-facilitator.ts'

const loop = await startPaidLoop()
const facilitator = await startFacilitator(loop)
const secrets = [randomBytes(32).toString('hex')] as const
let aheadMs = 0
const clock: Clock = () => new Date(systemClock().getTime() + aheadMs)
const servers: PaidServer[] = []
after(async () => {
  for (const server of servers) await server.stop()
  await facilitator.stop()
  await loop.stop()
})

/** Starts a server that charges `amount` for a score lookup. */
async function asking(amount: string, more: Partial<X402Settings> = {}): Promise<PaidServer> {
  const amounts = { score_lookup: amount, candidate_lookup: '77001', candidate_search: '77002' }
  const settings = { secrets, amounts, ...more }
  const server = await startLoopServer(loop, { clock, settings })
  servers.push(server)
  return server
}

/** Returns the challenge that a caller without a payment gets. */
async function challengeOf(server: PaidServer): Promise<{ amount: string; nonce: string }> {
  const reply = await ask(server.base, { path: '/things/1' })
  const { amount, extra } = JSON.parse(reply.body.toString()).accepts[0]
  return { amount, nonce: extra.nonce }
}

/** Seconds after which a challenge of now has expired. */
const overSeconds = 61 + terms.maxTimeoutSeconds

async function later(seconds: number, work: () => Promise<void>): Promise<void> {
  aheadMs = seconds * 1_000
  try {
    await work()
  } finally {
    aheadMs = 0
  }
}

type Wallet = Awaited<ReturnType<typeof loop.richWallet>>

const longLived = () => ({ validBefore: String(Math.floor(Date.now() / 1_000) + 7_200) })

async function signedV1(wallet: Wallet, amount: string): Promise<string> {
  const quote = { ...terms, amount }
  return base64Json(payloadV1(await signAuthorization(wallet, quote, longLived()), quote))
}

async function signedV2(wallet: Wallet, amount: string, extra = {}): Promise<string> {
  const quote = { ...terms, amount }
  return base64Json(payloadV2(await signAuthorization(wallet, quote, longLived()), quote, extra))
}

const valueReason = 'invalid_exact_evm_payload_authorization_value'
const termsReason = 'invalid_payment_requirements'

for (const [change, former, present] of [
  ['raised', '11000', '12000'],
  ['lowered', '14000', '13000'],
] as const)
  chainTest(
    `a price is ${change}: payers of both versions pay the price of their challenge until it expires, and the new price afterwards`,
    async () => {
      const before = await asking(former)
      const quote = await challengeOf(before)
      assert.equal(quote.amount, former)
      const now = await asking(present)
      const wallet = await loop.richWallet()
      let spent = 0
      const buys = async (header: string, amount: string): Promise<void> => {
        assertPaid(await pay(now, header))
        spent += Number(amount)
        assert.equal(await loop.spent(wallet), spent)
      }
      await buys(await signedV1(wallet, former), former)
      await buys(await signedV2(wallet, former), former)
      await buys(await signedV2(wallet, former, { nonce: quote.nonce }), former)
      await buys(await signedV1(wallet, present), present)
      await later(terms.maxTimeoutSeconds - 1, async () =>
        buys(await signedV1(wallet, former), former),
      )
      const quoted = await signedV2(wallet, former, { nonce: quote.nonce })
      await later(terms.maxTimeoutSeconds + 30, async () =>
        assertRefused(await pay(now, quoted), termsReason),
      )
      await later(overSeconds, async () => {
        assertRefused(await pay(now, await signedV1(wallet, former)), valueReason)
        assertRefused(await pay(now, await signedV2(wallet, former)), termsReason)
        assertRefused(await pay(now, quoted), termsReason)
        assert.equal(await loop.spent(wallet), spent)
        await buys(await signedV1(wallet, present), present)
        await buys(await signedV2(wallet, present), present)
      })
    },
  )

chainTest('two servers with different prices accept each other’s challenges', async () => {
  const [one, two] = [await asking('15000'), await asking('16000')]
  await challengeOf(one)
  await challengeOf(two)
  const wallet = await loop.richWallet()
  assertPaid(await pay(one, await signedV1(wallet, '16000')))
  assertPaid(await pay(two, await signedV1(wallet, '15000')))
  assert.equal(await loop.spent(wallet), 31_000)
})

chainTest('every challenge extends the life of its price', async () => {
  const before = await asking('17000')
  await challengeOf(before)
  await later(59, async () => void (await challengeOf(before)))
  await later(120, async () => void (await challengeOf(before)))
  const now = await asking('18000')
  const wallet = await loop.richWallet()
  await later(120 + terms.maxTimeoutSeconds, async () => {
    assertPaid(await pay(now, await signedV1(wallet, '17000')))
  })
})

chainTest(
  'a challenge with a shorter life does not shorten the life of an earlier one',
  async () => {
    await challengeOf(await asking('24000'))
    await challengeOf(await asking('24000', { maxTimeoutSeconds: 60 }))
    const now = await asking('25000')
    const wallet = await loop.richWallet()
    await later(terms.maxTimeoutSeconds - 1, async () => {
      assertPaid(await pay(now, await signedV1(wallet, '24000')))
    })
  },
)

chainTest('503: a price that cannot be stored is not quoted, on any attempt', async () => {
  const { db } = loop.database
  const run: Db['run'] = (statement) =>
    statement.text.includes('x402_prices')
      ? Promise.reject(new UnavailableError('no database'))
      : db.run(statement)
  const server = await startLoopServer(loop, { clock, db: { ...db, run } })
  servers.push(server)
  for (let i = 0; i < 2; i++)
    assertError(await ask(server.base, { path: '/things/1' }), 503, 'unavailable')
})

chainTest(
  '402: an amount never quoted for this read, or a forged signature, buys nothing',
  async () => {
    const now = await asking('19000')
    await challengeOf(now)
    const wallet = await loop.richWallet()
    for (const amount of ['18999', '19001', '1', '0', '77001', '77002'])
      assertRefused(await pay(now, await signedV1(wallet, amount)), valueReason)
    const former = await asking('21000')
    await challengeOf(former)
    const { authorization, signature } = await signAuthorization(wallet, terms)
    const forged = { authorization: { ...authorization, value: '21000' }, signature }
    assertRefused(await pay(now, base64Json(payloadV1(forged, terms))), valueReason)
    assert.equal(await loop.spent(wallet), 0)
  },
)

chainTest(
  'an accepted payment stays accepted: after a change of price and payee it is served again, charged once',
  async () => {
    const remote = {
      kind: 'remote',
      url: facilitator.url,
      authorization: null,
      rpcUrl: loop.chain.url,
    } as const
    const before = await asking('22000', { facilitator: remote })
    await challengeOf(before)
    const wallet = await loop.richWallet()
    const paid = await signedV1(wallet, '22000')
    const transaction = assertPaid(await pay(before, paid))
    const open = await signedV1(wallet, '22000')
    facilitator.faults['/settle'] = 'request lost'
    assertError(await pay(before, open), 503, 'payment_settlement_pending')
    facilitator.faults['/settle'] = 'none'
    const payTo = '0x00000000000000000000000000000000000000bb'
    const now = await asking('23000', { facilitator: remote, payTo })
    await later(overSeconds, async () => {
      assert.equal(assertPaid(await pay(now, paid)), transaction)
      const elsewhere = await pay(now, paid, { path: '/things/2' })
      assertRefused(elsewhere, 'invalid_exact_evm_payload_recipient_mismatch')
      assertPaid(await pay(now, open))
      const fresh = await signedV1(wallet, '22000')
      assertRefused(await pay(now, fresh), 'invalid_exact_evm_payload_recipient_mismatch')
    })
    assert.equal(await loop.spent(wallet), 44_000)
  },
)

chainTest('429: beyond the limit the server does not look up former prices', async () => {
  let looks = 0
  const { db } = loop.database
  const counting: Db = {
    ...db,
    rows: (statement) => {
      if (/select\s+id, state.* from x402_payments/s.test(statement.text)) looks++
      return db.rows(statement)
    },
  }
  const server = await startLoopServer(loop, { db: counting, perMinute: 2 })
  servers.push(server)
  const other = { ...terms, amount: '12345' }
  const statuses = []
  for (let i = 0; i < 4; i++) {
    const signed = await signAuthorization(await loop.richWallet(), other)
    statuses.push((await pay(server, base64Json(payloadV1(signed, other)))).status)
  }
  assert.deepEqual(statuses, [402, 402, 429, 429])
  assert.equal(looks, 2)
})
