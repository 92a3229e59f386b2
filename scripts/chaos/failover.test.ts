/**
 * Three databases with Patroni under load of every kind. Faults come in a random order. After each,
 * nothing acknowledged is lost, and nothing is done twice.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDb, sql } from '../../src/platform/db/db.ts'
import { assertDelivered, isDrained } from '../../test/support/fault/event-load.ts'
import { roundsOf } from '../../test/support/fault/rounds.ts'
import { signalAll } from '../../test/support/fault/signal-all.ts'
import { ask as askAt } from '../../test/support/start/ask.ts'
import { pathOf } from '../../test/support/start/deployment.ts'
import {
  type Member,
  missingPatroni,
  type PatroniCluster,
  rowsAt,
  startPatroni,
  superuser,
} from '../../test/support/start/patroni.ts'
import {
  assay,
  eventually,
  spawnAssay,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import {
  type Ask,
  assertNone,
  changingFeatures,
  checkAll,
  drive,
  prepareWorld,
} from './features.ts'

/** A fault begins, and ends once writes are back, or after `seconds`. */
interface Fault {
  name: string
  begin(cluster: PatroniCluster): Promise<() => Promise<void>>
  seconds?: number
}

/** A service manager starts a program again a second after it ended. */
const restartSeconds = 1

const faults: Fault[] = [
  {
    name: "leader's PostgreSQL killed",
    async begin(cluster) {
      const [postmaster = 0] = await (await cluster.leader()).postgres()
      process.kill(postmaster, 'SIGKILL')
      return async () => {}
    },
  },
  {
    name: "leader's Patroni killed",
    async begin(cluster) {
      const { patroni } = await cluster.leader()
      await patroni.kill()
      return async () => patroni.start()
    },
  },
  {
    name: 'leader killed, Patroni and PostgreSQL',
    async begin(cluster) {
      const { patroni, postgres } = await cluster.leader()
      const [postmaster = 0] = await postgres()
      await patroni.kill()
      process.kill(postmaster, 'SIGKILL')
      return async () => patroni.start()
    },
  },
  {
    name: "etcd's leader killed",
    seconds: restartSeconds,
    async begin(cluster) {
      const { etcd } = await cluster.etcdLeader()
      await etcd.kill()
      return async () => etcd.start()
    },
  },
  {
    name: 'HAProxy killed',
    seconds: restartSeconds,
    async begin({ haproxy }) {
      signalAll(await haproxy.pids(), 'SIGKILL')
      await haproxy.kill()
      return async () => haproxy.start()
    },
  },
  {
    name: 'leader stopped, then continued',
    async begin(cluster) {
      const { patroni, postgres } = await cluster.leader()
      const pids = [...(await patroni.pids()), ...(await postgres())]
      signalAll(pids, 'SIGSTOP')
      return async () => signalAll(pids, 'SIGCONT')
    },
  },
  { name: "leader's network cut", begin: async (cluster) => cut(await cluster.leader()) },
  {
    name: "synchronous standby's network cut",
    begin: async (cluster) => cut(await cluster.synchronousStandby()),
  },
  {
    name: "leader's disk full",
    seconds: 15,
    async begin(cluster) {
      const { machine } = await cluster.leader()
      machine.setFull(true)
      return async () => machine.setFull(false)
    },
  },
  {
    name: 'switchover',
    async begin(cluster) {
      await cluster.switchOver()
      return async () => {}
    },
  },
]

async function cut({ machine }: Member): Promise<() => Promise<void>> {
  machine.setConnected(false)
  return async () => machine.setConnected(true)
}

const rounds = roundsOf('CHAOS_FAULTS', 30)
const seed = roundsOf('CHAOS_SEED', Date.now() % 1_000_000)
/** A restart of HAProxy's checks, of connections, and of a caller that was refused. */
const graceSeconds = 3

/**
 * Returns every fault equally often, in an order that the seed decides. CHAOS_FAULT leaves only those
 * with this text in their name.
 */
function drawn(): Fault[] {
  let state = seed
  // The generator of Park and Miller.
  const next = () => {
    state = (state * 48_271) % 2_147_483_647
    return state
  }
  const shuffled = (all: readonly Fault[]) =>
    all.map((fault) => ({ fault, at: next() })).toSorted((a, b) => a.at - b.at)
  const chosen = faults.filter(({ name }) => name.includes(process.env.CHAOS_FAULT ?? ''))
  const turns = Array.from({ length: Math.ceil(rounds / chosen.length) }, () => shuffled(chosen))
  return turns
    .flat()
    .map(({ fault }) => fault)
    .slice(0, rounds)
}

const folder = temporaryFolder()

