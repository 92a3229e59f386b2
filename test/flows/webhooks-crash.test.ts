/**
 * A jobs process or its PostgreSQL is killed under load. Every committed event reaches every
 * endpoint, and a repeated delivery has the same event id.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.ts'
import { type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { testRingText } from '../support/build/webhooks.ts'
import {
  type Arrivals,
  assertArrived,
  eventLoad,
  isDrained,
  startArrivals,
} from '../support/fault/event-load.ts'
import { roundsOf } from '../support/fault/rounds.ts'
import {
  type Child,
  type Env,
  eventually,
  killPostgres,
  report,
  spawnAssay,
  temporaryFolder,
} from '../support/start/processes.ts'
import { testAuthority } from '../support/start/receiver.ts'

const jobsKills = roundsOf('CHAOS_JOBS_KILLS', 3)
const postgresKills = roundsOf('CHAOS_DELIVERING_POSTGRES_KILLS', 1)
const endpointCount = 10
/** For ten endpoints each. `npm run chaos` makes a thousand deliveries a second. */
const eventsASecond = roundsOf('CHAOS_EVENTS_A_SECOND', 25)

let db: Db
let postgres: EmbeddedPostgres
// Registered before the folder, because hooks run in order and the folder's own hook removes it.
after(async () => {
  await db.close()
  await postgres.stop()
})

const folder = temporaryFolder()
const caFile = join(folder, 'ca.pem')
writeFileSync(caFile, testAuthority().cert)
const env: Env = {
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  SECRETS_KEYRING: testRingText,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  WEBHOOK_CA_FILE: caFile,
  WEBHOOK_RETRY_SCHEDULE: '1,1,1,1,1,1,1,1,1',
}

before(async () => {
  // This process holds the database open as well, so that it outlives every jobs process.
  postgres = await startEmbeddedPostgres({ dataDir: folder, durable: true, log: () => {} })
  await report(['migrate'], env)
  const options = { connectionsMax: 4, applicationName: 'chaos', onError: () => {} }
  db = openDb({ url: postgres.url, statementTimeoutMs: 30_000, ...options })
})

function startJobs(): Child {
  const jobs = spawnAssay(['jobs'], env)
  jobs.stdout.resume()
  jobs.stderr.resume()
  return jobs
}

async function endOf(jobs: Child, signal: NodeJS.Signals): Promise<void> {
  const ended = once(jobs, 'exit')
  jobs.kill(signal)
  await ended
}

/**
 * Waits for a number of requests that differs each round, so that kills hit every step of a
 * delivery.
 */
async function arrivalsBeforeKill(arrivals: Arrivals, round: number): Promise<void> {
  const count = arrivals.count() + eventsASecond * (5 + ((round * 3.71) % 15))
  await eventually(`${count} requests`, {
    see: async () => arrivals.count() >= count,
  })
}

/**
 * Ends the leases of the dead process now instead of after a minute. No other process may be
 * running. Returns their number.
 */
async function letLeasesRunOut(): Promise<number> {
  return db.run(sql`
    update webhook_deliveries set lease_until = now() - interval '1 second'
    where status = 'sending'`)
}

async function drained(): Promise<void> {
  await eventually('every delivery has ended', {
    withinMs: 240_000,
    see: () => isDrained(db).catch(() => false),
  })
}

async function clean(): Promise<void> {
  await db.run(sql`truncate webhook_events, webhook_deliveries, webhook_attempts`)
  await db.run(sql`truncate webhook_secrets, webhook_endpoints`)
}

test('SIGKILL of the jobs process: every committed event reaches every endpoint, and no rolled-back event does', async (t) => {
  const arrivals = await startArrivals(db, endpointCount)
  after(() => arrivals.close())
  const load = eventLoad(db, arrivals, eventsASecond)
  let interrupted = 0
  let livedMs = 0
  for (let round = 0; round < jobsKills; round++) {
    const before = arrivals.count()
    const jobs = startJobs()
    await eventually('it delivers', { see: async () => arrivals.count() > before })
    const began = performance.now()
    await arrivalsBeforeKill(arrivals, round)
    livedMs += performance.now() - began
    await endOf(jobs, 'SIGKILL')
    interrupted += await letLeasesRunOut()
  }
  const perSecond = (arrivals.count() / livedMs) * 1_000
  load.stop()
  await load.ended
  const last = startJobs()
  await drained()
  await endOf(last, 'SIGTERM')
  const { repeats, summary } = await assertArrived(db, load.published, arrivals)
  assert.ok(repeats <= interrupted, `${repeats} repeats of ${interrupted} interrupted attempts`)
  await clean()
  t.diagnostic(
    `${jobsKills} times SIGKILL of the jobs process at ${perSecond.toFixed(0)} deliveries a second; ` +
      `${interrupted} attempts were under way. ${summary}`,
  )
})

test('SIGKILL of PostgreSQL: every committed event reaches every endpoint, and the jobs process recovers', async (t) => {
  const arrivals = await startArrivals(db, endpointCount)
  after(() => arrivals.close())
  const load = eventLoad(db, arrivals, eventsASecond)
  const jobs = startJobs()
  const began = performance.now()
  for (let round = 0; round < postgresKills; round++) {
    await arrivalsBeforeKill(arrivals, round)
    await killPostgres(folder)
  }
  await arrivalsBeforeKill(arrivals, postgresKills)
  load.stop()
  await load.ended
  const perSecond = (arrivals.count() / (performance.now() - began)) * 1_000
  await endOf(jobs, 'SIGTERM')
  // Orphaned leases: the connection broke during the commit of the claim, so the process does not
  // know that it holds them.
  const orphaned = await letLeasesRunOut()
  const last = startJobs()
  await drained()
  await endOf(last, 'SIGTERM')
  const { summary } = await assertArrived(db, load.published, arrivals)
  await clean()
  t.diagnostic(
    `${postgresKills} times SIGKILL of PostgreSQL at ${perSecond.toFixed(0)} deliveries a second, its restarts included; ` +
      `${orphaned} leases were nobody's. ${summary}`,
  )
})
