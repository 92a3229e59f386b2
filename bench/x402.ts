/**
 * Measures a score bought by x402 over HTTP, one payment after another: from `assay serve` on a
 * database that waits for its disk and on one that does not, from the official Express middleware,
 * which keeps no ledger, and from bare node:http with the same two calls to the same facilitator.
 * Facilitators: one that agrees at once, one with the delay of a near network, and the official
 * code on a local chain. Contestants take turns payment by payment, and every payment is used once.
 * The result is the time beyond the bare server's.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EmbeddedPostgres } from '../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../src/database/migrate.ts'
import { migrationsDirectory } from '../src/database/open.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { withSearchIndex } from '../src/workers/candidates/search-indexer.ts'
import { skillNames } from '../src/workers/candidates/skill-names.ts'
import { giveScore } from '../test/support/build/candidates.ts'
import { publicLine, register } from '../test/support/build/workers.ts'
import { anvilBinary, startChain } from '../test/support/start/chain/anvil.ts'
import { startPostgres } from './children.ts'
import { type Finding, median, report } from './measure.ts'
import { cpuSeconds, fetchAnswer } from './serving.ts'
import {
  buy,
  type Contestant,
  path,
  scoreId,
  startBare,
  startChild,
  startExpress,
  startOurs,
  wallet,
} from './x402-contestants.ts'
import type { FacilitatorOrder } from './x402-facilitator.ts'

const payments = Number(process.env.BENCH_PAYMENTS ?? 200)
/** Uncounted payments of each contestant at the start. */
const warmUp = 100
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const closing = new AsyncDisposableStack()
closing.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

interface Database {
  name: string
  postgres: EmbeddedPostgres
  db: Db
}

async function openDatabase(name: string, durable: boolean): Promise<Database> {
  const dataDir = join(folder, name)
  const postgres = await startPostgres({ dataDir, durable })
  closing.defer(() => postgres.stop())
  await migrate(postgres.url, migrationsDirectory, new Date())
  const db = openDb({
    url: postgres.url,
    connectionsMax: 2,
    applicationName: 'bench x402',
    onError: () => {},
  })
  closing.defer(() => db.close())
  const index = withSearchIndex(db, () => skillNames([]))
  await register(index, [publicLine()])
  await giveScore(db, 'ada', scoreId)
  return { name, postgres, db }
}

interface Payments {
  ms: number[]
  /** Processor milliseconds of the server for a payment. */
  serverMs: number
}

/** Contestants take turns, so that other load weighs on all alike. */
async function compare(contestants: readonly Contestant[], count: number): Promise<Payments[]> {
  for (const one of contestants)
    for (let i = 0; i < warmUp; i++) await buy(one, await one.payment())
  const used = contestants.map(({ pids }) => cpuSeconds(pids))
  const ms = contestants.map((): number[] => [])
  for (let i = 0; i < count; i++) {
    const headers = await Promise.all(contestants.map((one) => one.payment()))
    for (const [j, one] of contestants.entries()) ms[j]?.push(await buy(one, headers[j] ?? ''))
  }
  return contestants.map(({ pids }, j) => ({
    ms: ms[j] ?? [],
    serverMs: ((cpuSeconds(pids) - (used[j] ?? 0)) / count) * 1_000,
  }))
}

/** Returns the disk syncs made by the sessions of an ended server. */
async function walSyncs(db: Db): Promise<number> {
  const [row] = await db.rows<{ syncs: string }>(sql`
    select coalesce(sum(fsyncs), 0)::text as syncs from pg_stat_io
    where object = 'wal' and backend_type = 'client backend'`)
  return Number(row?.syncs)
}

interface Section {
  title: string
  order: FacilitatorOrder
  databases: readonly Database[]
  /** The chain node. Null: the facilitator's own. */
  rpcUrl: string | null
  count: number
  /** Targets of our addition by the name of the database. */
  targets: Readonly<Record<string, { max: number }>>
}

