/**
 * Measures paid reads by API key over HTTP, on an embedded database that waits for its disk, at 1,
 * 64 and 256 connections, for one account and for 100. Beside them: the same routes unmetered,
 * without the request log, with traces of a tenth, with one statement a step, without a database,
 * and bare node:http with the same bytes; for one caller, also a plain service with one or six
 * statements a read. Shows the processor time of server, database and load
 * generator, which share the machine, and the statements of a read. Then measures debits a second.
 * All contestants take turns in one run.
 */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EmbeddedPostgres } from '../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDb } from '../src/platform/db/db.ts'
import { forkBench } from './children.ts'
import { allowCounting, beginCounting, counted, startCounted } from './counted-postgres.ts'
import { debitsOf } from './credits-debits.ts'
import type { CreditsPeerOrder } from './credits-peer.ts'
import type { CreditsServerOrder } from './credits-server.ts'
import {
  type Account,
  makeAccount,
  makePeerTables,
  makeWorkers,
  type Route,
  readsFile,
  routeNames,
  routes,
  scoreId,
  username,
} from './credits-setup.ts'
import { type Finding, median, report } from './measure.ts'
import {
  bareServer,
  cpuSeconds,
  databaseSeconds,
  fetchAnswer,
  load,
  onceMessage,
  publicUrl,
  startService,
  type Target,
} from './serving.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
/** V8 compiles busy code for several rounds. */
const warmUpRounds = 3
const accountsCount = 100

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')

interface Read {
  perSecond: number
  /** Microseconds of processor time for a read. */
  serverUs: number
  databaseUs: number
  generatorUs: number
  /**
   * Statements of a read, each a round trip; and reads charged by one statement, which waits for
   * the disk once.
   */
  statements: number
  charged: number
  p50Ms: number
  p99Ms: number
}

async function measureReads(
  db: Db,
  { target, file, connections }: { target: Target; file: string; connections: number },
): Promise<Read> {
  await beginCounting(db)
  const [server, database] = [cpuSeconds(target.pids), databaseSeconds(dataDir)]
  const order = { requestsFile: file, expectedStatus: 200, connections, seconds }
  const { answers, p50Ms, p99Ms, ...took } = await load({ ...order, port: target.port })
  const us = (spent: number): number => (spent / answers) * 1e6
  const spent = {
    serverUs: us(cpuSeconds(target.pids) - server),
    databaseUs: us(databaseSeconds(dataDir) - database),
    generatorUs: us(took.cpuSeconds),
  }
  const { statements, charging } = await counted(db)
  return {
    perSecond: answers / took.seconds,
    ...spent,
    statements: statements / answers,
    charged: charging === 0 ? 0 : answers / charging,
    p50Ms,
    p99Ms,
  }
}

/** BENCH_ROUTES selects routes. */
const routesWanted = routeNames.filter((route) =>
  (process.env.BENCH_ROUTES ?? routeNames.join()).split(',').includes(route),
)

function startOther(kind: CreditsServerOrder['kind'], url: string) {
  const worker = { username: username(1), scoreId: scoreId(1) }
  return startTarget('credits-server.ts', { kind, url, publicUrl, ...worker })
}

async function startTarget(file: string, order: CreditsServerOrder | CreditsPeerOrder) {
  const child = forkBench(file, order)
  const [{ port }] = (await onceMessage(child)) as [{ port: number }]
  return { port, pids: [child.pid as number], stop: () => child.disconnect() }
}

/** Returns medians of rounds in which the contestants take turns. The first rounds only warm up. */
async function compare<Name extends string>(
  contestants: Record<Name, () => Promise<Read>>,
): Promise<Record<Name, Read>> {
  const names = Object.keys(contestants) as Name[]
  const all = new Map<Name, Read[]>(names.map((name) => [name, []]))
  for (let round = 0; round < warmUpRounds + rounds; round++)
    for (const name of names) {
      const read = await contestants[name]()
      if (round >= warmUpRounds) all.get(name)?.push(read)
    }
  const middle = (name: Name): Read => {
    const of = (key: keyof Read) => median((all.get(name) ?? []).map((read) => read[key]))
    return {
      perSecond: of('perSecond'),
      serverUs: of('serverUs'),
      databaseUs: of('databaseUs'),
      generatorUs: of('generatorUs'),
      statements: of('statements'),
      charged: of('charged'),
      p50Ms: of('p50Ms'),
      p99Ms: of('p99Ms'),
    }
  }
  return Object.fromEntries(names.map((name) => [name, middle(name)])) as Record<Name, Read>
}

