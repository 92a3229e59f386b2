/**
 * PostgreSQL is killed right after a paid answer, before the commit of the settlement is on disk.
 * The state written before the payment was sent, and the chain, restore the rest: one charge, the
 * same receipt, a complete ledger.
 */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { revenueByDay } from '../../src/billing/x402/settlement/reports-store.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../../src/database/migrate.ts'
import { migrationsDirectory } from '../../src/database/open.ts'
import { type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { startFaultyLoop } from '../support/fault/faulty-loop.ts'
import {
  assertError,
  assertPaid,
  assertRefused,
  chainTest,
  pay,
  signedHeader,
} from '../support/start/paid-loop.ts'
import type { PaidServer } from '../support/start/paid-server.ts'
import { eventually, killPostgres, temporaryFolder } from '../support/start/processes.ts'

const loop = await startFaultyLoop()
const { facilitator, later } = loop
let postgres: EmbeddedPostgres
let db: Db
let server: PaidServer
let blind: PaidServer
after(async () => {
  await loop.stop()
  await db.close()
  await postgres.stop()
})
const folder = temporaryFolder()

before(async () => {
  await startPostgres()
  await migrate(postgres.url, migrationsDirectory, new Date())
  db = openDb({
    url: postgres.url,
    connectionsMax: 4,
    applicationName: 'x402',
    statementTimeoutMs: 60_000,
    connectionWaitMs: 60_000,
    onError: () => {},
  })
  // Commits of autovacuum would flush other commits to disk.
  await db.run(sql`alter system set autovacuum = off`)
  await db.rows(sql`select pg_reload_conf()`)
  server = await loop.start({ db })
  blind = await loop.start({ db, blind: true })
})

async function startPostgres(): Promise<void> {
  postgres = await startEmbeddedPostgres({ dataDir: folder, durable: false, log: () => {} })
}

async function stateOf(header: string): Promise<string | undefined> {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  const [row] = await db.rows<{ state: string }>(sql`
    select state from x402_payments where auth_nonce = ${payload.authorization.nonce}`)
  return row?.state
}

/**
 * Stops the WAL writer, which would flush asynchronous commits to disk. PostgreSQL accepts
 * connections before all of its processes have started.
 */
async function holdWalWriter(): Promise<void> {
  const { value: pid } = await eventually('the WAL writer is there', {
    see: async () => {
      const [writer] = await db.rows<{ pid: number }>(sql`
        select pid from pg_stat_activity where backend_type = 'walwriter'`)
      return writer?.pid ?? 0
    },
  })
  process.kill(pid, 'SIGSTOP')
}

/** Pays, and loses every asynchronous commit. */
async function payAndLose(one: PaidServer, header: string, headers = {}): Promise<string> {
  await holdWalWriter()
  const transaction = assertPaid(await pay(one, header, { headers }))
  await killPostgres(folder)
  await startPostgres()
  return transaction
}

chainTest(
  'a served payment whose commit is lost gets the same receipt again, also for a new signature under its key, and is charged once',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'one-purchase-that-is-lost' }
    const header = await signedHeader(wallet)
    const transaction = await payAndLose(server, header, headers)
    assert.equal(await stateOf(header), 'settling', 'the commit was lost')
    assert.equal(await loop.spent(wallet), 10_000)

    const sent = facilitator.asked['/settle']
    const again = await signedHeader(wallet)
    assertError(await pay(server, header), 503, 'payment_settlement_pending')
    await later(31, async () => {
      const elsewhere = await pay(server, header, { path: '/things/2' })
      assertRefused(elsewhere, 'invalid_transaction_state')
      assert.equal(assertPaid(await pay(server, again, { headers })), transaction)
      assert.equal(assertPaid(await pay(server, header)), transaction)
      const other = { headers, path: '/things/2' }
      assertError(await pay(server, await signedHeader(wallet), other), 400, 'purchase_key_reused')
    })
    assert.equal(facilitator.asked['/settle'], sent, 'the chain told; nothing was sent again')
    assert.equal(await stateOf(header), 'settled')
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest(
  'a served payment whose commit is lost is entered in the ledger even if its payer never returns',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const before = await revenue()
    await payAndLose(server, header)
    assert.equal(await stateOf(header), 'settling', 'the commit was lost')
    assert.deepEqual(await revenue(), before)
    await later(61, () => server.reconcile())
    assert.deepEqual(await revenue(), {
      payments: before.payments + 1,
      amount: before.amount + 10_000,
    })
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

async function revenue(): Promise<{ payments: number; amount: number }> {
  const days = await revenueByDay(db, new Date(0))
  return {
    payments: days.reduce((sum, { payments }) => sum + payments, 0),
    amount: days.reduce((sum, { amount }) => sum + Number(amount), 0),
  }
}

chainTest(
  'without a chain to ask, a settlement is on disk before the paid answer leaves',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const transaction = await payAndLose(blind, header)
    assert.equal(await stateOf(header), 'settled')
    const asked = { ...facilitator.asked }
    assert.equal(assertPaid(await pay(blind, header)), transaction)
    assert.deepEqual(facilitator.asked, asked)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)

chainTest('a payment that was not sent may lose its release; it then buys once', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  await giveBackAndLose(server, header)
  assert.equal(await stateOf(header), 'settling', 'that it was given back was lost')
  await later(31, async () => void assertPaid(await pay(server, header)))
  assert.equal(await loop.spent(wallet), 10_000)
})

chainTest('without a chain to ask, a release is on disk before the answer leaves', async () => {
  const wallet = await loop.richWallet()
  const header = await signedHeader(wallet)
  await giveBackAndLose(blind, header)
  assert.equal(await stateOf(header), 'released')
  assertPaid(await pay(blind, header))
  assert.equal(await loop.spent(wallet), 10_000)
})

/** Lets a payment fail at verification, and loses every asynchronous commit. */
async function giveBackAndLose(one: PaidServer, header: string): Promise<void> {
  facilitator.faults['/verify'] = 'error'
  await holdWalWriter()
  assertError(await pay(one, header), 503, 'payment_facilitator_unavailable')
  facilitator.faults['/verify'] = 'none'
  await killPostgres(folder)
  await startPostgres()
}
