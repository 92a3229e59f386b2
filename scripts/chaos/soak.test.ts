/**
 * Two nodes and a jobs process behind HAProxy, with every feature in use at half of what they can
 * do. In the middle each process is restarted. No call fails, and nothing grows.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { newKey, type TestKey } from '../../test/support/build/keys.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { publicLine } from '../../test/support/build/workers.ts'
import { assertDelivered, isDrained } from '../../test/support/fault/event-load.ts'
import { roundsOf } from '../../test/support/fault/rounds.ts'
import { ask as askAt } from '../../test/support/start/ask.ts'
import { dashboardPaths } from '../../test/support/start/dashboard.ts'
import { pathOf } from '../../test/support/start/deployment.ts'
import {
  type Child,
  eventually,
  freePort,
  type ServerProcess,
  spawnAssay,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import { hostName, missingProxy, startProxy } from '../../test/support/start/proxies.ts'
import { testAuthority } from '../../test/support/start/receiver.ts'
import {
  type Ask,
  assertNone,
  changingFeatures,
  checkAll,
  type Drive,
  drive,
  evidenceOf,
  type Feature,
  isDone,
  newAddress,
  prepareWorld,
  refusals,
  sendLines,
  type World,
} from './features.ts'

const minutes = roundsOf('CHAOS_SOAK_MINUTES', 30)
const capacitySeconds = Math.min(20, 5 * minutes)
const sampleMs = 15_000
/** Samples after a start in which caches fill. */
const warmUpShare = 0.25
/**
 * A figure grows if the line through its samples rises by more of their mean, from the first to the
 * last, and by four times its standard error: rates of a minute overlap, and a queue that is empty
 * nearly always has no trend, nor have few samples.
 */
const growthMax = 0.05
const errorsMin = 4
const samplesMin = 10

const folder = temporaryFolder()
const print = (line: string) => process.stdout.write(`${line}\n`)

/**
 * Sends requests to the proxy. Connections of one address are kept for less time than the proxy
 * keeps them: if both end at the same moment, a request meets the end of its connection.
 */
function proxyAsk(port: number): Ask {
  const tls = { host: '127.0.0.1', port, servername: hostName, ca: testAuthority().cert }
  const kept = new Agent({ keepAlive: true, maxSockets: 64, timeout: 20_000 })
  return async ({ method = 'GET', path, headers = {}, body }, from) => {
    const sent = request({
      ...tls,
      method,
      path,
      headers: {
        Host: hostName,
        ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
        ...headers,
      },
      ...(from === undefined ? { agent: kept } : { agent: false, localAddress: from }),
    })
    const answered = once(sent, 'response')
    sent.end(body)
    const [reply] = await answered
    return {
      status: reply.statusCode ?? 0,
      headers: reply.headers,
      body: Buffer.concat(await reply.toArray()),
    }
  }
}

const readers = 12

/** The features that read. They make most of the calls, at `perSecond` together. */
function reads(
  world: World,
  ask: Ask,
  { key: { headers }, perSecond }: { key: TestKey; perSecond: number },
): Feature[] {
  const verifyHeaders = { ...headers, 'Content-Type': 'application/json' }
  const body = JSON.stringify(world.credential)
  const status = pathOf(world.credential.credentialStatus.id)
  const list = pathOf(world.credential.credentialStatus.statusListCredential)
  const calls: [name: string, call: () => Promise<boolean>][] = [
    [
      'search',
      async () => isDone(await ask({ path: `/api/v1/candidates/search?q=person`, headers })),
    ],
    [
      'verify',
      async () => {
        const path = '/api/v1/score-vc/verify'
        const reply = await ask({ method: 'POST', path, headers: verifyHeaders, body })
        return isDone(reply) && JSON.parse(reply.body.toString()).valid === true
      },
    ],
    ['status', async () => isDone(await ask({ path: status }))],
    ['status list', async () => isDone(await ask({ path: list }))],
    ['profile page', async () => isDone(await ask({ path: '/u/ada' }, newAddress()))],
    ['event feed', async () => isDone(await ask({ path: '/api/v1/webhooks/events', headers }))],
  ]
  const pauseMs = Math.max(1, Math.round((readers * 1_000) / perSecond))
  return calls.map(([name, call]) => ({ name, pauseMs, callers: readers / calls.length, call }))
}

const scored = 200

