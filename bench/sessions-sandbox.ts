/**
 * Measures the sandbox by session beside two others: the paid routes by key, unmetered
 * (METERING=off), and the sandbox by test key, which differs in authentication alone. One server
 * answers all in turn. There are as many sessions as keys, so that the limits count equally many
 * callers.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount, createApiKey } from '../src/accounts/access/manage.ts'
import { fictionalWorkers } from '../src/demo/sandbox/fictional-workers.ts'
import { type Environment, environments, scopes } from '../src/edge/http/callers.ts'
import { sha256Hex } from '../src/platform/crypto/bytes.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { makeWorkers, type Route, routeNames, routes } from './credits-setup.ts'
import { type Finding, median, report } from './measure.ts'
import {
  cpuSeconds,
  databaseSeconds,
  load,
  requestsFile,
  startService,
  type Target,
} from './serving.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 0.7)
const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
const warmUpRounds = 2
const connections = 64
/** A session makes 300 calls a minute: the load of a minute must fit into those of all of them. */
const callersCount = 1_500
const keysPerAccount = 10

const shown = fictionalWorkers.filter(({ score }) => score !== null)
const usernameAt = (i: number): string => shown[i % shown.length]?.handle ?? ''

/** Paths after `/api/v1` or after the session's sandbox. */
const fictional: Record<Route, (i: number) => string> = {
  score: (i) => `/scores/${sha256Hex(`sandbox score ${usernameAt(i)}`)}`,
  detail: (i) => `/candidates/${usernameAt(i)}`,
  search: (i) => `/candidates/search?q=${usernameAt(i).slice(0, 4)}&limit=5`,
}

async function makeKeys(db: Db): Promise<Record<Environment, string[]>> {
  const keys: Record<Environment, string[]> = { live: [], test: [] }
  while (keys.live.length < callersCount) {
    const now = new Date()
    const account = await db.transaction((tx) => createAccount(tx, `a ${uuidV7(now)}`, now))
    if (account === null) throw new Error('no account')
    for (let i = 0; i < keysPerAccount; i++)
      for (const environment of environments)
        keys[environment].push(await key(db, account.id, environment))
  }
  return keys
}

async function key(db: Db, accountId: string, environment: Environment): Promise<string> {
  const wanted = { accountId, environment, name: 'bench', scopes } as const
  const unlimited = { allowedFrom: null, expiresAt: null }
  const made = await db.transaction((tx) =>
    createApiKey(tx, { ...wanted, ...unlimited }, { now: new Date() }),
  )
  if ('refusal' in made) throw new Error(made.refusal)
  return `Authorization: Bearer ${made.key}`
}

type Contestant = 'by session' | 'by key, unmetered' | 'by test key'

interface Read {
  perSecond: number
  /** Microseconds of processor time for a read, of the server and of the database. */
  cpuUs: number
  p99Ms: number
}

interface MeasuredServer {
  target: Target
  /** Data directory of the embedded database. */
  dataDir: string
}

async function measure({ target, dataDir }: MeasuredServer, file: string): Promise<Read> {
  const used = () => cpuSeconds(target.pids) + databaseSeconds(dataDir)
  const before = used()
  const order = { requestsFile: file, expectedStatus: 200, connections, seconds }
  const { answers, p99Ms, ...took } = await load({ ...order, port: target.port })
  const cpuUs = ((used() - before) / answers) * 1e6
  return { perSecond: answers / took.seconds, cpuUs, p99Ms }
}

interface SandboxSetup {
  db: Db
  url: string
  /** Data directory of the embedded database. */
  dataDir: string
  /** Cookies, of many more sessions than are used. */
  sessions: readonly string[]
}

/** Prints the figures of each route. */
export async function benchSandbox({ db, url, dataDir, sessions }: SandboxSetup): Promise<void> {
  await makeWorkers(db)
  const keys = await makeKeys(db)
  // An older database has statistics; this one is too young for autovacuum.
  await db.run(sql`analyze`)
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  const cookies = sessions.slice(0, callersCount).map((cookie) => `Cookie: ${cookie}`)
  const service = await startService({
    DATABASE_URL: url,
    ASSAY_DATA_DIR: join(folder, 'service'),
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    METERING: 'off',
    // On a busy machine a call waits instead of being shed.
    TIMEOUT_MULTIPLIER: '20',
    LOG_LEVEL: 'info',
  })
  try {
    for (const route of routeNames) {
      const fileOf = (name: string, lines: readonly string[], path: (i: number) => string) => {
        const all = lines.map(
          (line, i) => `GET ${path(i)} HTTP/1.1\r\nHost: localhost\r\n${line}\r\n\r\n`,
        )
        return requestsFile(join(folder, `${name}-${route}`), all)
      }
      const sandbox = '/api/account/developer/sandbox'
      const files = {
        'by session': fileOf('session', cookies, (i) => `${sandbox}${fictional[route](i)}`),
        'by key, unmetered': fileOf('key', keys.live, routes[route]),
        'by test key': fileOf('test', keys.test, (i) => `/api/v1${fictional[route](i)}`),
      }
      report(
        `${route} of the sandbox, ${connections} connections`,
        await compare({ target: service, dataDir }, files),
      )
    }
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(
  server: MeasuredServer,
  files: Record<Contestant, string>,
): Promise<Finding[]> {
  const names = Object.keys(files) as Contestant[]
  const reads = new Map(names.map((name) => [name, [] as Read[]]))
  for (let round = 0; round < warmUpRounds + rounds; round++)
    for (const name of names) {
      const read = await measure(server, files[name])
      if (round >= warmUpRounds) reads.get(name)?.push(read)
    }
  const all = (name: Contestant, of: keyof Read) => (reads.get(name) ?? []).map((read) => read[of])
  /** The median of the rounds' own ratios: other load on the machine weighs on both. */
  const ratio = (other: Contestant, of: keyof Read) =>
    median(all('by session', of).map((value, i) => value / (all(other, of)[i] ?? Number.NaN)))
  const min = 0.9
  return [
    ...names.flatMap((name): Finding[] => [
      { name, value: median(all(name, 'perSecond')), unit: 'reads/s' },
      { name: '  server and database', value: median(all(name, 'cpuUs')), unit: 'µs of processor' },
      { name: '  p99', value: median(all(name, 'p99Ms')), unit: 'ms' },
    ]),
    {
      name: 'by session / by key, unmetered',
      value: ratio('by key, unmetered', 'perSecond'),
      unit: '×',
      target: { min },
    },
    {
      name: 'by session / by key, of processor time',
      value: 1 / ratio('by key, unmetered', 'cpuUs'),
      unit: '×',
      target: { min },
    },
    { name: 'by session / by test key', value: ratio('by test key', 'perSecond'), unit: '×' },
  ]
}
