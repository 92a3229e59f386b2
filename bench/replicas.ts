/**
 * Measures public reads a second with one, two and three replicas, each held to the same share of a
 * processor. The share is so small that neither the reading process nor the primary, which is not
 * held and charges the paid reads, is the limit: what they use is printed beside each rate. Needs
 * Debian's PostgreSQL and the right to create control groups.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openDebits } from '../src/billing/credits/debit.ts'
import { chargeReference } from '../src/billing/credits/months.ts'
import { tendLists } from '../src/credentials/issue.ts'
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { openReplicas, type PublicReads } from '../src/platform/db/replicas.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { setTimeoutMultiplier } from '../src/platform/deadlines.ts'
import { candidateReads } from '../src/workers/candidates/reads.ts'
import { indexQueuedWorkers } from '../src/workers/candidates/search-indexer.ts'
import { contextAt } from '../test/support/build/actions.ts'
import { names } from '../test/support/build/candidates.ts'
import { origin, signer } from '../test/support/build/credentials.ts'
import { newKey, type TestKey } from '../test/support/build/keys.ts'
import { issuer, keySince } from '../test/support/build/registry.ts'
import { addScoredWorker, addSources, scoredAt } from '../test/support/build/scores.ts'
import { createSigningKey } from '../test/support/build/signing-keys.ts'
import { missingReplicas, type Streaming, startPrimary } from '../test/support/start/streaming.ts'
import { type Finding, median, report } from './measure.ts'
import { type Held, holdTo } from './processor-share.ts'
import { cpuSeconds, databaseSeconds } from './serving.ts'

const share = Number(process.env.REPLICAS_SHARE ?? 0.08)
const workers = 1_000
/** Each connection plans its statements first, with the share of its replica. */
const warmUpMs = 2_000
const seconds = 4
const rounds = 3
/** So that no replica waits for callers. */
const callersEach = 128
const linearMin = 0.8

/** Reads of replicas, and those that the primary ran because a replica was late. */
let [statements, late] = [0, 0]

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
chmodSync(folder, 0o755)
const placeOf = (n: number) => join(folder, n === 0 ? 'primary' : `replica-${n}`)
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
  const primary = await startPrimary(placeOf(0))
  started.push(primary)
  await migrate(primary.url, join(import.meta.dirname, '../migrations'), new Date())
  const db = open(primary.url, 10)
  await using closing = new AsyncDisposableStack()
  closing.defer(() => db.close())
  await createSigningKey(contextAt(db, keySince), signer.kid)
  await tendLists(db, issuer, scoredAt)
  await addSources(db)
  for (let made = 0; made < workers; made++) await addScoredWorker(db)
  await indexQueuedWorkers(db, names)
  await db.run(sql`analyze`)
  const key = await newKey(db, { credits: 1_000_000_000 })
  const replicas: Streaming[] = []
  for (const n of [1, 2, 3]) {
    const replica = await primary.addReplica(placeOf(n))
    started.push(replica)
    replicas.push(replica)
  }
  // Connections that are opened from now on belong to the group of their postmaster.
  const pids = await Promise.all(replicas.map((one) => one.pids()))
  held = holdTo(share, pids)
  if (held === null) throw new Error('this user cannot create control groups')
  const counts = replicas.map((_, i) => i + 1)
  const measured = counts.map((): Record<string, Measured>[] => [])
  // In turn, so that what else this machine does hits all alike.
  for (let round = 0; round < rounds; round++)
    for (const count of counts) {
      const urls = replicas.slice(0, count).map(({ url }) => url)
      const rates = await withReads(db, primary.url, urls, (reads) =>
        ratesOf(reads, { db, key, replaying: pids.slice(0, count).flat() }),
      )
      measured[count - 1]?.push(rates)
    }
  const findings = Object.keys(measured[0]?.[0] ?? {}).flatMap((name) =>
    counts.flatMap((count) => {
      const [alone = [], these = []] = [0, count - 1].map((i) =>
        (measured[i] ?? []).map((one) => one[name] as Measured),
      )
      return findingsOf(`${name}, ${count} replicas`, { count, alone, these })
    }),
  )
  findings.push({
    name: 'statements that the primary ran instead',
    value: (100 * late) / statements,
    unit: '%',
    target: { max: 1 },
  })
  report(`replicas, each held to ${share} of a processor, the primary not held`, findings)
}

