/**
 * Paid reads by API key over HTTP, on an embedded database that waits for its disk: beside the same routes unmetered, the same written one
 * statement a step, the same without a database, and bare node:http that answers the same bytes. Then debits a second, grouped, one by one,
 * and as a bare statement. All in one run, in turn; the ratios are of processor time for a read, the database's included, where it says so.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount, createKey } from '../src/access/manage.ts'
import { keepingIndex } from '../src/candidates/keep-index.ts'
import { skillNames } from '../src/candidates/skill-names.ts'
import { enterCredits } from '../src/payments/credits.ts'
import { debitBatch, openDebits } from '../src/payments/debit.ts'
import { scopes } from '../src/platform/callers.ts'
import { type Db, openDb, sql } from '../src/platform/db.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { parseKeyring } from '../src/platform/keyring.ts'
import { migrate } from '../src/platform/migrate.ts'
import { uuidV7 } from '../src/platform/uuid-v7.ts'
import { giveScore } from '../test/support/candidates.ts'
import { publicLine, register } from '../test/support/people.ts'
import type { CreditsServerOrder } from './credits-server.ts'
import { type Finding, median, report } from './measure.ts'
import {
  bareServer,
  cpuSeconds,
  databaseSeconds,
  fetchAnswer,
  load,
  onceMessage,
  publicUrl,
  requestsFile,
  startService,
  type Target,
} from './serving.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const peopleCount = 1_000
const accountsCount = 100
const peppers = `k1:${Buffer.alloc(32, 7).toString('base64')}`

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The server's user must get through.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')

const username = (i: number): string => `person-${String(i).padStart(4, '0')}`
const scoreId = (i: number): string => i.toString(16).padStart(64, '0')

interface Account {
  id: string
  keyIds: string[]
  keys: string[]
}

/** One key of one route has 60,000 calls a minute, and one account at most 20 keys. */
async function makeAccount(db: Db, keyCount: number): Promise<Account> {
  const now = new Date()
  const context = { peppers: parseKeyring(peppers), now }
  return db.transaction(async (tx) => {
    const account = await createAccount(tx, `account ${uuidV7(now)}`, now)
    if (account === null) throw new Error('no account')
    const { id: accountId } = account
    const made: Account = { id: accountId, keyIds: [], keys: [] }
    for (let i = 0; i < keyCount; i++) {
      const wanted = {
        accountId,
        environment: 'live',
        name: 'bench',
        scopes,
        allowedFrom: null,
        expiresAt: null,
      } as const
      const key = await createKey(tx, wanted, context)
      if (key.outcome !== 'created') throw new Error(key.outcome)
      made.keyIds.push(key.id)
      made.keys.push(key.key)
    }
    await enterCredits(tx, { accountId, kind: 'grant', delta: 1e12, reason: 'bench' })
    return made
  })
}

async function makePeople(db: Db): Promise<void> {
  const names = skillNames([])
  const people = Array.from({ length: peopleCount }, (_, i) =>
    publicLine({ username: username(i), displayName: `Person ${i}`, title: 'Engineer' }),
  )
  await register(
    keepingIndex(db, () => names),
    people,
  )
  for (let i = 0; i < peopleCount; i++) await giveScore(db, username(i), scoreId(i))
}

interface Read {
  perSecond: number
  /** Microseconds of processor time for a read. */
  serverUs: number
  databaseUs: number
  p50Ms: number
  p99Ms: number
}

async function measureReads(target: Target, file: string, connections: number): Promise<Read> {
  const [server, database] = [cpuSeconds(target.pids), databaseSeconds(dataDir)]
  const order = { requestsFile: file, expectedStatus: 200, connections, seconds }
  const { answers, p50Ms, p99Ms, ...took } = await load({ ...order, port: target.port })
  return {
    perSecond: answers / took.seconds,
    serverUs: ((cpuSeconds(target.pids) - server) / answers) * 1e6,
    databaseUs: ((databaseSeconds(dataDir) - database) / answers) * 1e6,
    p50Ms,
    p99Ms,
  }
}

const routes = {
  score: (i: number) => `/api/v1/scores/${scoreId(i % peopleCount)}`,
  detail: (i: number) => `/api/v1/candidates/${username(i % peopleCount)}`,
  search: (i: number) => `/api/v1/candidates/search?q=${username(i % peopleCount)}&limit=5`,
}
type Route = keyof typeof routes