async function runSection({ title, order, databases, rpcUrl, count, targets }: Section) {
  const { child: facilitatorChild, port } = await startChild('x402-facilitator.ts', order)
  const facilitator = `http://127.0.0.1:${port}`
  const syncs = await Promise.all(databases.map(({ db }) => walSyncs(db)))
  const ours: Contestant[] = []
  for (const { name, postgres } of databases) {
    const order = { name, databaseUrl: postgres.url, dataDir: join(folder, 'own') }
    ours.push(await startOurs({ ...order, facilitator, rpcUrl: rpcUrl ?? `${facilitator}/node` }))
  }
  const body = await bodyOf(ours[0])
  const peers = [await startExpress(facilitator, body), await startBare({ facilitator, body })]
  const contestants = [...peers, ...ours]
  const [express, bare, ...own] = await compare(contestants, count)
  for (const one of contestants) await one.stop()
  facilitatorChild.disconnect()
  if (express === undefined || bare === undefined) throw new Error('no contestant to compare with')
  const bought = count + warmUp + 1
  const findings: Finding[] = [
    { name: 'bare node:http', value: median(bare.ms), unit: 'ms, median' },
    { name: 'official Express middleware', value: median(express.ms), unit: 'ms, median' },
    { name: 'it adds', value: added(express, bare), unit: 'ms, median' },
    { name: 'its processor time', value: express.serverMs, unit: 'ms a payment' },
  ]
  for (const [i, { name, db }] of databases.entries()) {
    const paid = own[i]
    if (paid === undefined) continue
    const target = targets[name]
    const adds = { name: 'it adds', value: added(paid, bare), unit: 'ms, median' }
    const ratio = median(paid.ms.map((ms, k) => (express.ms[k] ?? Number.NaN) / ms))
    findings.push(
      { name: `assay, ${name}`, value: median(paid.ms), unit: 'ms, median' },
      target === undefined ? adds : { ...adds, target },
      { name: 'its processor time', value: paid.serverMs, unit: 'ms a payment' },
      { name: 'Express takes', value: ratio, unit: 'times as long' },
    )
    const synced = ((await walSyncs(db)) - (syncs[i] ?? 0)) / bought
    if (synced > 0)
      findings.push({ name: 'it waits for the disk', value: synced, unit: 'times a payment' })
  }
  report(title, findings)
}

function added(paid: Payments, bare: Payments): number {
  return median(paid.ms.map((ms, i) => ms - (bare.ms[i] ?? Number.NaN)))
}

/** All contestants answer the same bytes. */
async function bodyOf(ours: Contestant | undefined): Promise<string> {
  if (ours === undefined) throw new Error('no server of ours')
  const headers = { 'PAYMENT-SIGNATURE': await ours.payment() }
  const { body } = await fetchAnswer(ours.port, { method: 'GET', path, headers })
  return body.toString()
}

const onDisk = 'on this disk'
const unsynced = 'without fsync'
try {
  const durable = await openDatabase(onDisk, true)
  const quick = await openDatabase(unsynced, false)
  await runSection({
    title: 'x402: a paid read, facilitator that agrees at once',
    order: { kind: 'agreeing', delayMs: 0 },
    databases: [durable, quick],
    rpcUrl: null,
    count: payments,
    targets: { [unsynced]: { max: 3 } },
  })
  await runSection({
    title: 'x402: a paid read, facilitator that takes 20 ms to verify and 20 ms to settle',
    order: { kind: 'agreeing', delayMs: 20 },
    databases: [durable, quick],
    rpcUrl: null,
    count: payments,
    targets: { [onDisk]: { max: 3 }, [unsynced]: { max: 3 } },
  })
  if (anvilBinary() === null)
    process.stderr.write('No chain here: anvil has no program for this platform.\n')
  else {
    const chain = await startChain()
    closing.defer(() => chain.stop())
    await chain.setBalance(wallet.address, 10n ** 12n)
    const { url: rpcUrl, relayerKey } = chain
    const databaseUrl = quick.postgres.url
    await runSection({
      title: 'x402: a paid read, official facilitator on a local chain',
      order: { kind: 'official', rpcUrl, relayerKey, databaseUrl },
      databases: [durable],
      rpcUrl,
      count: Math.min(payments, 100),
      targets: {},
    })
  }
} finally {
  await closing.disposeAsync()
}
