/**
 * Measures webhook delivery beside its limits in one run: the bare HTTP client to the same
 * receiver, leasing and acknowledging without sending, the bare client with a new TLS connection
 * for each POST, and pg-boss with the same load. 50 endpoints over TLS on one host get each event
 * 10 times; database, receiver and jobs process share this machine. WEBHOOK_EVENTS sets the events
 * (1,000), WEBHOOK_PARTS selects among rates, lags, memory and peer, WEBHOOK_PACE sets the events a
 * second of the steady part.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { migrate } from '../src/database/migrate.ts'
import { createAuthority } from '../src/demo/certificates.ts'
import { openDb, sql } from '../src/platform/db/db.ts'
import { eventTypes } from '../src/webhooks/events/event-types.ts'
import { publishEvents } from '../src/webhooks/events/outbox.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench, startPostgres } from './children.ts'
import { type Finding, report } from './measure.ts'
import { databaseSeconds } from './serving.ts'
import { installPeer, peerDrained, peerLags } from './webhooks-peer.ts'
import {
  addEndpoints,
  type BenchJobs,
  fanOut,
  fresh,
  type Lags,
  lagsOf,
  pauseAll,
  publish,
  resumeAll,
  ringText,
  someEvent,
  startBenchJobs,
  startBenchReceiver,
  statementsToPublish,
  steadily,
  until,
  untilDelivered,
  untilDispatched,
} from './webhooks-setup.ts'

const eventCount = Number(process.env.WEBHOOK_EVENTS ?? 1_000)
const parts = new Set((process.env.WEBHOOK_PARTS ?? 'rates,lags,memory,peer').split(','))
const lagSeconds = 10
const waitingCount = Number(process.env.WEBHOOK_WAITING ?? 100_000)

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')
const caFile = join(folder, 'ca.pem')
const authority = createAuthority()
writeFileSync(caFile, authority.cert)

const receiver = await startBenchReceiver(authority.certify('127.0.0.1'))
const server = await startPostgres({ dataDir, durable: true })
await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
const db = openDb({
  url: server.url,
  connectionsMax: 10,
  connectionWaitMs: 30_000,
  statementTimeoutMs: 30_000,
  applicationName: 'bench',
  onError: () => {},
})

/** POSTs a second, and microseconds of processor time for a POST by process. */
interface Rate {
  perSecond: number
  senderUs: number
  receiverUs: number
  databaseUs: number
  /** Round trips of the jobs process, `begin` and `commit` included. */
  roundTrips: number
}

/** Measures the processor time of all participants for `count` POSTs in `work`. */
async function measured(
  count: number,
  sender: () => Promise<{ processorUs: number; roundTrips: number }>,
  work: () => Promise<unknown>,
): Promise<Rate> {
  const [sent, received, database] = [
    await sender(),
    await receiver.take(),
    databaseSeconds(dataDir),
  ]
  const began = performance.now()
  await work()
  const took = performance.now() - began
  const [sentThen, receivedThen] = [await sender(), await receiver.take()]
  return {
    perSecond: (count * 1_000) / took,
    senderUs: (sentThen.processorUs - sent.processorUs) / count,
    receiverUs: (receivedThen.processorUs - received.processorUs) / count,
    databaseUs: ((databaseSeconds(dataDir) - database) * 1e6) / count,
    roundTrips: (sentThen.roundTrips - sent.roundTrips) / count,
  }
}

/** The bare client: 64 concurrent sequences of POSTs. */
async function bare(count: number, path: string): Promise<Rate> {
  const agent = new Agent({ connections: 64, allowH2: false, connect: { ca: authority.cert } })
  const body = JSON.stringify(eventTypes['score.revised'].example)
  const send = (posts: number) => {
    let left = posts
    const line = async (): Promise<void> => {
      while (left-- > 0) {
        const answer = await agent.request({ origin: receiver.url, path, method: 'POST', body })
        await answer.body.dump()
      }
    }
    return Promise.all(Array.from({ length: 64 }, line))
  }
  const ownCost = async () => {
    const { user, system } = process.cpuUsage()
    return { processorUs: user + system, roundTrips: 0 }
  }
  await send(count / 10)
  const rate = await measured(count, ownCost, () => send(count))
  await agent.close()
  return rate
}