/** Evidence of people whose score is public, so each line leads to a score and a credential. */
async function evidence({ db, tokens }: World, ask: Ask): Promise<Feature> {
  const { evidence: token } = tokens
  const usernames = Array.from({ length: scored }, (_, i) => `scored-${i}`)
  const people = usernames.map((username) => publicLine({ username }))
  assert.equal(await sendLines(ask, { path: 'workers', token, lines: people }), scored)
  let items = 0
  return {
    name: 'evidence',
    pauseMs: 1_000,
    async call() {
      const lines = evidenceOf(usernames[randomInt(scored)] ?? '')
      const added = await sendLines(ask, { path: 'evidence', token, lines })
      items += added
      return added === lines.length
    },
    async check() {
      await eventually('every score is computed', {
        see: async () =>
          (await db.rows(sql`select from score_recomputations limit 1`)).length === 0,
      })
      const [row] = await db.rows<{ scores: number }>(sql`
        select count(*)::int as scores from score_snapshots where vc_sha256 is not null`)
      assert.ok((row?.scores ?? 0) > 0)
      return { 'evidence items': items, 'scores with a credential': row?.scores ?? 0 }
    },
  }
}

/** Pages of the dashboard, and a live stream that is opened again as a browser does. */
async function dashboard({ db, key }: World, ask: Ask, port: number): Promise<Feature[]> {
  const { headers } = await newSession(db, { accountId: key.accountId })
  let page = 0
  return [
    {
      name: 'dashboard page',
      pauseMs: 500,
      async call() {
        const path = dashboardPaths[page++ % dashboardPaths.length] ?? '/dashboard'
        return isDone(await ask({ path, headers }))
      },
    },
    {
      name: 'live stream',
      pauseMs: 1_000,
      async call() {
        const sent = request({
          host: '127.0.0.1',
          port,
          servername: hostName,
          ca: testAuthority().cert,
          path: '/dashboard/requests/live?after=0',
          headers: { Host: hostName, ...headers },
          agent: false,
        })
        sent.end()
        const [stream] = await once(sent, 'response')
        if (stream.statusCode !== 200) throw new Error(`a live stream got ${stream.statusCode}`)
        await once(stream, 'data')
        // The node that restarts ends it.
        await Promise.race([pause(20_000), once(stream.resume(), 'close')])
        stream.on('error', () => {})
        sent.on('error', () => {}).destroy()
        return true
      },
    },
  ]
}

/**
 * Collects the garbage of a process before each sample, and writes how many bytes are left. V8 lets
 * garbage grow to the size of what is in use, so without a collection memory says little.
 */
const collecting = `--expose-gc --import=data:text/javascript,${encodeURIComponent(`
  import { renameSync, writeFileSync } from 'node:fs'
  const file = ${JSON.stringify(join(folder, 'left-'))} + process.pid
  setInterval(() => {
    gc()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(file + '.new', String(heapUsed + external))
    renameSync(file + '.new', file)
  }, ${sampleMs / 3}).unref()`)}`

interface Figures {
  at: number
  values: Map<string, number>
}

interface Watched {
  name: string
  pid(): number
}