const routeNames: readonly Route[] = ['score', 'detail', 'search']
/** BENCH_ROUTES: some of them. */
const routesWanted = routeNames.filter((route) =>
  (process.env.BENCH_ROUTES ?? routeNames.join()).split(',').includes(route),
)

/** `keys` by turns. */
function requests(name: string, route: Route, keys: readonly string[]): string {
  const all = Array.from({ length: 2_000 }, (_, i) => {
    const key = keys[i % keys.length] ?? ''
    return `GET ${routes[route](i)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`
  })
  return requestsFile(join(folder, `${name}-${route}`), all)
}

async function startOther(kind: CreditsServerOrder['kind'], url: string) {
  const child: ChildProcess = fork(join(import.meta.dirname, 'credits-server.ts'))
  const person = { username: username(1), scoreId: scoreId(1) }
  child.send({ kind, url, publicUrl, peppers, ...person } satisfies CreditsServerOrder)
  const [{ port }] = (await onceMessage(child)) as [{ port: number }]
  return { port, pids: [child.pid as number], stop: () => child.disconnect() }
}

/** Medians, of rounds in which each has its turn; the first only warms up. */
async function compare<Name extends string>(
  contestants: Record<Name, () => Promise<Read>>,
): Promise<Record<Name, Read>> {
  const names = Object.keys(contestants) as Name[]
  const all = new Map<Name, Read[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++)
    for (const name of names) {
      const read = await contestants[name]()
      if (round > 0) all.get(name)?.push(read)
    }
  const middle = (name: Name): Read => {
    const of = (key: keyof Read) => median((all.get(name) ?? []).map((read) => read[key]))
    return {
      perSecond: of('perSecond'),
      serverUs: of('serverUs'),
      databaseUs: of('databaseUs'),
      p50Ms: of('p50Ms'),
      p99Ms: of('p99Ms'),
    }
  }
  return Object.fromEntries(names.map((name) => [name, middle(name)])) as Record<Name, Read>
}

function findings(name: string, read: Read): Finding[] {
  return [
    { name, value: read.perSecond, unit: 'reads/s' },
    { name: '  server', value: read.serverUs, unit: 'µs of processor a read' },
    { name: '  database', value: read.databaseUs, unit: 'µs of processor a read' },
    { name: '  p50', value: read.p50Ms, unit: 'ms' },
    { name: '  p99', value: read.p99Ms, unit: 'ms' },
  ]
}

async function readsOf(url: string, hot: Account, spread: readonly Account[]): Promise<void> {
  const env = {
    DATABASE_URL: url,
    ASSAY_DATA_DIR: join(folder, 'service'),
    API_KEY_PEPPERS: peppers,
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    LOG_LEVEL: process.env.BENCH_LOG_LEVEL ?? 'info',
  }
  const paid = await startService(env)
  const unmetered = await startService({ ...env, METERING: 'off' })
  const [single, memory] = [
    await startOther('one by one', url),
    await startOther('free of a database', url),
  ]
  const manyKeys = spread.flatMap(({ keys }) => keys)
  for (const route of routesWanted) {
    const many = requests('many', route, manyKeys)
    const one = requests('one', route, hot.keys)
    const answer = await fetchAnswer(paid.port, {
      method: 'GET',
      path: routes[route](1),
      headers: { Authorization: `Bearer ${hot.keys[0]}` },
    })
    const bare = await bareServer(answer)
    const at64 = await compare({
      ours: () => measureReads(paid, many, 64),
      'one account': () => measureReads(paid, one, 64),
      unmetered: () => measureReads(unmetered, many, 64),
      'one by one': () => measureReads(single, many, 64),
      'one account, one by one': () => measureReads(single, one, 64),
      'free of a database': () => measureReads(memory, many, 64),
      'node:http': () => measureReads(bare, many, 64),
    })
    bare.stop()
    const { ours } = at64
    const gain = (over: Read, of: Read = ours): number => of.perSecond / over.perSecond
    report(`${route}: paid reads by key, 64 connections`, [
      ...Object.entries(at64).flatMap(([name, read]) => findings(name, read)),
      { name: 'p99', value: ours.p99Ms, unit: 'ms', target: { max: 10 } },
      {
        name: 'ours / free of a database',
        value: gain(at64['free of a database']),
        unit: '×',
        target: { min: 0.3 },
      },
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
        name: 'ours / free of a database, server’s processor',
        value: at64['free of a database'].serverUs / ours.serverUs,
        unit: '×',
      },
      { name: 'ours / unmetered', value: gain(at64.unmetered), unit: '×' },
      { name: 'ours / node:http', value: gain(at64['node:http']), unit: '×' },
    ])
    const others = await compare({
      '1 connection, 100 accounts': () => measureReads(paid, many, 1),
      '1 connection, one account': () => measureReads(paid, one, 1),
      '256 connections, 100 accounts': () => measureReads(paid, many, 256),
      '256 connections, one account': () => measureReads(paid, one, 256),
    })
    report(
      `${route}: 1 and 256 connections`,
      Object.entries(others).flatMap(([name, read]) => findings(name, read)),
    )
  }
  for (const server of [single, memory]) server.stop()
  for (const server of [paid, unmetered]) await server.stop()
}

