/**
 * A primary, three replicas and two servers. Workers are hidden in five ways while replicas lag,
 * stand still, are stopped and are killed, and servers are stopped. Each read that begins after the
 * answer must see it. `CHAOS_WITHOUT_WAIT=1` takes the wait away, and the run must fail.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { tendLists } from '../../src/credentials/issue.ts'
import { revokeDigests } from '../../src/credentials/revoke.ts'
import { answeringNobody, type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { eraseWorker } from '../../src/privacy/worker-data.ts'
import { changeConsent } from '../../src/scoring/scores/keep-sharing.ts'
import { scoreWorkers } from '../../src/scoring/scores/score-workers.ts'
import { indexQueuedWorkers } from '../../src/workers/candidates/search-indexer.ts'
import type { Permission } from '../../src/workers/schema.ts'
import { contextAt } from '../../test/support/build/actions.ts'
import { names } from '../../test/support/build/candidates.ts'
import { issuedAt, signer } from '../../test/support/build/credentials.ts'
import { opened } from '../../test/support/build/disputes.ts'
import { newKey } from '../../test/support/build/keys.ts'
import { issuer, keySince } from '../../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  enough,
  scoredAt,
  scoring,
} from '../../test/support/build/scores.ts'
import { createSigningKey } from '../../test/support/build/signing-keys.ts'
import { signalAll } from '../../test/support/fault/signal-all.ts'
import { ask } from '../../test/support/start/ask.ts'
import { onServer } from '../../test/support/start/database.ts'
import {
  eventually,
  freePort,
  report,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import {
  missingReplicas,
  type Streaming,
  startPrimary,
} from '../../test/support/start/streaming.ts'

const hidesMax = Number(process.env.CHAOS_HIDES ?? 400)
const waits = process.env.CHAOS_WITHOUT_WAIT !== '1'
/** Changes under way at a time. Each waits for a second. */
const lanes = 120
const delaysMs = [0, 0, 0, 100, 300, 600, 1_500]

interface Target {
  workerId: string
  username: string
  scoreId: string
  vcSha256: Buffer
  statusToken: string
}

async function makeTargets(db: Db, count: number): Promise<Target[]> {
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, issuedAt)
  await addSources(db)
  for (let made = 0; made < count; made += 200) {
    const workerIds = await addPublicWorkers(db, Math.min(200, count - made))
    await Promise.all(workerIds.map((workerId) => addEvidence(db, workerId, enough)))
    const due = workerIds.map((workerId) => ({ workerId, correction: null }))
    await db.transaction((tx) => scoreWorkers(tx, scoring, due, scoredAt))
  }
  await indexQueuedWorkers(db, names)
  await db.run(sql`analyze`)
  return db.rows<Target>(sql`
    select worker_id as "workerId", username, encode(snapshot_id, 'hex') as "scoreId",
      vc_sha256 as "vcSha256", encode(status_token, 'hex') as "statusToken"
    from profiles join score_snapshots using (worker_id)`)
}

/** A way to hide something of a worker, and the read that must not show it any more. */
interface Way {
  name: string
  hide(db: Db, target: Target): Promise<unknown>
  path(target: Target): string
  isHidden(answer: { status: number; body: Buffer }, target: Target): boolean
}

const gone: Way['isHidden'] = ({ status }) => status === 404
const withdraw =
  (permission: Permission) =>
  (db: Db, { username }: Target) =>
    db.transaction((tx) =>
      changeConsent(tx, username, { permission, textVersion: null, by: 'chaos', at: new Date() }),
    )
const ways: readonly (readonly Way[])[] = [
  [
    {
      name: 'credential revoked',
      hide: (db, { vcSha256 }) => db.transaction((tx) => revokeDigests(tx, [vcSha256], new Date())),
      path: ({ statusToken }) => `/standard/v1/score-vc-status/${statusToken}`,
      isHidden: ({ body }) => JSON.parse(body.toString()).revoked === true,
    },
  ],
  [
    {
      name: 'score restricted',
      hide: (db, { workerId }) => opened(db, { workerId, restricted: true }),
      path: ({ scoreId }) => `/api/v1/scores/${scoreId}`,
      isHidden: gone,
    },
  ],
  [
    {
      name: 'listing withdrawn',
      hide: withdraw('search_listing'),
      path: ({ username }) => `/api/v1/candidates/search?q=%40${username}&limit=1`,
      isHidden: ({ body }, { username }) => !body.toString().includes(`"username":"${username}"`),
    },
  ],
  [
    {
      name: 'profile withdrawn',
      hide: withdraw('public_profile'),
      path: ({ username }) => `/api/v1/candidates/${username}`,
      isHidden: gone,
    },
    {
      name: 'worker erased',
      hide: (db, { username }) =>
        db.transaction((tx) => eraseWorker(tx, username, { by: 'chaos', at: new Date() })),
      path: ({ username }) => `/api/v1/candidates/${username}`,
      isHidden: gone,
    },
  ],
]

