/**
 * Measures whether the time of a 404 tells a hidden resource from an absent one (decision D24).
 * Calls for hidden resources, for absent ones and for other absent ones as a control come in random
 * order. The area under the ROC curve (AUC) is the chance that a caller comparing two times
 * picks the hidden one: 0.5 means no knowledge. Client and edge share one process, so there is less
 * noise than on any network. BENCH_CALLS sets the calls for each of the three.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tendLists } from '../src/credentials/issue.ts'
import { migrate } from '../src/database/migrate.ts'
import type { RateLimiter } from '../src/edge/rate-limit/limiter.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { changeConsent } from '../src/scoring/scores/keep-sharing.ts'
import { scoreWorkers } from '../src/scoring/scores/score-workers.ts'
import type { Permission } from '../src/workers/schema.ts'
import { contextAt } from '../test/support/build/actions.ts'
import { issuedAt, signer } from '../test/support/build/credentials.ts'
import { opened } from '../test/support/build/disputes.ts'
import { issuer, keySince } from '../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  daysAfter,
  enough,
  scoredAt,
  scoring,
} from '../test/support/build/scores.ts'
import { createSigningKey } from '../test/support/build/signing-keys.ts'
import { startCandidates } from '../test/support/start/candidate-edge.ts'
import { openRaw, type RawConnection, request } from '../test/support/start/edge.ts'
import { startPostgres } from './children.ts'
import { type Finding, report } from './measure.ts'

const calls = Number(process.env.BENCH_CALLS ?? 6_000)
const publicWorkers = 2_000
const hiddenWorkers = 32
const now = daysAfter(30)

/** A way to be hidden: paths of hidden resources, and a similar path of an absent one. */
interface Way {
  name: string
  hidden: string[]
  absent: () => string
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')
try {
  const server = await startPostgres({ dataDir, durable: true })
  const migrations = join(import.meta.dirname, '../migrations')
  await migrate(server.url, migrations, new Date())
  const db = openDb({
    url: server.url,
    connectionsMax: 4,
    applicationName: 'bench',
    onError: () => {},
  })
  const ways = await waysToHide(db)
  const edge = await startCandidates({ db, clock: () => now }, { limiter: unlimited() })
  const connection = await openRaw(edge.port)
  const findings: Finding[] = []
  for (const way of ways) findings.push(...(await compare(connection, way)))
  connection.socket.destroy()
  await edge.stop()
  await db.close()
  await server.stop()
  report(`hidden or absent, ${calls} calls each`, findings)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function waysToHide(db: Db): Promise<Way[]> {
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, issuedAt)
  await addSources(db)
  await scored(db, publicWorkers)
  const [unlisted, unshared, disputed] = [
    await scored(db, hiddenWorkers),
    await scored(db, hiddenWorkers),
    await scored(db, hiddenWorkers),
  ]
  const endsSoon = { identity: { verifiedUntil: daysAfter(20).toISOString() } }
  const unverified = await scored(db, hiddenWorkers, endsSoon)
  await withdraw(db, unlisted, 'public_profile')
  await withdraw(db, unshared, 'score_sharing')
  for (const { workerId } of disputed) await opened(db, { workerId, restricted: true })
  await db.run(sql`analyze`)
  const details = {
    of: ({ username }: Scored) => `/api/v1/candidates/${username}`,
    absent: () => `/api/v1/candidates/worker-${randomBytes(3).toString('hex')}x`,
  }
  const absentScore = () => `/api/v1/scores/${randomBytes(32).toString('hex')}`
  const scores = {
    of: ({ scoreId }: Scored) => `/api/v1/scores/${scoreId}`,
    absent: absentScore,
  }
  const credentials = {
    of: (one: Scored) => `${scores.of(one)}/credential`,
    absent: () => `${absentScore()}/credential`,
  }
  const way = (name: string, workers: Scored[], { of, absent }: typeof details): Way => {
    return { name, hidden: workers.map(of), absent }
  }
  return [
    way('detail, no public profile', unlisted, details),
    way('score, no public profile', unlisted, scores),
    way('score, not shared', unshared, scores),
    way('score, in dispute', disputed, scores),
    way('score, identity expired', unverified, scores),
    way('credential, not shared', unshared, credentials),
    way('credential, in dispute', disputed, credentials),
    way('credential, identity expired', unverified, credentials),
  ]
}

async function withdraw(db: Db, workers: readonly Scored[], permission: Permission): Promise<void> {
  const request = { permission, textVersion: null, by: 'bench', at: now }
  for (const { username } of workers)
    await db.transaction((tx) => changeConsent(tx, username, request))
}

interface Scored {
  workerId: string
  username: string
  /** 64 hex characters. */
  scoreId: string
}

/** Registers workers and gives each a score with a credential. */
async function scored(
  db: Db,
  count: number,
  over: Record<string, unknown> = {},
): Promise<Scored[]> {
  const workerIds = await addPublicWorkers(db, count, over)
  for (const workerId of workerIds) await addEvidence(db, workerId, enough)
  for (let i = 0; i < count; i += 200) {
    const due = workerIds.slice(i, i + 200).map((workerId) => ({ workerId, correction: null }))
    await db.transaction((tx) => scoreWorkers(tx, scoring, due, scoredAt))
  }
  return db.rows<Scored>(sql`
    select worker_id as "workerId", username, encode(snapshot_id, 'hex') as "scoreId"
    from profiles join score_snapshots using (worker_id) where worker_id = any(${workerIds}::uuid[])`)
}

async function compare(connection: RawConnection, { name, hidden, absent }: Way) {
  const absents = hidden.map(absent)
  const controls = hidden.map(absent)
  const arms = [hidden, absents, controls].map((paths) => ({ paths, times: [] as number[] }))
  for (let i = -200; i < calls; i++)
    for (const arm of shuffled(arms)) {
      const path = arm.paths[Math.floor(Math.random() * arm.paths.length)] as string
      const time = await timeOf(connection, path)
      if (i >= 0) arm.times.push(time)
    }
  const [ofHidden, ofAbsent, ofControl] = arms.map(({ times }) => times) as [
    number[],
    number[],
    number[],
  ]
  const figure = (of: string, value: number): Finding => {
    return { name: `${name}: ${of}`, value, unit: 'AUC', target: { max: 0.52 } }
  }
  return [
    figure('hidden', areaUnderCurve(ofHidden, ofAbsent)),
    figure('control', areaUnderCurve(ofControl, ofAbsent)),
  ]
}

async function timeOf(connection: RawConnection, path: string): Promise<number> {
  const bytes = request(`GET ${path}`, ['Authorization: Bearer live'])
  const startedAt = performance.now()
  connection.send(bytes)
  const { status } = await connection.answer()
  const time = performance.now() - startedAt
  if (status !== 404) throw new Error(`${status}: ${path}`)
  return time
}

/**
 * Returns the AUC of the better guess: that the hidden one is slower, or faster (Mann and Whitney's
 * U).
 */
function areaUnderCurve(some: readonly number[], others: readonly number[]): number {
  const sorted = [
    ...some.map((time) => ({ time, isOne: true })),
    ...others.map((time) => ({ time, isOne: false })),
  ].sort((a, b) => a.time - b.time)
  let below = 0
  let pairs = 0
  for (const { isOne } of sorted)
    if (isOne) pairs += below
    else below++
  const area = pairs / (some.length * others.length)
  return Math.max(area, 1 - area)
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}

/** Counts no calls: 404 answers are limited, and an attacker may have several keys. */
function unlimited(): RateLimiter {
  const full = { limit: 1, remaining: 1, resetSeconds: 1 }
  const verdict = { allowed: true, retryAfterSeconds: 0, minute: full, day: full }
  return { take: () => Promise.resolve(verdict), isFull: () => false }
}