/** Calls a second of 256 callers. */
async function rateOf(call: (i: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  let calls = 0
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) await call(calls++)
  }
  await Promise.all(Array.from({ length: 256 }, caller))
  return (calls * 1_000) / (performance.now() - startedAt)
}

/** What one would write without a ledger's questions: the balance and the entry, in one statement. */
function bareDebit(db: Db, account: Account): Promise<number> {
  return db.run(sql`
    with debited as (
      update credit_accounts set balance = balance - 1
      where account_id = ${account.id} and balance >= 1 returning account_id
    )
    insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
    select account_id, 'charge', -1, ${uuidV7(new Date())}, ${account.keyIds[0]}, 'score_lookup', 'bench'
    from debited`)
}

async function debitsOf(db: Db, name: string, accounts: readonly Account[]): Promise<void> {
  const account = (i: number): Account => accounts[i % accounts.length] as Account
  const debitOf = ({ id: accountId, keyIds: [keyId = ''] }: Account) => ({
    accountId,
    keyId,
    amount: 1,
    reference: uuidV7(new Date()),
    meter: 'score_lookup',
    operation: 'bench',
  })
  const grouped = openDebits(db)
  const contestants = {
    grouped: (i: number) => grouped(debitOf(account(i))),
    'one by one': (i: number) => debitBatch(db, [debitOf(account(i))]),
    'bare statement': (i: number) => bareDebit(db, account(i)),
  }
  type Name = keyof typeof contestants
  const names = Object.keys(contestants) as Name[]
  const rates: Record<Name, number[]> = { grouped: [], 'one by one': [], 'bare statement': [] }
  for (let round = 0; round <= rounds; round++)
    for (const one of names) {
      const rate = await rateOf(contestants[one])
      if (round > 0) rates[one].push(rate)
    }
  const ratio = (slow: Name) =>
    median(rates.grouped.map((rate, round) => rate / (rates[slow][round] ?? Number.NaN)))
  report(`debits of 256 callers, ${name}`, [
    ...names.map((one) => ({ name: one, value: median(rates[one]), unit: '/s' })),
    {
      name: 'grouped / one by one',
      value: ratio('one by one'),
      unit: '×',
      target: { min: accounts.length === 1 ? 20 : 4 },
    },
    { name: 'grouped / bare statement', value: ratio('bare statement'), unit: '×' },
  ])
}

async function run(postgres: EmbeddedPostgres): Promise<void> {
  await migrate(postgres.url, join(import.meta.dirname, '../migrations'), new Date())
  const db = openDb({
    url: postgres.url,
    connectionsMax: 10,
    applicationName: 'bench',
    statementTimeoutMs: 0,
    connectionWaitMs: 30_000,
    onError: () => {},
  })
  await makePeople(db)
  const hot = await makeAccount(db, 20)
  const spread: Account[] = []
  while (spread.length < accountsCount) spread.push(await makeAccount(db, 1))
  await readsOf(postgres.url, hot, spread)
  while (spread.length < 1_000) spread.push(await makeAccount(db, 1))
  await debitsOf(db, '1,000 accounts', spread)
  await debitsOf(db, 'one account', [hot])
  await db.close()
}

const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log: () => {} })
try {
  await run(postgres)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
