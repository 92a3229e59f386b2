/**
 * The whole payment loop on a local chain: challenge, signature, verification, settlement, receipt.
 * Both sides run the official code.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after } from 'node:test'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import type { Authorization } from '../../src/billing/x402/protocol/payload.ts'
import { sql } from '../../src/platform/db/db.ts'
import {
  base64Json,
  malleated,
  payloadV1,
  payloadV2,
  readBase64Json,
  signAuthorization,
  testWallet,
} from '../support/build/payments.ts'
import { ask } from '../support/start/ask.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  receiptOf,
  signedHeader,
  startLoopServer,
  startPaidLoop,
  terms,
} from '../support/start/paid-loop.ts'
import { payTo } from '../support/start/paid-server.ts'
import { eventually } from '../support/start/processes.ts'
import { payWithX402Fetch } from '../support/start/x402-fetch.ts'

const loop = await startPaidLoop()
const server = await startLoopServer(loop)
const second = await startLoopServer(loop, { settings: { headerVersion: 2 } })
after(async () => {
  await second.stop()
  await server.stop()
  await loop.stop()
})

chainTest('402: a request without a payment gets a challenge, and nothing is stored', async () => {
  const reply = await ask(server.base, { path: '/things/1' })
  assert.equal(reply.status, 402)
  assert.deepEqual(
    readBase64Json(reply.headers['payment-required']),
    JSON.parse(reply.body.toString()),
  )
  assert.equal(reply.headers['payment-response'], undefined)
  assert.deepEqual(await loop.database.db.rows(sql`select 1 from x402_payments`), [])
})

chainTest(
  '402: if the node fails the simulation of a transfer, nothing is transferred; the same payment buys later',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    await loop.chain.setPaused(true)
    try {
      assertRefused(await pay(server, header), 'invalid_transaction_state')
    } finally {
      await loop.chain.setPaused(false)
    }
    assert.equal(await loop.spent(wallet), 0)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: the official client of both versions pays the challenge and gets a receipt',
  async () => {
    const wallet = await loop.richWallet()
    const before = await loop.chain.balanceOf(payTo)
    const fetchPaid = wrapFetchWithPayment(
      fetch,
      registerExactEvmScheme(new x402Client(), { signer: wallet }),
    )
    const reply = await fetchPaid(`${server.base}/things/1`)
    assert.equal(reply.status, 200)
    assert.deepEqual(await reply.json(), { id: '1' })
    const receipt = readBase64Json(reply.headers.get('payment-response'))
    assert.deepEqual(receipt, {
      success: true,
      transaction: receipt['transaction'],
      network: 'base-sepolia',
      payer: wallet.address.toLowerCase(),
    })
    assert.equal(await loop.chain.balanceOf(payTo), before + 10_000n)
  },
)

chainTest('the version 1 client of these tests has the lines of docs/pay-with-x402.md', () => {
  const page = readFileSync('docs/pay-with-x402.md', 'utf8')
  const [, lines = ''] = /`x402-fetch`[^`]*```ts example\n(.*?)```/s.exec(page) ?? []
  assert.match(lines, /wrapFetchWithPayment/)
  assert.ok(readFileSync('test/clients/x402-fetch/pay.mjs', 'utf8').includes(lines))
})

chainTest(
  '200: the official client of version 1 pays the challenge and reads its receipt',
  async () => {
    const privateKey = `0x${randomBytes(32).toString('hex')}` as const
    const wallet = privateKeyToAccount(privateKey)
    await loop.chain.setBalance(wallet.address, 1_000_000n)
    const order = { url: `${server.base}/things/1`, privateKey, purchaseId: 'of-the-first-family' }
    const { steps, receipt } = await payWithX402Fetch(order)
    assert.deepEqual(
      steps.map(({ status, payment }) => [status, payment !== null]),
      [
        [402, false],
        [200, true],
      ],
    )
    assert.equal(readBase64Json(steps[1]?.payment)['x402Version'], 1)
    assert.equal(steps[1]?.body, '{"id":"1"}')
    assert.deepEqual(receipt, {
      success: true,
      transaction: receipt['transaction'],
      network: 'base-sepolia',
      payer: wallet.address.toLowerCase(),
    })
    assert.match(String(receipt['transaction']), /^0x[0-9a-f]{64}$/)
    const again = await payWithX402Fetch(order)
    assert.deepEqual(again.receipt, receipt, 'signed anew under the same key: the same purchase')
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'the lines of docs/pay-with-x402.md pay, and a second call under the same key is not charged',
  async () => {
    const page = readFileSync('docs/pay-with-x402.md', 'utf8')
    const [, lines] = /```ts example\n(.*?registerExactEvmScheme.*?)```/s.exec(page) ?? []
    const names =
      'registerExactEvmScheme, x402Client, wrapFetchWithPayment, signer, url, purchaseId'
    const module = `export default async ({ ${names} }) => { ${lines}; return answer }`
    const { default: run } = await import(`data:text/javascript,${encodeURIComponent(module)}`)
    const wallet = await loop.richWallet()
    const url = `${server.base}/things/1`
    const official = { registerExactEvmScheme, x402Client, wrapFetchWithPayment }
    const given = { ...official, signer: wallet, url, purchaseId: 'of-the-documentation' }
    const answers = [await run(given), await run(given)]
    for (const answer of answers) assert.equal(answer.status, 200)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: two payments that the official client names by the payment identifier are charged once',
  async () => {
    const wallet = await loop.richWallet()
    const client = registerExactEvmScheme(new x402Client(), { signer: wallet })
    // `appendPaymentIdentifierToExtensions` of @x402/extensions names a purchase in this way, and
    // only if the challenge declares the extension.
    client.onBeforePaymentCreation(async ({ paymentRequired }) => {
      const declared = Object(paymentRequired.extensions?.['payment-identifier'])
      if (typeof declared.info?.required === 'boolean')
        declared.info.id = 'pay_7d5d747be160e280504c099d984bcfe0'
    })
    const fetchPaid = wrapFetchWithPayment(fetch, client)
    const buy = async () => {
      const { headers } = await fetchPaid(`${second.base}/things/1`)
      return readBase64Json(headers.get('payment-response'))
    }
    assert.deepEqual(await buy(), await buy())
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: a client that knows only version 2 pays if the operator chose the header of version 2',
  async () => {
    const wallet = await loop.richWallet()
    const { ExactEvmScheme } = await import('@x402/evm/exact/client')
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(wallet))
    const fetchPaid = wrapFetchWithPayment(fetch, client)
    const reply = await fetchPaid(`${second.base}/things/1`)
    assert.equal(reply.status, 200)
    assert.equal(readBase64Json(reply.headers.get('payment-response'))['network'], 'eip155:84532')
    assert.equal(await loop.spent(wallet), 10_000)
    await assert.rejects(fetchPaid(`${server.base}/things/1`), /version/)
  },
)

chainTest(
  '200: a payment built by hand is accepted in either version and either header',
  async () => {
    const wallet = await loop.richWallet()
    for (const name of ['X-PAYMENT', 'PAYMENT-SIGNATURE'])
      for (const payload of [payloadV1, payloadV2]) {
        const header = base64Json(payload(await signAuthorization(wallet, terms), terms))
        assertPaid(await ask(server.base, { path: '/things/1', headers: { [name]: header } }))
      }
    assert.equal(await loop.spent(wallet), 40_000)
  },
)

chainTest(
  '200: fifty concurrent copies of a payment on two servers are charged once and get the same receipt',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => pay(i % 2 === 0 ? server : second, header)),
    )
    const transactions = new Set(replies.map(assertPaid))
    assert.equal(transactions.size, 1)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: twenty concurrent payers through one relayer on two servers are charged once each',
  async () => {
    const wallets = await Promise.all(Array.from({ length: 20 }, loop.richWallet))
    const replies = await Promise.all(
      wallets.map(async (wallet, i) =>
        pay(i % 2 === 0 ? server : second, await signedHeader(wallet)),
      ),
    )
    for (const reply of replies) assertPaid(reply)
    for (const wallet of wallets) assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '402: a payment for one thing buys no other, and nothing more is transferred',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPaid(await pay(server, header))
    assertRefused(await pay(server, header, { path: '/things/2' }), 'invalid_transaction_state')
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '404: a missing thing is not charged, and the payment still buys an existing one',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const reply = await pay(server, header, { path: '/things/404' })
    assert.equal(reply.status, 404)
    assert.equal(reply.headers['payment-response'], undefined)
    assert.equal(await loop.spent(wallet), 0)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('402: a tampered payment is rejected and nothing is transferred', async () => {
  const wallet = await loop.richWallet()
  const signed = await signAuthorization(wallet, terms)
  for (const [name, header, reason] of await tamperedPayments(wallet, signed)) {
    const reply = await pay(server, header)
    assert.equal(reply.status, 402, name)
    assert.equal(receiptOf(reply)['errorReason'], reason, name)
  }
  assert.equal(await loop.spent(wallet), 0)
  assertPaid(await pay(server, base64Json(payloadV1(signed, terms))))
})

/** Headers that hold no payload at all. */
const notPayloads: [string, string, string][] = [
  ['null', base64Json(null), 'invalid_payload'],
  ['a number', base64Json(1), 'invalid_payload'],
  ['half a JSON', Buffer.from('{"x402Version":1').toString('base64'), 'invalid_payload'],
  ['base64url', base64Json({ '?': '???>>>' }).replaceAll('/', '_'), 'invalid_payload'],
  [
    'a duplicate member',
    Buffer.from('{"x402Version":1,"x402Version":2}').toString('base64'),
    'invalid_payload',
  ],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00]).toString('base64'), 'invalid_payload'],
]