/** Drains a backlog of `count` events, from the first lease to the last acknowledgement. */
async function drained(jobs: BenchJobs, path: string, count = eventCount): Promise<Rate> {
  await fresh(db, receiver, path)
  await publish(db, count / 10)
  await untilDelivered(db)
  await pauseAll(db)
  await publish(db, count)
  await untilDispatched(db)
  const rate = await measured(
    count * fanOut,
    () => jobs.report(),
    async () => {
      await resumeAll(db)
      await untilDelivered(db)
    },
  )
  const [row] = await db.rows<{ failed: number }>(
    sql`select count(*)::int as failed from webhook_attempts where result <> 'succeeded'`,
  )
  if (row?.failed !== 0) throw new Error(`${row?.failed} attempts failed`)
  return rate
}

/**
 * Publishes ten seconds of events at a steady rate, each in its own transaction. Measures from
 * commit to arrival at the healthy endpoints, where no attempt may fail.
 */
async function lags(perSecond: number, bad: readonly string[]): Promise<Lags> {
  const jobs = await startBenchJobs({ url: server.url, caFile, sends: true })
  await fresh(db, receiver, '/hook')
  await addEndpoints(db, bad)
  await publish(db, 50)
  await untilTaken()
  await receiver.take()
  const committed = await steadily({ perSecond, seconds: lagSeconds }, async (i) => {
    const event = someEvent(i)
    await db.transaction((tx) => publishEvents(tx, [event], new Date()))
    return event.workerId
  })
  await untilTaken()
  const { arrivals } = await receiver.take()
  const rows = await db.rows<{ id: string; workerId: string }>(
    sql`select id, worker_id as "workerId" from webhook_events`,
  )
  await jobs.stop()
  const byId = new Map(
    rows.flatMap(({ id, workerId }): [string, number][] => {
      const at = committed.get(workerId)
      return at === undefined ? [] : [[id, at]]
    }),
  )
  const { count, ...found } = lagsOf(arrivals, byId)
  if (count !== committed.size * fanOut) throw new Error(`only ${count} arrived`)
  return found
}

/** Waits until every healthy endpoint has everything. */
async function untilTaken(): Promise<void> {
  await untilDispatched(db)
  await until(async () => {
    const rows = await db.rows(sql`
      select 1 from webhook_deliveries d join webhook_endpoints n on n.id = d.endpoint_id
      where d.status in ('pending', 'sending') and n.url like '%/hook/%' limit 1`)
    return rows.length === 0
  })
  const [row] = await db.rows<{ failed: number; why: string }>(sql`
    select count(*)::int as failed, string_agg(distinct error_code, ', ') as why
    from webhook_attempts a join webhook_endpoints n on n.id = a.endpoint_id
    where a.result <> 'succeeded' and n.url like '%/hook/%'`)
  if (row?.failed !== 0) throw new Error(`${row?.failed} attempts failed: ${row?.why}`)
}

/**
 * Returns the peak resident memory in MB of a whole jobs process while it dispatches and sends a
 * backlog.
 */
async function residentWaiting(): Promise<number> {
  await fresh(db, receiver, '/hook')
  await publish(db, waitingCount / fanOut)
  const env = {
    ...process.env,
    DATABASE_URL: server.url,
    ASSAY_DATA_DIR: join(folder, 'jobs'),
    SECRETS_KEYRING: ringText,
    WEBHOOK_PORTS: 'any',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
    WEBHOOK_CA_FILE: caFile,
    METRICS_PORT: 'off',
    PUBLIC_URL: 'https://scores.example.org',
  }
  const child = endWithBench(
    spawn(process.execPath, [...flags.every, ...flags.flatMemory, program, 'jobs'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: join(import.meta.dirname, '..'),
    }),
  )
  await untilDispatched(db)
  await pause(5_000)
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  child.kill('SIGKILL')
  await fresh(db, receiver, '/hook')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
}

/** Processor time of a POST over all processes. */
const costOf = ({ senderUs, receiverUs, databaseUs }: Rate): number =>
  senderUs + receiverUs + databaseUs

function findingsOf(name: string, rate: Rate): Finding[] {
  const unit = 'µs of processor a POST'
  return [
    { name, value: rate.perSecond, unit: '/s' },
    { name: '  sender', value: rate.senderUs, unit },
    { name: '  receiver', value: rate.receiverUs, unit },
    { name: '  database', value: rate.databaseUs, unit },
  ]
}

