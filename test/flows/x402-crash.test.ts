/**
 * The serving process is killed between settlement and answer. The payer is charged once, and the
 * next process serves the payment.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { sql } from '../../src/platform/db/db.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  startPaidLoop,
} from '../support/start/paid-loop.ts'
import {
  isReading,
  payFor,
  preparePaidReads,
  prices,
  reads,
  signedFor,
} from '../support/start/paid-reads.ts'
import { eventually, type ServerProcess } from '../support/start/processes.ts'
import { startFacilitator } from '../support/start/test-facilitator.ts'

const loop = await startPaidLoop()
const { db } = loop.database
const facilitator = await startFacilitator(loop)
const { start } = await preparePaidReads(loop)
after(async () => {
  await facilitator.stop()
  await loop.stop()
})
const remote = {
  X402_FACILITATOR: 'remote',
  X402_FACILITATOR_URL: facilitator.url,
  X402_RELAYER_KEY_FILE: '',
}

async function stateOf({ address }: PrivateKeyAccount): Promise<string | undefined> {
  const [row] = await db.rows<{ state: string }>(sql`
    select state from x402_payments where payer = ${address.toLowerCase()}`)
  return row?.state
}

const question = { path: reads.score }

/** Pays, and calls `kill` once the payment is on the chain. `kill` must end the process. */
async function payAndKill(header: string, kill: (server: ServerProcess) => Promise<void>) {
  const server = await start(remote)
  facilitator.onSettled = async () => {
    facilitator.onSettled = undefined
    await kill(server)
  }
  await assert.rejects(payFor(server.base, header, question))
  assert.equal(await server.ended, 'SIGKILL')
}

async function killed(server: ServerProcess): Promise<void> {
  server.signal('SIGKILL')
  await server.ended
}

chainTest(
  'SIGKILL after settlement, before it is stored: 503 until the lease of the dead process expires, then 200 with one charge',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedFor(prices.score, wallet)
    await payAndKill(header, killed)
    assert.equal(await stateOf(wallet), 'settling')
    assert.equal(await loop.spent(wallet), prices.score)

    const next = await start(remote)
    const { '/verify': verified, '/settle': sent } = facilitator.asked
    await db.run(sql`update x402_payments set lease_until = now() + interval '1 hour'`)
    const early = await payFor(next.base, header, question)
    assertError(early, 503, 'payment_settlement_pending')
    assert.equal(early.headers['payment-required'], undefined)
    // The lease of the dead process expires.
    await db.run(sql`update x402_payments set lease_until = now()`)
    const transaction = assertPaid(await payFor(next.base, header, question))
    assert.equal(assertPaid(await payFor(next.base, header, question)), transaction)
    assert.equal(await stateOf(wallet), 'settled')
    assert.equal(facilitator.asked['/settle'], sent, 'the chain told; nothing was sent again')
    assert.ok(
      facilitator.asked['/verify'] <= verified + 1,
      'at most once by the process that is new',
    )
    assert.equal(await loop.spent(wallet), prices.score)
  },
)

chainTest(
  'SIGKILL while the settlement is stored: the payer has its 200, gets it again from the ledger, and no second transfer is sent',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedFor(prices.score, wallet)
    const server = await start(remote)
    const held = Promise.withResolvers<void>()
    let holding: Promise<void> | undefined
    facilitator.onSettled = async () => {
      facilitator.onSettled = undefined
      const locked = Promise.withResolvers<void>()
      holding = db.transaction(async (tx) => {
        await tx.rows(sql`select 1 from x402_payments for update`)
        locked.resolve()
        await held.promise
      })
      await locked.promise
    }
    const first = assertPaid(await payFor(server.base, header, question))
    await eventually('the ledger is being written', { see: isWriting })
    await killed(server)
    held.resolve()
    await holding
    await eventually('the ledger is written', {
      see: async () => (await stateOf(wallet)) === 'settled',
    })

    const next = await start({ ...remote, X402_RPC_URL: 'http://127.0.0.1:1' })
    const { '/verify': verified, '/settle': sent } = facilitator.asked
    assert.equal(assertPaid(await payFor(next.base, header, question)), first)
    assert.equal(assertPaid(await payFor(next.base, header, question)), first)
    assert.equal(facilitator.asked['/settle'], sent)
    assert.ok(
      facilitator.asked['/verify'] <= verified + 1,
      'at most once by the process that is new',
    )
    const elsewhere = await payFor(next.base, header, { path: `/api/v1/scores/${'0'.repeat(64)}` })
    assertRefused(elsewhere, 'invalid_transaction_state')
    assert.equal(await loop.spent(wallet), prices.score)
  },
)

async function isWriting(): Promise<boolean> {
  const waiting = await db.rows(sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%x402_payments%settled%'`)
  return waiting.length > 0
}

chainTest(
  'SIGKILL between verification and settlement: nothing was sent, and the same payment then buys once',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedFor(prices.score, wallet)
    const server = await start(remote)
    await db.transaction(async (tx) => {
      await tx.rows(sql`lock table score_snapshots in access exclusive mode`)
      const lost = assert.rejects(payFor(server.base, header, question))
      await eventually('the read waits for the table', { see: () => isReading(db) })
      await killed(server)
      await lost
    })
    assert.equal(await stateOf(wallet), 'settling')
    assert.equal(await loop.spent(wallet), 0)
    const next = await start(remote)
    await db.run(sql`update x402_payments set lease_until = now()`)
    assertPaid(await payFor(next.base, header, question))
    assert.equal(await loop.spent(wallet), prices.score)
  },
)
