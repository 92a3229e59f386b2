/** What fails between us, the facilitator and the chain: a payment is never lost, never taken twice, never served unpaid. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { after } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { type Db, sql } from '../../src/platform/db.ts'
import { UnavailableError } from '../../src/platform/errors.ts'
import type { X402Settings } from '../../src/x402/open.ts'
import { listUnserved } from '../../src/x402/reports-store.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  signedHeader,
  startLoopServer,
  startPaidLoop,
  terms,
} from '../support/paid-loop.ts'
import { base64Json, payloadV1, signAuthorization } from '../support/payments.ts'
import { indiscretion, startFacilitator, startNode } from '../support/test-facilitator.ts'

const loop = await startPaidLoop()
const facilitator = await startFacilitator(loop)
const node = await startNode(loop)
const secrets = [randomBytes(32).toString('hex')] as const
const remote = (rpcUrl: string | null): Partial<X402Settings> => ({
  secrets,
  facilitator: { kind: 'remote', url: facilitator.url, authorization: null, rpcUrl },
})
/** Moves all servers' clocks together; the chain's stands still. */
let aheadMs = 0
const clock: Clock = () => new Date(systemClock().getTime() + aheadMs)
const server = await startLoopServer(loop, { settings: remote(node.url), clock })
const twin = await startLoopServer(loop, { settings: remote(node.url), clock })
const blind = await startLoopServer(loop, { settings: remote(null), clock })
after(async () => {
  for (const one of [server, twin, blind]) await one.stop()
  await facilitator.stop()
  node.stop()
  await loop.stop()
})

/** `meanwhile` is done between verification and settlement of what `work` pays. */
async function verifiedThen<Result>(
  meanwhile: () => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  facilitator.onVerified = async () => void (await meanwhile())
  try {
    return await work()
  } finally {
    facilitator.onVerified = undefined
  }
}

/** Runs with something broken, and mends it. */
async function broken<Result>(
  what: Partial<typeof facilitator.faults> & { node?: boolean },
  work: () => Promise<Result>,
): Promise<Result> {
  const { node: isNodeDown = false, ...faults } = what
  Object.assign(facilitator.faults, faults)
  node.down = isNodeDown
  try {
    return await work()
  } finally {
    Object.assign(facilitator.faults, { '/verify': 'none', '/settle': 'none' })
    node.down = false
  }
}

const stateOf = async (header: string): Promise<string | undefined> => {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  const { nonce } = payload.authorization
  const [row] = await loop.database.db.rows<{ state: string }>(
    sql`select state from x402_payments where auth_nonce = ${nonce}`,
  )
  return row?.state
}

function assertPending(reply: Awaited<ReturnType<typeof pay>>): void {
  assertError(reply, 503, 'payment_settlement_pending')
  assert.equal(reply.headers['retry-after'], '1')
  assert.equal(reply.headers['payment-required'], undefined)
}

