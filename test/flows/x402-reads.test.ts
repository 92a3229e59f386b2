/**
 * Paid reads of a running server, bought with a wallet. Every 200 is charged once, and no other
 * answer is charged.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after } from 'node:test'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { Compile } from 'typebox/compile'
import { sql } from '../../src/platform/db/db.ts'
import { candidateDetail, publicScore, searchResult } from '../../src/workers/candidates/schema.ts'
import {
  base64Json,
  payloadV1,
  readBase64Json,
  signAuthorization,
  testWallet,
} from '../support/build/payments.ts'
import { ask } from '../support/start/ask.ts'
import {
  assertPaid,
  assertRefused,
  chainTest,
  startPaidLoop,
  terms,
} from '../support/start/paid-loop.ts'
import {
  isReading,
  payFor,
  preparePaidReads,
  prices,
  reads,
  scoreOf,
  signedFor,
} from '../support/start/paid-reads.ts'
import { payTo } from '../support/start/paid-server.ts'
import { eventually, type ServerProcess } from '../support/start/processes.ts'

const loop = await startPaidLoop()
const { db } = loop.database
const { start } = await preparePaidReads(loop)
const { base } = await start()
after(() => loop.stop())

chainTest(
  '200: the official client buys a search, a candidate and a score; each is charged its own price',
  async () => {
    const shapes = { search: searchResult, candidate: candidateDetail, score: publicScore }
    for (const name of ['search', 'candidate', 'score'] as const) {
      const wallet = await loop.richWallet()
      const before = await loop.chain.balanceOf(payTo)
      const client = registerExactEvmScheme(new x402Client(), { signer: wallet })
      const reply = await wrapFetchWithPayment(fetch, client)(`${base}${reads[name]}`)
      assert.equal(reply.status, 200, name)
      const body: unknown = await reply.json()
      assert.ok(Compile(shapes[name]).Check(body), JSON.stringify(body))
      assert.match(JSON.stringify(body), /Ada Lovelace/)
      assert.equal(reply.headers.get('cache-control'), 'private, no-store')
      const receipt = readBase64Json(reply.headers.get('payment-response'))
      assert.equal(receipt['payer'], wallet.address.toLowerCase())
      assert.equal(await loop.spent(wallet), prices[name])
      assert.equal(await loop.chain.balanceOf(payTo), before + BigInt(prices[name]))
    }
  },
)

chainTest('200: a search without a result is charged', async () => {
  const wallet = await loop.richWallet()
  const header = await signedFor(prices.search, wallet)
  const reply = await payFor(base, header, { path: '/api/v1/candidates/search?q=mary' })
  assertPaid(reply)
  assert.equal(JSON.parse(reply.body.toString()).resultCount, 0)
  assert.equal(await loop.spent(wallet), prices.search)
})

chainTest(
  '402: without a payment an answer does not reveal which scores and candidates exist',
  async () => {
    const paths = [
      reads.score,
      `/api/v1/scores/${scoreOf.mary}`,
      `/api/v1/scores/${'0'.repeat(64)}`,
    ]
    for (const path of paths)
      for (const headers of [{}, { 'If-None-Match': '*' }])
        assert.equal((await ask(base, { path, headers })).status, 402)
  },
)

chainTest(
  '404: a hidden and a missing record have the same bytes and are not charged',
  async () => {
    const wallet = await loop.richWallet()
    const pairs = [
      [prices.score, `/api/v1/scores/${scoreOf.mary}`, `/api/v1/scores/${'0'.repeat(64)}`],
      [prices.candidate, '/api/v1/candidates/mary', '/api/v1/candidates/nobody'],
    ] as const
    for (const [price, ...paths] of pairs) {
      const answers = []
      for (const path of paths) {
        const reply = await payFor(base, await signedFor(price, wallet), { path })
        const { date: _, ratelimit: __, 'x-request-id': ___, ...headers } = reply.headers
        answers.push({ status: reply.status, headers, body: reply.body.toString() })
      }
      assert.equal(answers[0]?.status, 404)
      assert.equal(answers[0]?.headers['payment-response'], undefined)
      assert.deepEqual(answers[0], answers[1])
    }
    assert.equal(await loop.spent(wallet), 0)
  },
)

chainTest(
  '400 and 405: invalid parameters and HEAD are rejected before the payment is read, and the payment still buys',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedFor(prices.search, wallet)
    const wrong = ['search?q=a', 'search?q=ada&limit=0', 'search?q=ada&limit=51', 'a']
    for (const path of wrong) {
      const reply = await payFor(base, header, { path: `/api/v1/candidates/${path}` })
      assert.equal(reply.status, 400, path)
    }
    for (const path of Object.values(reads)) {
      const reply = await payFor(base, header, { path, method: 'HEAD' })
      assert.equal(reply.status, 405, path)
      assert.equal(reply.headers['payment-response'], undefined)
    }
    const known = await db.rows(sql`
      select 1 from x402_payments where payer = ${wallet.address.toLowerCase()}`)
    assert.deepEqual(known, [])
    assert.equal(await loop.spent(wallet), 0)
    assertPaid(await payFor(base, header, { path: reads.search }))
    assert.equal(await loop.spent(wallet), prices.search)
  },
)

chainTest('200: a conditional header never turns a paid answer into a 304', async () => {
  const wallet = await loop.richWallet()
  const header = await signedFor(prices.score, wallet)
  const question = { path: reads.score, headers: { 'If-None-Match': '*' } }
  const reply = await payFor(base, header, question)
  assertPaid(reply)
  assert.ok(reply.body.length > 0)
  assert.equal(reply.headers.etag, undefined)
  assert.equal(await loop.spent(wallet), prices.score)
})

chainTest('402: the price of a search buys no candidate, and nothing is transferred', async () => {
  const wallet = await loop.richWallet()
  const header = await signedFor(prices.search, wallet)
  const reply = await payFor(base, header, { path: reads.candidate })
  assertRefused(reply, 'invalid_exact_evm_payload_authorization_value')
  assert.equal(await loop.spent(wallet), 0)
})

chainTest('429: a payer over its limit is not charged; another one is served', async () => {
  const limited = await start({ KEY_CALLS_PER_MINUTE: '2' })
  const wallet = await loop.richWallet()
  const buy = async (payer = wallet) =>
    payFor(limited.base, await signedFor(prices.score, payer), { path: reads.score })
  assertPaid(await buy())
  assertPaid(await buy())
  for (const _ of ['first', 'second']) {
    const denied = await buy()
    assert.equal(denied.status, 429)
    assert.ok(Number(denied.headers['retry-after']) >= 1)
  }
  assert.equal(await loop.spent(wallet), 2 * prices.score)
  const states = sql`
    select state from x402_payments where payer = ${wallet.address.toLowerCase()} order by claimed_at`
  await eventually('the ledger is written', {
    see: async () => {
      const rows = await db.rows<{ state: string }>(states)
      return rows.map(({ state }) => state).join() === 'settled,settled'
    },
  })
  assertPaid(await buy(await loop.richWallet()))
})

chainTest('a forged payment does not count against the limit of the payer it names', async () => {
  const limited = await start({ KEY_CALLS_PER_MINUTE: '2' })
  const wallet = await loop.richWallet()
  const { authorization } = await signAuthorization(wallet, terms)
  const signature = `0x${'ab'.repeat(80)}`
  const named = base64Json(payloadV1({ authorization, signature }, terms))
  for (let i = 0; i < 4; i++) {
    const reply = await payFor(limited.base, named, { path: reads.score })
    assertRefused(reply, 'invalid_exact_evm_payload_signature')
  }
  for (let i = 0; i < 2; i++)
    assertPaid(
      await payFor(limited.base, await signedFor(prices.score, wallet), { path: reads.score }),
    )
})

chainTest('429: invalid payments count against the address of their caller', async () => {
  const limited = await start({ KEY_CALLS_PER_MINUTE: '2' })
  const wallet = await loop.richWallet()
  const { authorization } = await signAuthorization(wallet, terms)
  const signature = `0x${'ab'.repeat(64)}1b`
  const worthless = {
    'no payment': { make: () => '%%%', status: 402 },
    'two that differ': { make: () => 'YQ==, Yg==', status: 400 },
    'of another account': {
      make: () => base64Json(payloadV1({ authorization, signature }, terms)),
      status: 402,
    },
    // Each payment has a new payer, so no payer's limit is reached.
    'of another price': { make: () => signedFor(prices.score + 1, testWallet()), status: 402 },
  }
  for (const [i, [name, { make, status }]] of Object.entries(worthless).entries()) {
    const statuses = []
    for (let tries = 0; tries < 3; tries++) {
      const question = { path: reads.score, from: `10.9.0.${i}` }
      statuses.push((await payFor(limited.base, await make(), question)).status)
    }
    assert.deepEqual(statuses, [status, status, 429], name)
  }
  assert.equal(await loop.spent(wallet), 0)
})

chainTest('a caller that hangs up before the answer is not charged', async () => {
  const wallet = await loop.richWallet()
  const header = await signedFor(prices.score, wallet)
  const payer = wallet.address.toLowerCase()
  const server = await start({ METRICS_PORT: '0' })
  await db.transaction(async (tx) => {
    await tx.rows(sql`lock table score_snapshots in access exclusive mode`)
    const caller = connect({ port: server.port, host: '127.0.0.1' })
    caller.on('error', () => undefined)
    caller.write(`GET ${reads.score} HTTP/1.1\r\nHost: a\r\nX-PAYMENT: ${header}\r\n\r\n`)
    await eventually('the read waits for the table', { see: () => isReading(db) })
    caller.resetAndDestroy()
    await eventually('the server knows', { see: async () => (await connectionsOf(server)) === 0 })
  })
  await eventually('the payment is given back', {
    see: async () => (await db.rows(released(payer))).length === 1,
  })
  assert.equal(await loop.spent(wallet), 0)
})

async function connectionsOf({ out }: ServerProcess): Promise<number> {
  const port = /"metricsPort":(\d+)/.exec(out())?.[1]
  const { body } = await ask(`http://127.0.0.1:${port}`, { path: '/metrics' })
  return Number(/^http_connections (\d+)/m.exec(body.toString())?.[1])
}

const released = (payer: string) => sql`
  select 1 from x402_payments where payer = ${payer} and state = 'released'`