async function rates(): Promise<number> {
  const raw = await bare(eventCount * fanOut, '/hook')
  const idle = await startBenchJobs({ url: server.url, caFile, sends: false })
  const leasing = await drained(idle, '/hook')
  await idle.stop()
  const jobs = await startBenchJobs({ url: server.url, caFile, sends: true })
  const warm = await drained(jobs, '/hook')
  const rawCold = await bare(1_500, '/cold')
  const cold = await drained(jobs, '/cold', 150)
  await jobs.stop()
  // The rate that is left if one machine does both, one after the other.
  const both = 1 / (1 / raw.perSecond + 1 / leasing.perSecond)
  report(`webhooks: rates, ${eventCount} events to ${fanOut} endpoints each`, [
    ...findingsOf('limit: the bare client, warm', raw),
    ...findingsOf('limit: leasing and acknowledging alone', leasing),
    { name: 'limit: both on one machine', value: both, unit: '/s' },
    ...findingsOf('delivered, warm', warm),
    { name: '  round trips to the database', value: warm.roundTrips, unit: 'a POST' },
    {
      name: 'of the bare client',
      value: warm.perSecond / raw.perSecond,
      unit: '×',
      target: { min: 0.15 },
    },
    {
      name: 'of leasing alone',
      value: warm.perSecond / leasing.perSecond,
      unit: '×',
      target: { min: 0.4 },
    },
    { name: 'of both on one machine', value: warm.perSecond / both, unit: '×' },
    {
      name: 'of leasing alone, by processor time',
      value: costOf(leasing) / costOf(warm),
      unit: '×',
    },
    ...findingsOf('limit: the bare client, cold TLS', rawCold),
    ...findingsOf('delivered, cold TLS', cold),
    {
      name: 'of the bare client, cold',
      value: cold.perSecond / rawCold.perSecond,
      unit: '×',
      target: { min: 0.6 },
    },
    {
      name: 'of the bare client, cold, by processor time',
      value: costOf(rawCold) / costOf(cold),
      unit: '×',
    },
  ])
  return warm.perSecond
}

const badPaths = () => ['https://127.0.0.1:1/dead', `${receiver.url}/slow`, `${receiver.url}/drip`]

async function reportLags(perSecond: number): Promise<void> {
  await fresh(db, receiver, '/hook')
  const statements = await statementsToPublish(db)
  const clean = await lags(perSecond, [])
  const beside = await lags(perSecond, badPaths())
  report(`webhooks: commit to arrival, ${Math.round(perSecond * fanOut)} POSTs a second`, [
    { name: 'in the business transaction', value: statements, unit: 'INSERT', target: { max: 1 } },
    { name: 'p50', value: clean.p50, unit: 'ms', target: { max: 50 } },
    { name: 'p99', value: clean.p99, unit: 'ms', target: { max: 300 } },
    { name: 'beside a dead, a slow, a dripping one, p50', value: beside.p50, unit: 'ms' },
    {
      name: 'beside a dead, a slow, a dripping one, p99',
      value: beside.p99,
      unit: 'ms',
      target: { max: 1.5 * clean.p99 + 50 },
    },
  ])
}

async function reportPeer(perSecond: number): Promise<void> {
  const peer = { db, url: server.url, ca: authority.cert, receiver }
  const pace = { perSecond, seconds: lagSeconds }
  const batches = await peerDrained(peer, eventCount)
  const findings: Finding[] = [
    { name: 'delivered, warm, in batches of 32', value: batches.perSecond, unit: '/s' },
    { name: '  sender', value: batches.workerUs, unit: 'µs of processor a POST' },
  ]
  for (const shape of ['batches', 'singly'] as const)
    for (const bad of [[], badPaths()]) {
      const { p50, p99, missing } = await peerLags(peer, shape, { pace, bad })
      const name = `${shape}, ${bad.length === 0 ? 'clean' : 'beside the bad ones'}`
      findings.push(
        { name: `${name}, p50`, value: p50, unit: 'ms' },
        { name: `${name}, p99`, value: p99, unit: 'ms' },
        { name: `${name}, not there after two seconds`, value: missing, unit: 'POSTs' },
      )
    }
  report(
    `webhooks: the same on pg-boss, ${Math.round(perSecond * fanOut)} POSTs a second`,
    findings,
  )
}

try {
  const warm = parts.has('rates') ? await rates() : 4_000
  // Events a second at a quarter of the measured capacity.
  const pace = Number(process.env.WEBHOOK_PACE ?? warm / 4 / fanOut)
  if (parts.has('lags')) await reportLags(pace)
  if (parts.has('memory'))
    report('webhooks: memory of a jobs process', [
      {
        name: `most resident, ${waitingCount / 1_000} thousand deliveries waiting`,
        value: await residentWaiting(),
        unit: 'MB',
        target: { max: 250 },
      },
    ])
  if (parts.has('peer') && installPeer()) await reportPeer(pace)
} finally {
  await db.close()
  receiver.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
