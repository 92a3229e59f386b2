/** What fails between us, the facilitator and the chain: a payment is never lost, never taken twice, never served unpaid. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { toFunctionSelector } from 'viem'
import { sql } from '../../src/platform/db/db.ts'
import { UnavailableError } from '../../src/platform/http/errors.ts'
import { base64Json, payloadV1, signAuthorization } from '../support/build/payments.ts'
import { assertPending, startFaultyLoop } from '../support/fault/faulty-loop.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  signedHeader,
  terms,
} from '../support/start/paid-loop.ts'
import { temporaryFolder } from '../support/start/processes.ts'
import { indiscretion } from '../support/start/test-facilitator.ts'

const loop = await startFaultyLoop()
const { facilitator, node, broken, later, stateOf, verifiedThen } = loop
const server = await loop.start()
const twin = await loop.start()
const blind = await loop.start({ blind: true })
after(() => loop.stop())

chainTest('200: a remote facilitator verifies and settles', async () => {
  const wallet = await loop.richWallet()
  assertPaid(await pay(server, await signedHeader(wallet)))
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest('200: a facilitator that says null of what it does not say', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  const faults = { '/verify': 'nulls', '/settle': 'nulls' } as const
  assertPaid(await broken(faults, () => pay(blind, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

for (const fault of ['request lost', 'answer lost', 'error'] as const)
  chainTest(
    `503: at verification ${fault}: nothing moved; the same payment then buys, once`,
    async () => {
      const wallet = await loop.richWallet()
      const header = await signedHeader(wallet)
      const reply = await broken({ '/verify': fault }, () => pay(server, header))
      assertError(reply, 503, 'payment_facilitator_unavailable')
      assert.equal(reply.headers['retry-after'], '1')
      assert.equal(await stateOf(header), 'released')
      assert.equal(await loop.spent(wallet), 0)
      assertPaid(await pay(server, header))
      assert.equal(await loop.spent(wallet), 10_000)
    },
  )

for (const fault of ['request lost', 'error'] as const)
  chainTest(
    `503: at settlement ${fault}: not paid, not served; the same payment then buys, once`,
    async () => {
      for (const one of [server, blind]) {
        const wallet = await loop.richWallet()
        const header = await signedHeader(wallet)
        assertPending(await broken({ '/settle': fault }, () => pay(one, header)))
        assert.equal(await stateOf(header), 'unknown')
        assert.equal(await loop.spent(wallet), 0)
        assertPaid(await pay(one, header))
        assert.equal(await loop.spent(wallet), 10_000)
      }
    },
  )

chainTest('200: the answer to settling is lost, but the chain tells: served at once', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  const lost = await broken({ '/settle': 'answer lost' }, () => pay(server, header))
  assert.equal(assertPaid(lost), assertPaid(await pay(server, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest(
  '503: answer lost and node down: paid, not served; the same payment is served later, charged once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const faults = { '/settle': 'answer lost', node: true } as const
    assertPending(await broken(faults, () => pay(server, header)))
    assert.equal(await loop.spent(wallet), 10_000)
    const settledBefore = facilitator.asked['/settle']
    assertPaid(await pay(twin, header))
    assert.equal(facilitator.asked['/settle'], settledBefore)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503 for ever: answer lost and no node to ask: never served unpaid, never charged again',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ '/settle': 'answer lost' }, () => pay(blind, header)))
    assertPending(await pay(blind, header))
    assert.equal(await loop.spent(wallet), 10_000)
    // A server with a node finds out.
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '402: the node of a local facilitator refuses the simulation before sending: nothing moved, and the payment still buys',
  async () => {
    const relayerKeyFile = join(temporaryFolder(), 'relayer.key')
    writeFileSync(relayerKeyFile, loop.chain.relayerKey, { mode: 0o600 })
    const facilitator = { kind: 'local', rpcUrl: node.url, relayerKeyFile } as const
    const local = await loop.start({ settings: { facilitator } })
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const transferCall = toFunctionSelector(
      'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
    )
    // After the simulation of the verification.
    node.onAnswered = async (question) => {
      if (question.includes(transferCall)) await loop.chain.setPaused(true)
    }
    try {
      assertRefused(await pay(local, header), 'invalid_transaction_state')
    } finally {
      node.onAnswered = undefined
      await loop.chain.setPaused(false)
    }
    assert.equal(await stateOf(header), 'failed')
    assert.equal(await loop.spent(wallet), 0)
    assertPaid(await pay(local, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: a remote facilitator claims a payment that the chain does not show: not served; once it is paid, served',
  async () => {
    const wallet = await loop.richWallet()
    const earlier = assertPaid(await pay(server, await signedHeader(wallet)))
    const otherPayer = assertPaid(await pay(server, await signedHeader(await loop.richWallet())))
    for (const claimed of [earlier, otherPayer, `0x${'ab'.repeat(32)}`]) {
      const header = await signedHeader(wallet)
      facilitator.claimed = claimed
      const spent = await loop.spent(wallet)
      assertPending(await broken({ '/settle': 'false claim' }, () => pay(server, header)))
      assert.equal(await stateOf(header), 'unknown')
      // The payer sends it again; the claim is as false as before.
      assertPending(await broken({ '/settle': 'false claim' }, () => pay(server, header)))
      assert.equal(await loop.spent(wallet), spent)
      assertPaid(await pay(server, header))
      assert.equal(await loop.spent(wallet), spent + 10_000)
    }
  },
)

chainTest(
  '503: a remote facilitator claims a payment while the node is down: not served before the node tells',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ node: true }, () => pay(server, header)))
    assert.equal(await loop.spent(wallet), 10_000)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('503: a lost answer, then a new signature under the same key: one charge', async () => {
  const wallet = await loop.richWallet()
  const headers = { 'Idempotency-Key': 'purchase-with-a-lost-answer' }
  const faults = { '/settle': 'answer lost', node: true } as const
  const first = await signedHeader(wallet)
  assertPending(await broken(faults, () => pay(server, first, { headers })))
  const second = await signedHeader(wallet)
  assertPaid(await pay(server, second, { headers }))
  assert.equal(await stateOf(first), 'settled')
  assert.equal(await stateOf(second), undefined, 'it was never taken up')
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest(
  '200: a payment that is shown twenty times more while it is held, and again, is verified once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const before = facilitator.asked['/verify']
    let others: ReturnType<typeof pay>[] | undefined
    const first = await verifiedThen(
      async () => {
        if (others !== undefined) return
        while ((await stateOf(header)) !== 'settling') await turn()
        others = Array.from({ length: 20 }, () => pay(server, header))
      },
      () => pay(server, header),
    )
    const replies = [first, ...(await Promise.all(others ?? [])), await pay(server, header)]
    assert.equal(replies.length, 22)
    assert.equal(new Set(replies.map(assertPaid)).size, 1)
    assert.equal(facilitator.asked['/verify'], before + 1)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: the work itself is not available: nothing moved, and the payment still buys',
  async () => {
    let isAway = true
    const shaky = await loop.start({
      read: (id) =>
        isAway
          ? Promise.reject(new UnavailableError('no database'))
          : Promise.resolve({ status: 200, body: { id } }),
    })
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertError(await pay(shaky, header), 503, 'unavailable')
    assert.equal(await stateOf(header), 'released')
    isAway = false
    assertPaid(await pay(shaky, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '402: an authorization cancelled between verification and settlement buys nothing',
  async () => {
    const wallet = await loop.richWallet()
    const nonce = `0x${randomBytes(32).toString('hex')}`
    const header = await signedHeader(wallet, { nonce })
    const reply = await verifiedThen(
      () => loop.cancel(wallet, nonce),
      () => pay(server, header),
    )
    assertRefused(reply, 'invalid_transaction_state')
    assert.equal(await loop.spent(wallet), 0)
  },
)

chainTest(
  '402: a payer that has nothing left between verification and settlement is told, and pays by the same header later',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const reply = await verifiedThen(
      () => loop.chain.setBalance(wallet.address, 0n),
      () => pay(server, header),
    )
    assertRefused(reply, 'insufficient_funds')
    assert.equal(await stateOf(header), 'failed')
    await loop.chain.setBalance(wallet.address, 1_000_000n)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: somebody else sends the authorization first, in the middle of the sale: it was paid, so it is served',
  async () => {
    const wallet = await loop.richWallet()
    const signed = await signAuthorization(wallet, terms)
    const header = base64Json(payloadV1(signed, terms))
    assertPaid(
      await verifiedThen(
        () => loop.broadcast(signed),
        () => pay(server, header),
      ),
    )
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('what a facilitator and a node say reaches no answer, no log and no ledger', async () => {
  const wallet = await loop.richWallet()
  const replies = [
    await broken({ '/verify': 'error' }, async () => pay(server, await signedHeader(wallet))),
    await broken({ '/settle': 'error', node: true }, async () =>
      pay(server, await signedHeader(wallet)),
    ),
  ]
  const rows = await loop.database.db.rows(sql`select to_jsonb(p) as row from x402_payments p`)
  const told = [
    ...replies.map(({ headers, body }) => JSON.stringify(headers) + body.toString()),
    ...server.troubles,
    server.logged(),
    JSON.stringify(rows),
  ].join('\n')
  assert.ok(server.troubles.length > 0)
  for (const secret of [indiscretion, 'secret-key', node.url, facilitator.url])
    assert.ok(!told.includes(secret), secret)
})

chainTest('402: a paid answer is not given again for ever', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  assertPaid(await pay(server, header))
  await later(14 * 60, async () => void assertPaid(await pay(server, header)))
  await later(16 * 60, async () =>
    assertRefused(await pay(server, header), 'invalid_transaction_state'),
  )
})