test('no read that begins after the answer shows what was hidden', {
  skip: missingReplicas,
}, async () => {
  const folder = temporaryFolder()
  const primary = await startPrimary(join(folder, 'primary'))
  after(() => primary.kill())
  const env = {
    DATABASE_URL: primary.url,
    ASSAY_DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'https://scores.example.org',
    TRUSTED_PROXIES: '127.0.0.1',
    KEY_CALLS_PER_MINUTE: '1000000',
    KEY_CALLS_PER_DAY: '100000000',
    KEY_NOT_FOUND_PER_MINUTE: '60000',
  }
  await report(['migrate'], env)
  const db = openDb({
    url: primary.url,
    connectionsMax: 24,
    applicationName: 'chaos',
    statementTimeoutMs: 60_000,
    connectionWaitMs: 60_000,
    onError: () => {},
  })
  after(() => db.close())
  const targets = await makeTargets(db, Math.ceil(hidesMax / ways.length))
  const key = await newKey(db, { credits: 10_000_000 })

  const replicas = await Promise.all(
    [1, 2, 3].map((number) => primary.addReplica(join(folder, `replica-${number}`))),
  )
  after(() => Promise.all(replicas.map((replica) => replica.kill())))
  const metricsPorts = [await freePort(), await freePort()]
  const servers = await Promise.all(
    metricsPorts.map((port) =>
      startServer(
        {
          ...env,
          DATABASE_READ_URLS: replicas.map(({ url }) => url).join(','),
          METRICS_PORT: String(port),
        },
        ['--no-jobs'],
      ),
    ),
  )
  /** Reads by place and server, as the metrics tell. */
  const readsByPlace = async (): Promise<Record<string, number>> => {
    const sums: Record<string, number> = {}
    for (const port of metricsPorts) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      for (const [, place = '', count] of text.matchAll(
        /^database_reads_total\{place="([^"]+)"\} (\d+)/gm,
      ))
        sums[place] = (sums[place] ?? 0) + Number(count)
    }
    return sums
  }

  const stopping = new AbortController()
  const faults: Record<string, number> = {}
  const chosen = <One>(all: readonly One[]): One =>
    all[Math.floor(Math.random() * all.length)] as One
  const frozen = async (pids: number[], ms: number): Promise<void> => {
    signalAll(pids, 'SIGSTOP')
    await pause(ms)
    signalAll(pids, 'SIGCONT')
  }
  const inject: Record<string, (replica: Streaming, ms: number) => Promise<void>> = {
    async 'replica delayed'({ url }) {
      const ms = chosen(delaysMs)
      await onServer(url, `alter system set recovery_min_apply_delay = '${ms}ms'`)
      await onServer(url, 'select pg_reload_conf()')
    },
    async 'replay paused'({ url }, ms) {
      await onServer(url, 'select pg_wal_replay_pause()')
      await pause(ms)
      await onServer(url, 'select pg_wal_replay_resume()')
    },
    'replica stopped': async (replica, ms) => frozen(await replica.pids(), ms),
    async 'replica killed'(replica) {
      await replica.kill()
      await replica.start()
    },
    'server stopped': (_, ms) => frozen([chosen(servers).pid], ms),
  }
  const faulty = async (): Promise<void> => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const [name, fault] = chosen(Object.entries(inject))
      await fault(replicas[n % replicas.length] as Streaming, 200 + Math.random() * 1_500)
      faults[name] = (faults[name] ?? 0) + 1
      await pause(500)
    }
  }

  const tally = { reads: 0, unavailable: 0, unanswered: 0 }
  const hides: Record<string, number> = {}
  const shown: string[] = []
  const read = async (way: Way, target: Target, base: string): Promise<void> => {
    const path = way.path(target)
    const headers = path.startsWith('/api/') ? key.headers : {}
    const answer = await ask(base, { path, headers }).catch(() => null)
    tally.reads++
    if (answer === null) tally.unanswered++
    else if (answer.status >= 500) tally.unavailable++
    else if (!way.isHidden(answer, target))
      shown.push(`${way.name}: ${path} answered ${answer.status}`)
  }
  const hider = waits ? db : answeringNobody(db)
  const waiting = targets.values()
  const later: Promise<unknown>[] = []
  const lane = async (): Promise<void> => {
    for (const target of waiting)
      for (const choices of ways) {
        const way = chosen(choices)
        // It is shown before, so that replicas are read all the time.
        await ask(chosen(servers).base, { path: way.path(target), headers: key.headers }).catch(
          () => null,
        )
        await way.hide(hider, target)
        hides[way.name] = (hides[way.name] ?? 0) + 1
        later.push(...servers.map(({ base }) => read(way, target, base)))
        const more = async (ms: number) => {
          await pause(ms)
          await read(way, target, chosen(servers).base)
        }
        later.push(more(Math.random() * 200), more(Math.random() * 2_000))
      }
  }
  await eventually('replicas are read', {
    see: async () => {
      await ask(chosen(servers).base, { path: `/u/${targets[0]?.username}` })
      return Object.keys(await readsByPlace()).length > 2
    },
  })
  const beganAt = performance.now()
  const breaking = faulty()
  await Promise.all(Array.from({ length: lanes }, lane))
  await Promise.all(later)
  stopping.abort()
  await breaking
  const seconds = (performance.now() - beganAt) / 1_000
  const places = await readsByPlace()
  const onReplicas = Object.entries(places).reduce(
    (sum, [place, count]) => sum + (place === 'primary' ? 0 : count),
    0,
  )
  for (const [name, value] of Object.entries({
    hidden: hides,
    faults,
    'reads after the answer': tally,
    'statements by database': places,
    seconds: Math.round(seconds),
    'shown after the answer': shown.length,
  }))
    process.stdout.write(`${name}: ${JSON.stringify(value)}\n`)
  assert.deepEqual(shown.slice(0, 5), [])
  assert.ok(onReplicas > hidesMax / 4, `${onReplicas} statements on replicas`)
})