/** Reads what must not grow. Counters since the start are read as rates by `ratesOf`. */
async function figuresOf(db: Db, watched: readonly Watched[], calls: number): Promise<Figures> {
  const values = new Map<string, number>()
  for (const { name, pid } of watched) {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid()}/status`, 'utf8'))?.[1]
    values.set(`memory of ${name}, MiB`, Number(kilobytes) / 1_024)
    const left = join(folder, `left-${pid()}`)
    if (existsSync(left))
      values.set(`of it in use by ${name}, MiB`, Number(readFileSync(left, 'utf8')) / 2 ** 20)
    values.set(`open files of ${name}`, readdirSync(`/proc/${pid()}/fd`).length)
  }
  const [row] = await db.rows<Record<string, number>>(sql`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
      pg_database_size(current_database())::float8 as size,
      (select count(*) from pg_stat_activity where datname = current_database())::int as sessions,
      (select sum(n_dead_tup)::float8 from pg_stat_user_tables) as dead,
      (select sum(n_live_tup)::float8 from pg_stat_user_tables) as live,
      (select count(*) from webhook_deliveries where finished_at is null)::int as waiting`)
  if (row === undefined) throw new Error('no figures')
  values.set('sessions of the database', row.sessions ?? 0)
  values.set('dead rows, % of rows', (100 * (row.dead ?? 0)) / (row.live ?? 1))
  values.set('deliveries that wait', row.waiting ?? 0)
  values.set('calls', calls)
  values.set('wal', row.wal ?? 0)
  values.set('size', row.size ?? 0)
  return { at: performance.now(), values }
}

/** Returns the samples with counters as rates since the sample four before, a minute earlier. */
function ratesOf(samples: readonly Figures[]): Figures[] {
  return samples.slice(4).map(({ at, values }, i) => {
    const before = samples[i] as Figures
    const since = (name: string) => (values.get(name) ?? 0) - (before.values.get(name) ?? 0)
    const rates = new Map(values)
    for (const name of ['calls', 'wal', 'size']) rates.delete(name)
    rates.set('write-ahead log, bytes a call', since('wal') / since('calls'))
    rates.set('growth of tables and indexes, bytes a call', since('size') / since('calls'))
    return { at, values: rates }
  })
}

/** Returns by which share of their mean the line through the samples rises, and by how many standard errors. */
function growthOf(points: readonly (readonly [at: number, value: number])[]) {
  const mean = (of: readonly number[]) => of.reduce((sum, one) => sum + one, 0) / of.length
  const [ats, values] = [points.map(([at]) => at), points.map(([, value]) => value)]
  const [meanAt, meanValue] = [mean(ats), mean(values)]
  const spread = mean(ats.map((at) => (at - meanAt) ** 2))
  const slope = mean(points.map(([at, value]) => (at - meanAt) * (value - meanValue))) / spread
  const rise = slope * ((ats.at(-1) ?? 0) - (ats[0] ?? 0))
  const off = mean(points.map(([at, value]) => (value - meanValue - slope * (at - meanAt)) ** 2))
  const error = Math.sqrt(off / spread / Math.max(1, points.length - 2))
  return {
    growth: meanValue === 0 ? 0 : rise / meanValue,
    errors: points.length < samplesMin ? 0 : slope / error,
  }
}

/** Prints each figure at start, middle and end, and whether it grew since the restart. */
function printFigures(samples: readonly Figures[], restartedAt: number): string[] {
  const rates = ratesOf(samples)
  const after = rates.filter(({ at }) => at > restartedAt)
  const steady = after.slice(Math.ceil(after.length * warmUpShare))
  const chosen = [rates[0], rates.findLast(({ at }) => at < restartedAt), rates.at(-1)]
  const growing: string[] = []
  print(`\n${''.padEnd(44)}${['start', 'middle', 'end'].map((one) => one.padStart(10)).join('')}`)
  for (const name of rates[0]?.values.keys() ?? []) {
    const columns = chosen.map((one) =>
      (one?.values.get(name) ?? Number.NaN).toFixed(1).padStart(10),
    )
    const { growth, errors } = growthOf(steady.map(({ at, values }) => [at, values.get(name) ?? 0]))
    const verdict = growth > growthMax && errors > errorsMin ? 'grows' : 'flat'
    if (verdict === 'grows') growing.push(name)
    print(
      `${name.padEnd(44)}${columns.join('')}  ${verdict} (${(100 * growth).toFixed(1)} %, ${errors.toFixed(1)} standard errors)`,
    )
  }
  return growing
}

test(`${minutes} minutes of everything with a rolling restart: no call fails, and nothing grows`, {
  skip: missingProxy('haproxy'),
  timeout: (minutes + 15) * 60_000,
}, async (t) => {
  const database = await startEmbeddedPostgres({
    dataDir: join(folder, 'database'),
    durable: true,
    log: () => {},
  })
  t.after(() => database.stop())
  const db = openDb({
    url: database.url,
    connectionsMax: 4,
    applicationName: 'chaos',
    statementTimeoutMs: 60_000,
    onError: () => {},
  })
  t.after(() => db.close())
  const world = await prepareWorld(folder, { databaseUrl: database.url, db })
  const env = { ...world.env, NODES: '2', DRAIN_DELAY_SECONDS: '5' }
  const ports = [await freePort(), await freePort()]
  const collected = { ...env, NODE_OPTIONS: collecting }
  const startNode = (port: number) =>
    startServer({ ...collected, PORT: String(port) }, ['--no-jobs'])
  const startJobs = () => {
    const jobs = spawnAssay(['jobs'], collected)
    for (const stream of [jobs.stdout, jobs.stderr]) stream.resume()
    return jobs
  }
  const nodes: ServerProcess[] = await Promise.all(ports.map(startNode))
  let jobs: Child = startJobs()
  const addresses = ports.map((port) => `127.0.0.1:${port}`)
  const proxy = await startProxy('haproxy', folder, addresses)
  t.after(() => proxy.stop())
  const ask = proxyAsk(proxy.port)

  const key = await newKey(db, { credits: 100_000_000 })
  const full = drive(reads(world, ask, { key, perSecond: 1_000_000 }))
  await pause(capacitySeconds * 1_000)
  await full.stop()
  assertNone(full.failed)
  const capacity = callsOf(full) / capacitySeconds
  const features = [
    ...changingFeatures(world, ask),
    ...reads(world, ask, { key, perSecond: capacity / 2 }),
    await evidence(world, ask),
    ...(await dashboard(world, ask, proxy.port)),
  ]
  print(
    `${capacity.toFixed(0)} reads a second are the capacity. Now ${(capacity / 2).toFixed(0)}, and every other feature, for ${minutes} minutes`,
  )
  const load = drive(features)
  const watched: Watched[] = [
    { name: 'node one', pid: () => nodes[0]?.pid ?? 0 },
    { name: 'node two', pid: () => nodes[1]?.pid ?? 0 },
    { name: 'jobs', pid: () => jobs.pid ?? 0 },
  ]
  const samples: Figures[] = []
  const watch = async (untilMs: number) => {
    while (performance.now() < untilMs) {
      samples.push(await figuresOf(db, watched, callsOf(load)))
      await pause(sampleMs)
    }
  }
  const began = performance.now()
  await watch(began + minutes * 30_000)
  for (const [i, port] of ports.entries()) {
    nodes[i]?.signal('SIGTERM')
    assert.equal(await nodes[i]?.ended, 0)
    nodes[i] = await startNode(port)
    await eventually('the node is ready', {
      see: async () =>
        (await askAt(`http://127.0.0.1:${port}`, { path: '/readyz' })).status === 200,
    })
    // As the proxy does, before the next one stops.
    await pause(3_000)
  }
  const jobsEnded = once(jobs, 'exit')
  jobs.kill('SIGTERM')
  assert.deepEqual(await jobsEnded, [0, null])
  jobs = startJobs()
  const restartedAt = performance.now()
  print(
    `both nodes and the jobs process restarted within ${((restartedAt - began - minutes * 30_000) / 1_000).toFixed(0)} s`,
  )
  await watch(began + minutes * 60_000)
  await load.stop()

  for (const [name, { done, refused }] of load.counts)
    print(`${name.padEnd(44)}${String(done).padStart(10)}  ${refused} with 503`)
  const growing = printFigures(samples, restartedAt)
  const tables = await db.rows<{ name: string; mib: number; live: number; dead: number }>(sql`
    select relname as name, pg_total_relation_size(relid) / 1048576.0::float8 as mib,
      n_live_tup as live, n_dead_tup as dead
    from pg_stat_user_tables order by mib desc limit 12`)
  print(`\n${'largest tables with their indexes'.padEnd(44)}       MiB      rows      dead`)
  for (const { name, mib, live, dead } of tables)
    print(
      `${name.padEnd(44)}${mib.toFixed(1).padStart(10)}${String(live).padStart(10)}${String(dead).padStart(10)}`,
    )
  for (const { settle } of features) await settle?.()
  const figures = await checkAll(db, features)
  await eventually('every delivery has ended', { see: () => isDrained(db) })
  const delivered = await assertDelivered(db, world.arrivals)
  for (const [what, count] of Object.entries({ ...figures, 'events, each delivered': delivered }))
    print(`${what.padEnd(44)}${String(count).padStart(10)}`)
  print(`${'failed calls'.padEnd(44)}${String(load.failed.length + refusedOf(load)).padStart(10)}`)
  assertNone(load.failed)
  assertNone(refusals)
  assert.deepEqual(growing, [])
})

const callsOf = ({ counts }: Drive) => [...counts.values()].reduce((sum, { done }) => sum + done, 0)

const refusedOf = ({ counts }: Drive) =>
  [...counts.values()].reduce((sum, { refused }) => sum + refused, 0)