chainTest('200: a remote facilitator verifies and settles', async () => {
  const wallet = await loop.richWallet()
  assertPaid(await pay(server, await signedHeader(wallet)))
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
  'a crash between settling and writing it down: another server serves it when the lease is over, charged once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const dying = await startLoopServer(loop, {
      settings: remote(node.url),
      db: endingAt('settled'),
    })
    try {
      assertError(await pay(dying, header), 503, 'unavailable')
    } finally {
      await dying.stop()
    }
    assert.equal(await stateOf(header), 'settling')
    assert.equal(await loop.spent(wallet), 10_000)
    const settledBefore = facilitator.asked['/settle']
    await later(31, async () => void assertPaid(await pay(twin, header)))
    assert.equal(facilitator.asked['/settle'], settledBefore)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: a payment that is shown twenty times at once, and again, is verified once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const before = facilitator.asked['/verify']
    const receipts = await Promise.all(
      Array.from({ length: 20 }, async () => assertPaid(await pay(server, header))),
    )
    receipts.push(assertPaid(await pay(server, header)))
    assert.equal(new Set(receipts).size, 1)
    assert.equal(facilitator.asked['/verify'], before + 1)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('a crash before settling: nothing was sent, and what is held lapses', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  const dying = await startLoopServer(loop, {
    settings: remote(node.url),
    db: endingAfter('insert into x402_payments'),
  })
  try {
    assertError(await pay(dying, header), 503, 'unavailable')
  } finally {
    await dying.stop()
  }
  assert.equal(await stateOf(header), 'settling')
  assert.equal(await loop.spent(wallet), 0)
  await later(31, async () => void assertPaid(await pay(twin, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

/** The database, until it has done this: what it answered is lost, and from then on nothing is written any more. */
function endingAfter(text: string): Db {
  const { db } = loop.database
  let hasEnded = false
  return {
    ...db,
    async run(statement) {
      const isLast = !hasEnded && statement.text.includes(text)
      hasEnded ||= isLast
      if (isLast) await db.run(statement)
      if (hasEnded) throw new UnavailableError('the process is gone')
      return db.run(statement)
    },
  }
}

/** The database, until the row is to move to this state: from then on nothing is written any more. */
function endingAt(state: string): Db {
  const { db } = loop.database
  let hasEnded = false
  return {
    ...db,
    run(statement) {
      hasEnded ||= statement.text.includes(`set state = '${state}'`)
      return hasEnded
        ? Promise.reject(new UnavailableError('the process is gone'))
        : db.run(statement)
    },
  }
}

chainTest(
  '503: the work itself is not available: nothing moved, and the payment still buys',
  async () => {
    let isAway = true
    const shaky = await startLoopServer(loop, {
      settings: remote(node.url),
      read: (id) =>
        isAway
          ? Promise.reject(new UnavailableError('no database'))
          : Promise.resolve({ status: 200, body: { id } }),
    })
    try {
      const wallet = await loop.richWallet()
      const header = await signedHeader(wallet)
      assertError(await pay(shaky, header), 503, 'unavailable')
      assert.equal(await stateOf(header), 'released')
      isAway = false
      assertPaid(await pay(shaky, header))
      assert.equal(await loop.spent(wallet), 10_000)
    } finally {
      await shaky.stop()
    }
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

chainTest('a caller that leaves while the work is done is not charged', async () => {
  const reading = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const slow = await startLoopServer(loop, {
    settings: remote(node.url),
    read: async (id) => {
      reading.resolve()
      await gone.promise
      return { status: 200, body: { id } }
    },
  })
  try {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const caller = connect(Number(new URL(slow.base).port), '127.0.0.1')
    caller.write(`GET /things/1 HTTP/1.1\r\nHost: a\r\nX-PAYMENT: ${header}\r\n\r\n`)
    await reading.promise
    caller.destroy()
    while ((await slow.connections()) > 0) await turn()
    gone.resolve()
    while ((await stateOf(header)) !== 'released') await turn()
    assert.equal(await loop.spent(wallet), 0)
  } finally {
    await slow.stop()
  }
})

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

chainTest(
  'the reconciler finds out what nobody came back for: paid, or expired and worthless',
  async () => {
    const [payer, other] = [await loop.richWallet(), await loop.richWallet()]
    const paid = await signedHeader(payer)
    const faults = { '/settle': 'answer lost', node: true } as const
    assertPending(await broken(faults, () => pay(server, paid)))
    const unpaid = await signedHeader(other)
    assertPending(await broken({ '/settle': 'request lost' }, () => pay(server, unpaid)))
    await server.reconcile()
    assert.equal(await stateOf(paid), 'unknown', 'it is left to the payer for a while')
    await later(31, async () => {
      await Promise.all([server.reconcile(), twin.reconcile()])
      assert.equal(await stateOf(paid), 'settled')
      assert.equal(await stateOf(unpaid), 'unknown')
    })
    await loop.chain.call('evm_increaseTime', [400])
    await loop.chain.call('evm_mine')
    await later(400, async () => {
      await server.reconcile()
      assert.equal(await stateOf(unpaid), 'failed')
      assertRefused(
        await pay(server, unpaid),
        'invalid_exact_evm_payload_authorization_valid_before',
      )
      assert.equal(await unserved(), 1)
      assertPaid(await pay(server, paid))
      assert.equal(await unserved(), 0)
    })
    assert.equal(await loop.spent(payer), 10_000)
    assert.equal(await loop.spent(other), 0)
  },
)

async function unserved(): Promise<number> {
  return (await listUnserved(loop.database.db, 10)).length
}

async function later(seconds: number, work: () => Promise<void>): Promise<void> {
  aheadMs = seconds * 1_000
  try {
    await work()
  } finally {
    aheadMs = 0
  }
}
