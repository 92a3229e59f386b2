/**
 * Faults between server, facilitator and chain: a payment is never lost, never charged twice and
 * never served unpaid.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { toFunctionSelector } from 'viem'
import { sql } from '../../src/platform/db/db.ts'
import { UnavailableError } from '../../src/platform/errors.ts'
import { base64Json, payloadV1, signAuthorization } from '../support/build/payments.ts'
import { assertPending, startFaultyLoop } from '../support/fault/faulty-loop.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  sendReverted,
  signedHeader,
  terms,
} from '../support/start/paid-loop.ts'
import { temporaryFolder } from '../support/start/processes.ts'
import { indiscretion } from '../support/start/test-facilitator.ts'

const loop = await startFaultyLoop()
const { facilitator, node, broken, later, stateOf, verifiedThen } = loop
const server = await loop.start()
const secondServer = await loop.start()
const blind = await loop.start({ blind: true })
after(() => loop.stop())

chainTest('200: a remote facilitator verifies and settles', async () => {
  const wallet = await loop.richWallet()
  assertPaid(await pay(server, await signedHeader(wallet)))
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest('200: a facilitator may send null for unset fields', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  const faults = { '/verify': 'nulls', '/settle': 'nulls' } as const
  assertPaid(await broken(faults, () => pay(blind, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

for (const fault of ['request lost', 'answer lost', 'error'] as const)
  chainTest(
    `503: verification fails by ${fault}: nothing is transferred, and the same payment then buys once`,
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
    `503: settlement fails by ${fault}: not paid and not served; the same payment then buys once`,
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

chainTest(
  '200: the answer to a settlement is lost, but the chain shows the payment, so it is served at once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const lost = await broken({ '/settle': 'answer lost' }, () => pay(server, header))
    assert.equal(assertPaid(lost), assertPaid(await pay(server, header)))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: the answer is lost and the node is down: paid but not served; the same payment is served later, charged once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const faults = { '/settle': 'answer lost', node: true } as const
    assertPending(await broken(faults, () => pay(server, header)))
    assert.equal(await loop.spent(wallet), 10_000)
    const settledBefore = facilitator.asked['/settle']
    assertPaid(await pay(secondServer, header))
    assert.equal(facilitator.asked['/settle'], settledBefore)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: the answer is lost and the server has no node: the payment is never served unproven and never charged again',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ '/settle': 'answer lost' }, () => pay(blind, header)))
    assertPending(await pay(blind, header))
    assert.equal(await loop.spent(wallet), 10_000)
    // A server with a node finds the payment on the chain.
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  "402: the local facilitator's simulation fails before sending: nothing is transferred, and the same payment buys later",
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
    // Pauses the token after the simulation for the verification.
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
  '503: a payment that the facilitator claims and the chain does not show is not served until it is paid',
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
      // The payer sends the payment again, and the facilitator makes the same false claim.
      assertPending(await broken({ '/settle': 'false claim' }, () => pay(server, header)))
      assert.equal(await loop.spent(wallet), spent)
      assertPaid(await pay(server, header))
      assert.equal(await loop.spent(wallet), spent + 10_000)
    }
  },
)

chainTest(
  '402 at once: the facilitator reports a transaction that the chain has reverted; the same payment buys later',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    facilitator.claimed = await sendReverted(loop.chain)
    const failed = { '/settle': 'failed transaction' } as const
    assertRefused(await broken(failed, () => pay(server, header)), 'invalid_transaction_state')
    assert.equal(await stateOf(header), 'failed')
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: a failed transaction that the chain does not show as reverted, or that no node can be asked about, leaves the payment open',
  async () => {
    const wallet = await loop.richWallet()
    const mined = assertPaid(await pay(server, await signedHeader(wallet)))
    const reverted = await sendReverted(loop.chain)
    const cases = [
      [server, mined],
      [server, `0x${'ab'.repeat(32)}`],
      [blind, reverted],
    ] as const
    for (const [one, claimed] of cases) {
      facilitator.claimed = claimed
      const header = await signedHeader(wallet)
      assertPending(await broken({ '/settle': 'failed transaction' }, () => pay(one, header)))
      assert.equal(await stateOf(header), 'unknown')
    }
  },
)

chainTest(
  '503: while the node is down, a payment that the facilitator claims is not served',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ node: true }, () => pay(server, header)))
    assert.equal(await loop.spent(wallet), 10_000)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: after a lost answer, a new signature under the same Idempotency-Key is charged only once in total',
  async () => {
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
  },
)

chainTest(
  '200: a payment presented twenty more times while it is held, and once later, is verified once',
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
  '503: the read itself is unavailable: nothing is transferred, and the same payment buys later',
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
  '402: a payer whose funds vanish between verification and settlement is told, and pays later with the same header',
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
  '200: an authorization sent by a third party between verification and settlement is paid, so it is served',
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

chainTest('texts of facilitator and node reach no answer, log or table', async () => {
  const wallet = await loop.richWallet()
  const replies = [
    await broken({ '/verify': 'error' }, async () => pay(server, await signedHeader(wallet))),
    await broken({ '/settle': 'error', node: true }, async () =>
      pay(server, await signedHeader(wallet)),
    ),
  ]
  const rows = await loop.database.db.rows(sql`select to_jsonb(p) as row from x402_payments p`)
  const outputs = [
    ...replies.map(({ headers, body }) => JSON.stringify(headers) + body.toString()),
    ...server.troubles,
    server.logged(),
    JSON.stringify(rows),
  ].join('\n')
  assert.ok(server.troubles.length > 0)
  for (const secret of [indiscretion, 'secret-key', node.url, facilitator.url])
    assert.ok(!outputs.includes(secret), secret)
})

chainTest('402: a paid answer is served again for a limited time only', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  assertPaid(await pay(server, header))
  await later(14 * 60, async () => void assertPaid(await pay(server, header)))
  await later(16 * 60, async () =>
    assertRefused(await pay(server, header), 'invalid_transaction_state'),
  )
})
