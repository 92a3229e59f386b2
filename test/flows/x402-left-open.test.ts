/**
 * Payments interrupted in the middle by a crash, a slow process or a caller that leaves, and how
 * they end.
 */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after } from 'node:test'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { recordRefund } from '../../src/billing/x402/settlement/close.ts'
import { listPayments, listUndelivered } from '../../src/billing/x402/settlement/reports-store.ts'
import type { Db, Statement } from '../../src/platform/db/db.ts'
import { setTimeoutMultiplier } from '../../src/platform/deadlines.ts'
import { refuse, UnavailableError } from '../../src/platform/errors.ts'
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
import type { PaidServer } from '../support/start/paid-server.ts'
import { eventually } from '../support/start/processes.ts'
import { timeoutMultiplier } from '../support/start/timeout-multiplier.ts'

const loop = await startFaultyLoop()
const { facilitator, broken, later, stateOf } = loop
const server = await loop.start()
const secondServer = await loop.start()
const blind = await loop.start({ blind: true })
after(() => loop.stop())

chainTest(
  'a payment served but not stored as settled is served again by another server after the lease, charged once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const dying = await loop.start({ db: endingAt('settled') })
    const paid = assertPaid(await pay(dying, header))
    await eventually('it is told', {
      see: async () =>
        /whether that is written down is not known.*process is gone/.test(dying.troubles.join()),
    })
    assert.equal(await stateOf(header), 'settling')
    assert.equal(await loop.spent(wallet), 10_000)
    const settledBefore = facilitator.asked['/settle']
    await later(31, async () => assert.equal(assertPaid(await pay(secondServer, header)), paid))
    assert.equal(facilitator.asked['/settle'], settledBefore)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '503: without a node a settlement that is not stored is not served, because nothing else could prove it',
  async () => {
    const header = await signedHeader(await loop.richWallet())
    const dying = await loop.start({ blind: true, db: endingAt('settled') })
    assertPending(await pay(dying, header))
    assert.equal(await stateOf(header), 'settling')
    await later(31, async () => void assertPaid(await pay(secondServer, header)))
  },
)

chainTest(
  '503: the database fails when a payment of unknown outcome is presented again; the payment can still be served later',
  async () => {
    const header = await signedHeader(await loop.richWallet())
    assertPending(await broken({ '/settle': 'request lost' }, () => pay(server, header)))
    const dying = await loop.start({ db: endingAfter('set lease_until') })
    assertPending(await pay(dying, header))
    await later(31, async () => void assertPaid(await pay(secondServer, header)))
  },
)

chainTest(
  '503: a hold that exceeds the database deadline is given up, and released once it is stored',
  async () => {
    const { db } = loop.database
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const gate = Promise.withResolvers<void>()
    const slow: Db = {
      ...db,
      async run(statement) {
        if (statement.text.includes('insert into x402_payments')) {
          setTimeoutMultiplier(0.01)
          await gate.promise
        }
        return db.run(statement)
      },
    }
    const ending = await loop.start({ blind: true, db: slow })
    assertError(await pay(ending, header), 503, 'unavailable')
    setTimeoutMultiplier(timeoutMultiplier)
    gate.resolve()
    await ending.close()
    assert.equal(await stateOf(header), 'released')
    assertPaid(await pay(blind, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'a payment settled after its payer left again is listed as undelivered until it is served',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ '/settle': 'request lost' }, () => pay(server, header)))
    const settled = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    facilitator.onSettled = () => {
      settled.resolve()
      return gate.promise
    }
    const again = await loop.start()
    await leaveOnce(again, { header, begun: settled.promise })
    facilitator.onSettled = undefined
    gate.resolve()
    await again.close()
    assert.equal(await stateOf(header), 'settled')
    assert.equal(await undelivered(), 1)
    await leaveWhileReading(header)
    assert.equal(await undelivered(), 1, 'it was read for nobody')
    assertPaid(await pay(secondServer, header))
    assert.equal(await undelivered(), 0)
  },
)

chainTest(
  '503: a payment of unknown outcome for a thing that no longer exists stays unknown',
  async () => {
    const header = await signedHeader(await loop.richWallet())
    const faults = { '/settle': 'answer lost', node: true } as const
    const gone = await loop.start({ read: async () => refuse('not_found') })
    await broken(faults, async () => {
      assertPending(await pay(server, header))
      assertPending(await pay(gone, header))
    })
    assertPaid(await pay(server, header))
  },
)