/** Returns changed copies of a good payment: the name of the change, the header, and the error. */
async function tamperedPayments(
  wallet: Parameters<typeof signAuthorization>[0],
  signed: Awaited<ReturnType<typeof signAuthorization>>,
): Promise<[string, string, string][]> {
  const seconds = Math.floor(Date.now() / 1_000)
  const changed = (over: Partial<Authorization>) =>
    base64Json(payloadV1({ ...signed, authorization: { ...signed.authorization, ...over } }, terms))
  const other = testWallet()
  const v2 = payloadV2(signed, terms)
  const flipped = `${signed.signature.slice(0, 10)}${signed.signature[10] === '0' ? '1' : '0'}${signed.signature.slice(11)}`
  const signatureReason = 'invalid_exact_evm_payload_signature'
  return [
    ['value', changed({ value: '1' }), 'invalid_exact_evm_payload_authorization_value'],
    ['to', changed({ to: other.address }), 'invalid_exact_evm_payload_recipient_mismatch'],
    ['from', changed({ from: other.address }), signatureReason],
    ['nonce', changed({ nonce: `0x${'1'.repeat(64)}` }), signatureReason],
    ['validAfter', changed({ validAfter: '0' }), signatureReason],
    ['validBefore', changed({ validBefore: String(seconds + 301) }), signatureReason],
    ['network', base64Json({ ...payloadV1(signed, terms), network: 'base' }), 'invalid_network'],
    ['scheme', base64Json({ ...payloadV1(signed, terms), scheme: 'upto' }), 'unsupported_scheme'],
    [
      'version',
      base64Json({ ...payloadV1(signed, terms), x402Version: 3 }),
      'invalid_x402_version',
    ],
    [
      'asset',
      base64Json(payloadV2(signed, { ...terms, asset: payTo })),
      'invalid_payment_requirements',
    ],
    ['no accepted', base64Json({ ...v2, accepted: undefined }), 'invalid_payload'],
    ['signature', base64Json(payloadV1({ ...signed, signature: flipped }, terms)), signatureReason],
    [
      'zero signature',
      base64Json(payloadV1({ ...signed, signature: `0x${'0'.repeat(130)}` }, terms)),
      signatureReason,
    ],
    [
      'contract signature',
      base64Json(payloadV1({ ...signed, signature: `0x${'1'.repeat(200)}` }, terms)),
      signatureReason,
    ],
    [
      'expired',
      await signedHeader(wallet, { validBefore: String(seconds - 1) }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'not yet',
      await signedHeader(wallet, { validAfter: String(seconds + 60) }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    ['no funds', await signedHeader(testWallet()), 'insufficient_funds'],
    ['garbage', '!!!', 'invalid_payload'],
    [
      'a network that is no name',
      base64Json({ ...payloadV1(signed, terms), network: 'x'.repeat(4_000) }),
      'invalid_network',
    ],
    ...notPayloads,
    ['a value of 300 bits', changed({ value: (2n ** 300n).toString() }), 'invalid_payload'],
    ['a negative value', changed({ value: '-10000' }), 'invalid_payload'],
    ['a value in hex', changed({ value: '0x2710' }), 'invalid_payload'],
    ['a short nonce', changed({ nonce: '0x1' }), 'invalid_payload'],
    [
      's beyond half the order',
      base64Json(payloadV1({ ...signed, signature: malleated(signed.signature) }, terms)),
      signatureReason,
    ],
    [
      'v of another kind',
      base64Json(payloadV1({ ...signed, signature: `${signed.signature.slice(0, -2)}00` }, terms)),
      signatureReason,
    ],
    ['an array', base64Json([payloadV1(signed, terms)]), 'invalid_payload'],
    [
      'another domain',
      base64Json(
        payloadV1(await signAuthorization(wallet, { ...terms, assetName: 'USD Coin' }), terms),
      ),
      signatureReason,
    ],
  ]
}

chainTest(
  '400: two different payment headers or an overlong one are rejected and nothing is transferred',
  async () => {
    const wallet = await loop.richWallet()
    const [one, two] = [await signedHeader(wallet), await signedHeader(wallet)]
    for (const headers of [{ 'PAYMENT-SIGNATURE': two }, { 'X-PAYMENT': 'A'.repeat(8_196) }]) {
      const reply = await pay(server, one, { headers })
      assertError(reply, 400, 'invalid_payment')
    }
    assert.equal(await loop.spent(wallet), 0)
  },
)

chainTest('402: an authorization cancelled by its payer buys nothing', async () => {
  const wallet = await loop.richWallet()
  const nonce = `0x${randomBytes(32).toString('hex')}`
  const header = await signedHeader(wallet, { nonce })
  await loop.cancel(wallet, nonce)
  assertRefused(await pay(server, header), 'invalid_transaction_state')
  assert.equal(await loop.spent(wallet), 0)
})

chainTest(
  '200: an authorization that a third party has sent earlier is paid, so it is served for one thing, once',
  async () => {
    const wallet = await loop.richWallet()
    const signed = await signAuthorization(wallet, terms)
    await loop.broadcast(signed)
    const header = base64Json(payloadV1(signed, terms))
    const transaction = assertPaid(await pay(server, header))
    assert.equal(assertPaid(await pay(second, header)), transaction)
    assertRefused(await pay(server, header, { path: '/things/2' }), 'invalid_transaction_state')
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('402: an authorization that was sent earlier to another payee buys nothing', async () => {
  const wallet = await loop.richWallet()
  const nonce = `0x${randomBytes(32).toString('hex')}`
  const elsewhere = { ...terms, payTo: testWallet().address }
  await loop.broadcast(await signAuthorization(wallet, elsewhere, { nonce }))
  const header = await signedHeader(wallet, { nonce })
  assertRefused(await pay(server, header), 'invalid_transaction_state')
  assert.equal(await loop.spent(wallet), 10_000, 'the payment to another address')
})

chainTest(
  '402: a signature that only the chain can check is checked before any write and delays no purchase of the payer it names',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'a-purchase-of-the-payer' }
    const forged = async (): Promise<string> => {
      const { authorization } = await signAuthorization(wallet, terms)
      const signature = `0x${randomBytes(100).toString('hex')}`
      return base64Json(payloadV1({ authorization, signature }, terms))
    }
    const attacks = Array.from({ length: 8 }, async () => pay(server, await forged(), { headers }))
    const bought = await pay(second, await signedHeader(wallet), { headers })
    assertPaid(bought)
    for (const reply of await Promise.all(attacks))
      assertRefused(reply, 'invalid_exact_evm_payload_signature')
    const payer = wallet.address.toLowerCase()
    const { db } = loop.database
    const states = () =>
      db.rows<{ state: string }>(sql`select state from x402_payments where payer = ${payer}`)
    assert.equal((await states()).length, 1)
    // The answer leaves while the settlement is being stored.
    await eventually('the payment is settled', {
      see: async () => (await states())[0]?.state === 'settled',
    })
    assert.equal(await loop.spent(wallet), 10_000)
  },
)