test(`${rounds} faults of a database with Patroni: nothing acknowledged is lost or done twice`, {
  skip: missingPatroni,
}, async (t) => {
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const cluster = await startPatroni(folder)
  t.after(() => cluster.stop())
  const onLeader = (statement: string) => rowsAt(cluster.url(superuser, 'postgres'), statement)
  await onLeader(`create role assay login password 'secret'`)
  await onLeader('create database assay owner assay')
  const databaseUrl = cluster.url('assay:secret', 'assay')
  const db = openDb({
    url: databaseUrl,
    connectionsMax: 4,
    applicationName: 'chaos',
    statementTimeoutMs: 30_000,
    onError: () => {},
  })
  t.after(() => db.close())
  const world = await prepareWorld(folder, { databaseUrl, db })
  const server = await startServer(world.env, ['--no-jobs'])
  const jobs = spawnAssay(['jobs'], world.env)
  for (const stream of [jobs.stdout, jobs.stderr]) stream.resume()
  await eventually('the jobs process runs', {
    see: () =>
      db
        .rows(sql`select from process_heartbeats where jobs is not null`)
        .then((rows) => rows.length > 0),
  })
  const ask: Ask = (question, from = '127.0.0.1') =>
    askAt(server.base, {
      ...question,
      headers: { ...question.headers, 'X-Forwarded-For': from },
    })
  const features = changingFeatures(world, ask)
  const documents = pollDocuments(server.base, [
    '/.well-known/did.json',
    '/standard/v1/skills',
    '/api/v1/openapi.json',
    pathOf(world.credential.credentialStatus.statusListCredential),
  ])

  print(
    `CHAOS_SEED=${seed}: ${rounds} faults, writes back within ${cluster.ttlSeconds + graceSeconds} s`,
  )
  const table = new Map<string, number[]>()
  for (const [i, { name, begin, seconds }] of drawn().entries()) {
    const load = drive(features)
    await pause(3_000)
    load.mark()
    const began = performance.now()
    const end = await begin(cluster)
    if (seconds !== undefined) await pause(seconds * 1_000)
    else await back(cluster)
    await end()
    const endedAfter = (performance.now() - began) / 1_000
    await cluster.whole()
    await pause(3_000)
    await load.stop()
    assertNone(load.failed)
    assert.equal(jobs.exitCode, null, 'the jobs process runs')
    const gap = load.gapSeconds('paid read')
    const healed = seconds === undefined ? 0 : endedAfter
    assert.ok(gap <= healed + cluster.ttlSeconds + graceSeconds, `no write for ${gap} s: ${name}`)
    const others = await connectionsOfOthers(cluster)
    assert.deepEqual(others, [], 'no connection of the service stays on a former leader')
    const figures = await checkAll(db, features)
    table.set(name, [...(table.get(name) ?? []), gap])
    const all = Object.entries(figures).map(([what, count]) => `${what} ${count}`)
    print(
      `${String(i + 1).padStart(2)} ${name.padEnd(38)} writes away ${gap.toFixed(1).padStart(5)} s; so far ${all.join(', ')}`,
    )
  }
  for (const { settle } of features) await settle?.()
  const figures = await checkAll(db, features)
  await eventually('every delivery has ended', { see: () => isDrained(db) })
  const delivered = await assertDelivered(db, world.arrivals)
  const failures = await documents.stop()
  assertNone(failures.failed)
  const { ended, out } = await assay(['doctor'], world.env)
  assert.equal(ended, 0, out)
  print(`\n${'fault'.padEnd(38)} times  writes away, longest`)
  for (const [name, gaps] of table)
    print(
      `${name.padEnd(38)} ${String(gaps.length).padStart(5)}  ${Math.max(...gaps).toFixed(1)} s`,
    )
  for (const [what, count] of Object.entries(figures)) print(`${what.padEnd(38)} ${count}`)
  print(`${'events, each delivered'.padEnd(38)} ${delivered}`)
  print(`${'reads of public documents, 0 failed'.padEnd(38)} ${failures.done}`)
})

/** Waits until the leader takes a write by HAProxy, and callers have noticed. */
async function back(cluster: PatroniCluster): Promise<void> {
  // A fault may need a moment to be one.
  await pause(3_000)
  await eventually('writes are back', {
    see: () =>
      rowsAt(cluster.url('assay:secret', 'assay'), 'create table back(); drop table back').then(
        () => true,
        () => false,
      ),
  })
  await pause(2_000)
}

async function connectionsOfOthers(cluster: PatroniCluster): Promise<unknown[]> {
  const leader = await cluster.leader()
  const asked = cluster.members
    .filter((member) => member !== leader)
    .map((member) =>
      rowsAt(
        member.url(superuser, 'postgres'),
        `select application_name, state from pg_stat_activity where usename = 'assay'`,
      ),
    )
  return (await Promise.all(asked)).flat()
}

function pollDocuments(base: string, paths: readonly string[]) {
  const stopping = new AbortController()
  after(() => stopping.abort())
  const failed: string[] = []
  let done = 0
  const polling = paths.map(async (path) => {
    while (!stopping.signal.aborted) {
      await pause(100)
      const status = await askAt(base, { path }).then((reply) => reply.status, String)
      if (status === 200) done++
      else failed.push(`${new Date().toISOString()} ${path}: ${status}`)
    }
  })
  return {
    async stop() {
      stopping.abort()
      await Promise.all(polling)
      return { done, failed }
    },
  }
}