chainTest(
  '503: a payment sent by a third party is not rejected while the chain cannot show it',
  async () => {
    const wallet = await loop.richWallet()
    const signed = await signAuthorization(wallet, terms)
    const header = base64Json(payloadV1(signed, terms))
    await loop.broadcast(signed)
    assertPending(await broken({ node: true }, () => pay(server, header)))
    assert.equal(await stateOf(header), 'unknown')
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  '200: without a node the server allows the database its full time to store the settlement',
  async () => {
    const { db } = loop.database
    const header = await signedHeader(await loop.richWallet())
    const slow = await loop.start({
      blind: true,
      db: {
        ...db,
        async run(statement) {
          if (statement.text.includes(`set state = 'settled'`)) await pause(20)
          return db.run(statement)
        },
      },
    })
    facilitator.onSettled = async () => setTimeoutMultiplier(0.01)
    const reply = await pay(slow, header)
    setTimeoutMultiplier(timeoutMultiplier)
    facilitator.onSettled = undefined
    assertPaid(reply)
  },
)

chainTest('an orderly shutdown waits until settlements are stored', async () => {
  const header = await signedHeader(await loop.richWallet())
  const writing = Promise.withResolvers<void>()
  const { db } = loop.database
  const ending = await loop.start({
    db: {
      ...db,
      async run(statement) {
        if (statement.text.includes(`set state = 'settled'`)) await writing.promise
        return db.run(statement)
      },
    },
  })
  assertPaid(await pay(ending, header))
  const events: string[] = []
  const closed = ending.close().then(() => events.push('closed'))
  assert.equal(await stateOf(header), 'settling')
  events.push('written')
  writing.resolve()
  await closed
  assert.deepEqual(events, ['written', 'closed'])
  assert.equal(await stateOf(header), 'settled')
})

chainTest('a crash before settlement: nothing was sent, and the hold expires', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  const dying = await loop.start({ db: endingAfter('insert into x402_payments') })
  assertError(await pay(dying, header), 503, 'unavailable')
  assert.equal(await stateOf(header), 'settling')
  assert.equal(await loop.spent(wallet), 0)
  await later(31, async () => void assertPaid(await pay(secondServer, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

/**
 * Returns a database that fails after the first statement that contains `text`: its answer is lost
 * and no later write happens.
 */
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

/** Returns a database that fails at the change to this state and at every later write. */
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

chainTest('a caller that leaves while the read runs is not charged', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  await leaveWhileReading(header)
  assert.equal(await stateOf(header), 'released')
  assert.equal(await loop.spent(wallet), 0)
})

chainTest(
  'a caller that presents an open payment again and leaves is not charged, and the payment still buys',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    assertPending(await broken({ '/settle': 'request lost' }, () => pay(server, header)))
    await leaveWhileReading(header)
    assert.equal(await stateOf(header), 'unknown')
    assert.equal(await loop.spent(wallet), 0)
    assertPaid(await pay(server, header))
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'a caller that leaves during settlement: an orderly shutdown waits for it, and the payment is listed until it is served',
  async () => {
    for (const isBlind of [false, true]) {
      const wallet = await loop.richWallet()
      const header = await signedHeader(wallet)
      const ending = await loop.start({ blind: isBlind })
      const settled = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      facilitator.onSettled = () => {
        settled.resolve()
        return gate.promise
      }
      await leaveOnce(ending, { header, begun: settled.promise })
      const closed = ending.close()
      assert.equal(await stateOf(header), 'settling')
      assert.equal(await undelivered(), 0)
      facilitator.onSettled = undefined
      gate.resolve()
      await closed
      assert.equal(await stateOf(header), 'settled')
      assert.equal(await undelivered(), 1)
      assertPaid(await pay(secondServer, header))
      assert.equal(await undelivered(), 0)
      assert.equal(await loop.spent(wallet), 10_000)
    }
  },
)

chainTest(
  'a pipelined payment begins once the response before it has left: a caller that leaves pays for neither',
  async () => {
    const wallet = await loop.richWallet()
    const { slow, letGo } = await startSlow()
    const caller = callerOf(slow)
    const [first, second] = [await signedHeader(wallet), await signedHeader(wallet)]
    const sent = facilitator.asked['/settle']
    caller.write(requestOf(first, 1) + requestOf(second, 2))
    while (slow.reads < 1 || (await stateOf(first)) !== 'settling') await turn()
    const other = await signedHeader(await loop.richWallet())
    assertPaid(await pay(slow, other, { path: '/things/2' }))
    assert.equal(facilitator.asked['/settle'], sent + 1)
    await leave(slow, caller)
    letGo()
    while (!/x402_attempts_total\{.*"unsold"\} 1$/m.test(await slow.counted())) await turn()
    assert.deepEqual([await stateOf(first), await stateOf(second)], ['released', undefined])
    assert.equal(facilitator.asked['/settle'], sent + 1)
  },
)

const requestOf = (header: string, thing = 1) =>
  `GET /things/${thing} HTTP/1.1\r\nHost: a\r\nX-PAYMENT: ${header}\r\n\r\n`

function callerOf({ base }: PaidServer): Socket {
  return connect(Number(new URL(base).port), '127.0.0.1')
}

/** Closes the connection and resolves once the server has noticed. */
async function leave(server: PaidServer, caller: Socket): Promise<void> {
  caller.destroy()
  while ((await server.connections()) > 0) await turn()
}

async function leaveOnce(
  server: PaidServer,
  { header, begun }: { header: string; begun: Promise<void> },
): Promise<void> {
  const caller = callerOf(server)
  caller.write(requestOf(header))
  await begun
  await leave(server, caller)
}

/** Leaves while the server reads, and resolves once the server has finished the attempt. */
async function leaveWhileReading(header: string): Promise<void> {
  const { slow, reading, letGo } = await startSlow()
  await leaveOnce(slow, { header, begun: reading })
  letGo()
  while (!(await slow.counted()).includes('x402_attempts_total{')) await turn()
}

/** Starts a server whose read of thing 1 waits until `letGo`. */
async function startSlow() {
  const reading = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow = await loop.start({
    read: async (id) => {
      reading.resolve()
      if (id === '1') await gate.promise
      return { status: 200, body: { id } }
    },
  })
  return { slow, reading: reading.promise, letGo: gate.resolve }
}

chainTest(
  '200: a payment is taken over from a slow process: both serve it, and it is sent once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const sent = facilitator.asked['/settle']
    const { slow, letGo } = await startSlow()
    const first = pay(slow, header)
    while ((await stateOf(header)) !== 'settling') await turn()
    await later(31, async () => {
      const transaction = assertPaid(await pay(secondServer, header))
      letGo()
      assert.equal(assertPaid(await first), transaction)
    })
    assert.equal(facilitator.asked['/settle'], sent + 1)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'without a node the reconciler does not send a payment that was only held, because nothing may have been read for it',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const dying = await loop.start({ blind: true, db: endingAfter('insert into x402_payments') })
    assertError(await pay(dying, header), 503, 'unavailable')
    await later(61, () => blind.reconcile())
    assert.equal(await stateOf(header), 'settling')
    assert.equal(await loop.spent(wallet), 0)
  },
)

chainTest('without a node only one of several reconcilers sends a payment again', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  assertPending(await broken({ '/settle': 'request lost' }, () => pay(blind, header)))
  const sent = facilitator.asked['/settle']
  const meeting = await loop.start({ blind: true, db: listingForTwo() })
  await later(61, async () => void (await Promise.all([meeting.reconcile(), meeting.reconcile()])))
  assert.equal(await stateOf(header), 'settled')
  assertPaid(await pay(blind, header))
  assert.equal(facilitator.asked['/settle'], sent + 1)
  assert.equal(await loop.spent(wallet), 10_000)
})

/** Returns a database that lists open payments only after two reconcilers have asked. */
function listingForTwo(): Db {
  const { db } = loop.database
  const both = Promise.withResolvers<void>()
  let asked = 0
  return {
    ...db,
    async rows<Row>(statement: Statement) {
      const rows = await db.rows<Row>(statement)
      if (!statement.text.includes('order by lease_until')) return rows
      if (++asked === 2) both.resolve()
      await both.promise
      return rows
    },
  }
}

chainTest(
  'the reconciler has no deadline for a slow database, because no caller waits for it',
  async () => {
    const header = await signedHeader(await loop.richWallet())
    const faults = { '/settle': 'answer lost', node: true } as const
    assertPending(await broken(faults, () => pay(server, header)))
    const { db } = loop.database
    const slow = await loop.start({
      db: {
        ...db,
        async run(statement) {
          await pause(20)
          return db.run(statement)
        },
      },
    })
    await later(31, async () => {
      setTimeoutMultiplier(0.01)
      await slow.reconcile()
      setTimeoutMultiplier(timeoutMultiplier)
    })
    assert.equal(await stateOf(header), 'settled')
    assertPaid(await pay(server, header))
  },
)

chainTest(
  'the reconciler resolves open payments without their payer: paid until given back, or expired and worthless',
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
      await Promise.all([server.reconcile(), secondServer.reconcile()])
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
      assert.equal(await undelivered(), 1)
      assertPaid(await pay(server, paid))
      assert.equal(await undelivered(), 0)
      await giveBack(payer.address.toLowerCase())
      assertRefused(await pay(server, paid), 'invalid_transaction_state')
    })
    assert.equal(await loop.spent(payer), 10_000)
    assert.equal(await loop.spent(other), 0)
  },
)

async function giveBack(payer: string): Promise<void> {
  const { db } = loop.database
  const filter = { state: 'settled', payer, since: null, after: null, limit: 1 } as const
  const [payment] = await listPayments(db, filter)
  assert.ok(payment)
  const refund = { id: payment.id, txHash: `0x${'5f'.repeat(32)}` }
  assert.equal(await db.transaction((tx) => recordRefund(tx, refund, new Date())), true)
}

async function undelivered(): Promise<number> {
  return (await listUndelivered(loop.database.db, { after: null, limit: 10 })).length
}
