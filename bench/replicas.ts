/**
 * Measures public reads a second with no replica and with one, two and three, each database held to
 * the same share of a processor. With replicas, the primary reads nothing. A paid read also debits
 * there. Needs Debian's PostgreSQL and the right to create control groups.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openDebits } from '../src/billing/credits/debit.ts'
import { chargeReference } from '../src/billing/credits/months.ts'
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { openReplicas, type PublicReads, readsOfPrimary } from '../src/platform/db/replicas.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { setTimeoutMultiplier } from '../src/platform/deadlines.ts'
import { candidateReads } from '../src/workers/candidates/reads.ts'
import { indexQueuedWorkers } from '../src/workers/candidates/search-indexer.ts'
import { names } from '../test/support/build/candidates.ts'
import { origin } from '../test/support/build/credentials.ts'
import { newKey, type TestKey } from '../test/support/build/keys.ts'
import { addPublicWorkers } from '../test/support/build/scores.ts'
import { missingReplicas, type Streaming, startPrimary } from '../test/support/start/streaming.ts'
import { type Finding, report } from './measure.ts'
import { type Held, holdTo } from './processor-share.ts'

const share = Number(process.env.REPLICAS_SHARE ?? 0.12)
const workers = 2_000
const seconds = 5
const atOnce = 256

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
chmodSync(folder, 0o755)
const started: Streaming[] = []
let held = null as Held | null
if (missingReplicas) process.stdout.write(`replicas: left out, ${missingReplicas}\n`)
else
  try {
    // Held to a small share, a database answers late without being overloaded.
    setTimeoutMultiplier(5)
    await measure()
  } finally {
    await Promise.all(started.map((one) => one.kill()))
    held?.release()
    rmSync(folder, { recursive: true, force: true })
  }

function open(url: string, connectionsMax: number): Db {
  return openDb({ url, connectionsMax, applicationName: 'bench', onError: () => {} })
}

async function measure(): Promise<void> {
  const primary = await startPrimary(join(folder, 'primary'))
  started.push(primary)
  await migrate(primary.url, join(import.meta.dirname, '../migrations'), new Date())
  const db = open(primary.url, 10)
  await using closing = new AsyncDisposableStack()
  closing.defer(() => db.close())
  for (let made = 0; made < workers; made += 200) await addPublicWorkers(db, 200)
  await indexQueuedWorkers(db, names)
  await db.run(sql`analyze`)
  const key = await newKey(db, { credits: 1_000_000_000 })
  const replicas: Streaming[] = []
  for (const n of [1, 2, 3]) {
    const replica = await primary.addReplica(join(folder, `replica-${n}`))
    started.push(replica)
    replicas.push(replica)
  }
  // Connections that are opened from now on belong to the group of their postmaster.
  const postmasters = await Promise.all(started.map(async (one) => (await one.pids())[0] as number))
  held = holdTo(share, postmasters)
  if (held === null) throw new Error('this user cannot create control groups')
  const findings: Finding[] = []
  const alone = new Map<string, number>()
  for (let count = 0; count <= replicas.length; count++) {
    const urls = replicas.slice(0, count).map(({ url }) => url)
    const rates = await withReads(primary.url, urls, (reads) => ratesOf(reads, db, key))
    for (const [name, rate] of Object.entries(rates)) {
      if (count === 1) alone.set(name, rate)
      const linear = (alone.get(name) ?? 0) * count
      findings.push({ name: `${name}, ${count} replicas`, value: rate, unit: '/s' })
      if (count > 1)
        findings.push({
          name: `${name}, ${count} replicas: share of linear`,
          value: rate / linear,
          unit: '',
          // A look-up is so cheap that this one process is the limit, not its databases.
          ...(name === 'search' ? { target: { min: 0.8 } } : {}),
        })
    }
  }
  report(`replicas, each database held to ${share} of a processor`, findings)
}

async function withReads<Result>(
  primaryUrl: string,
  urls: readonly string[],
  work: (reads: PublicReads) => Promise<Result>,
): Promise<Result> {
  const primary = open(primaryUrl, 10)
  const beatsDb = open(primaryUrl, 1)
  await using closing = new AsyncDisposableStack()
  closing.defer(() => primary.close())
  closing.defer(() => beatsDb.close())
  if (urls.length === 0) return await work(readsOfPrimary(primary))
  const replicas = openReplicas({
    primary,
    beatsDb,
    urls,
    connectionsMax: 10,
    open: (_, options) => openDb({ ...options, onError: () => {} }),
  })
  const ending = new AbortController()
  const beating = (async () => {
    for (; !ending.signal.aborted; await pause(replicas.job.everyMs))
      await replicas.job.run(ending.signal).catch(() => undefined)
  })()
  closing.defer(() => replicas.close())
  closing.defer(async () => {
    ending.abort()
    await beating
  })
  while (Object.values(replicas.leases()).includes(0)) await pause(50)
  return await work(replicas.reads)
}

async function ratesOf(
  reads: PublicReads,
  db: Db,
  { accountId, keyId }: TestKey,
): Promise<Record<string, number>> {
  const { candidate, search } = candidateReads({
    reads,
    names,
    origin,
    formerOrigins: [],
    signers: { of: () => Promise.resolve(undefined) },
    clock: () => new Date(),
  })
  const debits = openDebits(db)
  const username = () => `worker-${1 + Math.floor(Math.random() * workers)}`
  const debit = () => {
    const now = new Date()
    const reference = chargeReference(now, uuidV7(now))
    const call = { meter: 'candidate_lookup', operation: 'getCandidate' }
    return debits.debit({ accountId, keyId, amount: 1, reference, ...call })
  }
  return {
    candidate: await perSecond(() => candidate(username())),
    search: await perSecond(() => search(username(), { limit: 18 })),
    'paid candidate': await perSecond(async () => {
      await candidate(username())
      await debit()
    }),
  }
}

/** The first second warms up. */
async function perSecond(call: () => Promise<unknown>): Promise<number> {
  const from = performance.now() + 1_000
  const until = from + seconds * 1_000
  let count = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      await call()
      const at = performance.now()
      if (at > from && at <= until) count++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, caller))
  return count / seconds
}