function findingsOf(
  name: string,
  { count, alone, these }: Record<'alone' | 'these', Measured[]> & { count: number },
): Finding[] {
  const of = (get: (one: Measured, round: number) => number) => median(these.map(get))
  const used = (what: string, get: (one: Measured) => number) => ({
    name: `  ${what}`,
    value: of(get),
    unit: 'processors',
  })
  const linear = (round: number) => (alone[round]?.rate ?? Number.NaN) * count
  return [
    { name, value: of(({ rate }) => rate), unit: '/s' },
    {
      name: '  share of linear',
      value: of(({ rate }, round) => rate / linear(round)),
      unit: '',
      target: { min: linearMin },
    },
    used('each replica used', ({ replicas }) => replicas / count),
    used('  of it for replay', ({ replay }) => replay / count),
    used('the reading process used', ({ reader }) => reader),
    used('the primary used', ({ primary }) => primary),
  ]
}

async function withReads<Result>(
  primary: Db,
  primaryUrl: string,
  urls: readonly string[],
  work: (reads: PublicReads) => Promise<Result>,
): Promise<Result> {
  const beatsDb = open(primaryUrl, 1)
  await using closing = new AsyncDisposableStack()
  closing.defer(() => beatsDb.close())
  const replicas = openReplicas({
    primary,
    beatsDb,
    urls,
    connectionsMax: 10,
    open: (_, options) => openDb({ ...options, onError: () => {} }),
    count: (place) => {
      statements++
      if (place === 'primary') late++
    },
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

interface RatesOptions {
  db: Db
  key: TestKey
  /** The processes of the replicas that take over the changes of the primary. */
  replaying: readonly number[]
}

async function ratesOf(
  reads: PublicReads,
  { db, key: { accountId, keyId }, replaying }: RatesOptions,
): Promise<Record<string, Measured>> {
  const { candidate, credential, search } = candidateReads({
    reads,
    names,
    origin,
    formerOrigins: [],
    signers: { of: () => Promise.resolve(undefined) },
    clock: () => scoredAt,
  })
  const debits = openDebits(db)
  const username = () => `worker-${1 + Math.floor(Math.random() * workers)}`
  const debit = (meter: string) => {
    const now = new Date()
    const reference = chargeReference(now, uuidV7(now))
    return debits.debit({ accountId, keyId, amount: 1, reference, meter, operation: 'bench' })
  }
  const searchOne = () => search(username(), { limit: 18 })
  const calls = {
    candidate: () => candidate(username()),
    credential: async () => {
      const read = await credential({ username: username() }, 'native')
      if (!('credential' in read)) throw new Error(`no credential: ${read.missing}`)
    },
    search: searchOne,
    'paid search': () => searchOne().then(() => debit('search')),
    'paid candidate': () => candidate(username()).then(() => debit('candidate_lookup')),
  }
  const measured: Record<string, Measured> = {}
  for (const [name, call] of Object.entries(calls))
    measured[name] = await perSecond(call, { databases: reads.databases, replaying })
  return measured
}

interface Measured {
  /** Calls a second. */
  rate: number
  /** Processors that this process used. */
  reader: number
  /** Processors that the primary used. */
  primary: number
  /** Processors that the replicas used together. */
  replicas: number
  /** Processors of these that `replaying` used. */
  replay: number
}

async function perSecond(
  call: () => Promise<unknown>,
  { databases, replaying }: Pick<PublicReads, 'databases'> & Pick<RatesOptions, 'replaying'>,
): Promise<Measured> {
  const from = performance.now() + warmUpMs
  const until = from + seconds * 1_000
  let count = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      await call()
      const at = performance.now()
      if (at > from && at <= until) count++
    }
  }
  const calling = Promise.all(Array.from({ length: callersEach * databases }, caller))
  await pause(warmUpMs)
  const used = () => {
    const { user, system } = process.cpuUsage()
    const [primary = 0, ...replicas] = Array.from({ length: databases + 1 }, (_, n) =>
      databaseSeconds(placeOf(n)),
    )
    return {
      reader: (user + system) / 1e6,
      primary,
      replicas: replicas.reduce((sum, one) => sum + one, 0),
      replay: cpuSeconds(replaying),
    }
  }
  const before = used()
  await calling
  const after = used()
  const since = (name: keyof typeof before) => (after[name] - before[name]) / seconds
  return {
    rate: count / seconds,
    reader: since('reader'),
    primary: since('primary'),
    replicas: since('replicas'),
    replay: since('replay'),
  }
}