function findings(name: string, read: Read): Finding[] {
  const grouping: Finding[] = [
    { name: '  statements', value: read.statements, unit: 'a read' },
    { name: '  charged by one commit', value: read.charged, unit: 'reads' },
  ]
  return [
    { name, value: read.perSecond, unit: 'reads/s' },
    { name: '  server', value: read.serverUs, unit: 'µs of processor a read' },
    { name: '  database', value: read.databaseUs, unit: 'µs of processor a read' },
    { name: '  generator', value: read.generatorUs, unit: 'µs of processor a read' },
    ...(read.statements > 0.01 ? grouping : []),
    { name: '  p50', value: read.p50Ms, unit: 'ms' },
    { name: '  p99', value: read.p99Ms, unit: 'ms' },
  ]
}

interface Targets {
  paid: Target
  unmetered: Target
  /** Keeps no request log. */
  unlogged: Target
  /** Sends a tenth of its requests to a collector. */
  traced: Target
  single: Target
  memory: Target
  bare: Target
}

interface Files {
  many: string
  one: string
}

async function compareAt64(db: Db, route: Route, { many, one }: Files, targets: Targets) {
  const { paid, unmetered, unlogged, traced, single, memory, bare } = targets
  const reads = (target: Target, file: string) => () =>
    measureReads(db, { target, file, connections: 64 })
  const at64 = await compare({
    ours: reads(paid, many),
    'without the request log': reads(unlogged, many),
    'with traces': reads(traced, many),
    'one account': reads(paid, one),
    unmetered: reads(unmetered, many),
    'one by one': reads(single, many),
    'one account, one by one': reads(single, one),
    'free of a database': reads(memory, many),
    'node:http': reads(bare, many),
  })
  const { ours } = at64
  const gain = (over: Read, of: Read = ours): number => of.perSecond / over.perSecond
  const free = at64['free of a database']
  const cost = ({ serverUs, databaseUs, generatorUs }: Read) => serverUs + databaseUs + generatorUs
  report(`${route}: paid reads by key, 64 connections`, [
    ...Object.entries(at64).flatMap(([name, read]) => findings(name, read)),
    { name: 'p99', value: ours.p99Ms, unit: 'ms', target: { max: 10 } },
    { name: 'ours / free of a database', value: gain(free), unit: '×', target: { min: 0.3 } },
    {
      name: 'ours / one by one',
      value: gain(at64['one by one']),
      unit: '×',
      target: { min: 2.5 },
    },
    {
      name: 'ours / one by one, one account',
      value: gain(at64['one account, one by one'], at64['one account']),
      unit: '×',
      target: { min: 6 },
    },
    {
      name: 'ours / free of a database, of all processor time',
      value: cost(free) / cost(ours),
      unit: '×',
    },
    {
      name: 'ours / without the request log',
      value: gain(at64['without the request log']),
      unit: '×',
      target: { min: 0.95 },
    },
    {
      name: 'with traces / ours',
      value: gain(ours, at64['with traces']),
      unit: '×',
      target: { min: 0.95 },
    },
    { name: 'ours / unmetered', value: gain(at64.unmetered), unit: '×' },
    { name: 'ours / node:http', value: gain(at64['node:http']), unit: '×' },
  ])
}

async function compareAt(
  db: Db,
  { route, connections }: { route: Route; connections: number },
  { many, one }: Files,
  { paid, unmetered, memory, bare }: Targets,
): Promise<void> {
  const reads = (target: Target, file: string) => () =>
    measureReads(db, { target, file, connections })
  const compared = await compare({
    'ours, 100 accounts': reads(paid, many),
    'ours, one account': reads(paid, one),
    unmetered: reads(unmetered, many),
    'free of a database': reads(memory, many),
    'node:http': reads(bare, many),
  })
  const ratio = compared['ours, 100 accounts'].perSecond / compared['free of a database'].perSecond
  report(`${route}: paid reads by key, ${connections} connection${connections === 1 ? '' : 's'}`, [
    ...Object.entries(compared).flatMap(([name, read]) => findings(name, read)),
    { name: 'ours / free of a database', value: ratio, unit: '×' },
  ])
}

/** Measures scores for one caller that reads one after the other beside a plain service. */
async function compareSeries(db: Db, url: string, { many }: Files, { paid }: Targets) {
  const peerOf = (kind: CreditsPeerOrder['kind']) => startTarget('credits-peer.ts', { kind, url })
  const [six, one] = [await peerOf('six statements'), await peerOf('one statement')]
  const reads = (target: Target) => () => measureReads(db, { target, file: many, connections: 1 })
  const compared = await compare({
    ours: reads(paid),
    'a plain service with six statements': reads(six),
    'a plain service with one statement': reads(one),
  })
  for (const peer of [six, one]) peer.stop()
  const { ours, ...peers } = compared
  report('score: paid reads by key, one after the other', [
    ...Object.entries(compared).flatMap(([name, read]) => findings(name, read)),
    ...Object.entries(peers).map(([name, { perSecond }], i) => ({
      name: `ours / ${name}`,
      value: ours.perSecond / perSecond,
      unit: '×',
      target: { min: i === 0 ? 1 : 0.8 },
    })),
  ])
}

async function readsOf(
  db: Db,
  url: string,
  { hot, spread }: { hot: Account; spread: readonly Account[] },
): Promise<void> {
  const env = {
    DATABASE_URL: url,
    ASSAY_DATA_DIR: join(folder, 'service'),
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    LOG_LEVEL: process.env.BENCH_LOG_LEVEL ?? 'info',
  }
  const paid = await startService(env)
  const unmetered = await startService({ ...env, METERING: 'off' })
  const unlogged = await startService({ ...env, REQUEST_LOG_DAYS: '0' })
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const { port: collectorPort } = collector.address() as AddressInfo
  const tracing = { TRACES_URL: `http://127.0.0.1:${collectorPort}`, TRACES_SAMPLING: '0.1' }
  const traced = await startService({ ...env, ...tracing })
  const single = await startOther('one by one', url)
  const memory = await startOther('free of a database', url)
  for (const route of routesWanted) {
    const manyKeys = spread.flatMap(({ keys }) => keys)
    const files = {
      many: readsFile(join(folder, `many-${route}`), route, manyKeys),
      one: readsFile(join(folder, `one-${route}`), route, hot.keys),
    }
    const answer = await fetchAnswer(paid.port, {
      method: 'GET',
      path: routes[route](1),
      headers: { Authorization: `Bearer ${hot.keys[0]}` },
    })
    const bare = await bareServer(answer)
    const targets = { paid, unmetered, unlogged, traced, single, memory, bare }
    if (route === 'score') {
      await makePeerTables(db, answer.body.toString())
      await compareSeries(db, url, files, targets)
    }
    await compareAt64(db, route, files, targets)
    for (const connections of [1, 256]) await compareAt(db, { route, connections }, files, targets)
    bare.stop()
  }
  for (const server of [single, memory]) server.stop()
  for (const server of [paid, unmetered, unlogged, traced]) await server.stop()
  collector.close()
  collector.closeAllConnections()
}

async function run({ url }: EmbeddedPostgres): Promise<void> {
  await migrate(url, join(import.meta.dirname, '../migrations'), new Date())
  const db = openDb({
    url,
    connectionsMax: 10,
    applicationName: 'bench',
    statementTimeoutMs: 0,
    connectionWaitMs: 30_000,
    onError: () => {},
  })
  await allowCounting(db)
  await makeWorkers(db)
  const hot = await makeAccount(db, 20)
  const spread: Account[] = []
  while (spread.length < accountsCount) spread.push(await makeAccount(db, 1))
  await readsOf(db, url, { hot, spread })
  while (spread.length < 1_000) spread.push(await makeAccount(db, 1))
  const order = { url, seconds, rounds, scriptFile: join(folder, 'debit.sql') }
  await debitsOf(db, { ...order, name: '1,000 accounts', accounts: spread })
  await debitsOf(db, { ...order, name: 'one account', accounts: [hot] })
  await db.close()
}

const postgres = await startCounted(dataDir)
try {
  await run(postgres)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
