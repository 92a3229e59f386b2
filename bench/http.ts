/**
 * Measures public routes over HTTP, beside a bare node:http server that answers the same bytes with
 * the same headers, and beside bare Ed25519 verification. The contestants take turns in one run.
 * Results are per second of the server's processor time where the system reports it. Two processes
 * are compared with one twice: with all processor time, and with a fixed share for each process, so
 * that the cores have room for both.
 */
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../src/database/migrate.ts'
import { openDb } from '../src/platform/db/db.ts'
import { startPostgres } from './children.ts'
import { makeCredentials } from './credentials.ts'
import type { LoadOrder } from './load.ts'
import { median } from './measure.ts'
import { type Held, holdTo } from './processor-share.ts'
import { bareServer, cpuSeconds, fetchAnswer, load, requestsFile, startService } from './serving.ts'

const roundSeconds = Number(process.env.BENCH_SECONDS ?? 2)
const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const credentialsWanted = Number(process.env.BENCH_CREDENTIALS ?? 40_000)
const connections = 64
const warmUpRounds = 4
const verifyPath = '/api/v1/score-vc/verify'

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// If this process is root, the embedded server runs as another user, which must be able to enter.
chmodSync(folder, 0o755)
const keysDir = join(folder, 'keys')

interface Measured {
  answers: number
  /** Answers a second of wall time. */
  perSecond: number
  /** Answers a second of the server's processor time. */
  perCpuSecond: number
  /** Processor seconds of the whole machine for an answer, database and load generator included. */
  machineSeconds: number
  p50Ms: number
  p99Ms: number
}

/** Busy seconds of all processors since the system started; Linux only. */
function machineBusySeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] =
    line.match(/\d+/g)?.map(Number) ?? []
  return (user + nice + system + irq + softirq) / 100
}

function residentMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? 0) / 1_024
}

async function measure(
  target: { port: number; pids: readonly number[] },
  order: Omit<LoadOrder, 'port' | 'seconds' | 'connections'>,
): Promise<Measured> {
  const before = cpuSeconds(target.pids)
  const machineBefore = machineBusySeconds()
  const report = await load({ ...order, port: target.port, connections, seconds: roundSeconds })
  const cpu = cpuSeconds(target.pids) - before
  return {
    answers: report.answers,
    perSecond: report.answers / report.seconds,
    perCpuSecond: report.answers / cpu,
    machineSeconds: (machineBusySeconds() - machineBefore) / report.answers,
    p50Ms: report.p50Ms,
    p99Ms: report.p99Ms,
  }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

/**
 * Each request comes from its own address: far from every limit, and in a bucket that the limiter
 * must create.
 */
function post(body: string, i: number): string {
  const address = `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`
  return (
    `POST ${verifyPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `X-Forwarded-For: ${address}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

async function prepare(url: string) {
  await migrate(url, 'migrations', new Date())
  const db = openDb({
    url,
    connectionsMax: 4,
    applicationName: 'bench',
    statementTimeoutMs: 0,
    onError: () => undefined,
  })
  const credentials = await makeCredentials(db, keysDir, credentialsWanted)
  await db.close()
  return credentials
}

const settings = (databaseUrl: string, processes: number): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  SIGNING_KEYS_DIR: keysDir,
  TRUSTED_PROXIES: '127.0.0.1',
  PROCESSES: String(processes),
})

/** Returns bare verifications a second of processor time on this core. */
function bareVerify(): number {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const bytes = Buffer.alloc(64, 7)
  const signature = sign(null, bytes, privateKey)
  const before = process.cpuUsage()
  const count = 15_000
  for (let i = 0; i < count; i++) verify(null, bytes, publicKey, signature)
  const { user, system } = process.cpuUsage(before)
  return count / ((user + system) / 1e6)
}

function row(cells: readonly (string | number)[]): void {
  const [name, ...rest] = cells
  const right = rest.map((cell) => (typeof cell === 'number' ? cell.toFixed(0) : cell).padStart(13))
  process.stdout.write(`${String(name).padEnd(34)}${right.join('')}\n`)
}

async function compareWithBare(
  service: { port: number; pids: readonly number[] },
  name: string,
  path: string,
): Promise<void> {
  const answer = await fetchAnswer(service.port, { method: 'GET', path })
  const order = {
    requestsFile: requestsFile(join(folder, 'get'), [get(path)]),
    expectedStatus: 200,
  }
  const bare = await bareServer(answer)
  const ours: Measured[] = []
  const limit: Measured[] = []
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await measure(bare, order), await measure(service, order)]
    if (round > 0) limit.push(a)
    if (round > 0) ours.push(b)
  }
  bare.stop()
  const middle = (all: Measured[], key: keyof Measured) => median(all.map((one) => one[key]))
  const ratio = median(ours.map((one, i) => one.perCpuSecond / (limit[i]?.perCpuSecond ?? 1)))
  row([
    name,
    middle(limit, 'perCpuSecond'),
    middle(ours, 'perCpuSecond'),
    ratio.toFixed(2),
    middle(ours, 'perSecond'),
    `${middle(ours, 'p50Ms').toFixed(1)}/${middle(ours, 'p99Ms').toFixed(1)}`,
  ])
}

async function verifyRounds(
  service: { port: number; pids: readonly number[] },
  order: { requestsFile: string; expectedStatus: number },
): Promise<{ measured: Measured[]; ratio: number; bare: number }> {
  const measured: Measured[] = []
  const bare: number[] = []
  let sentBefore = 0
  // A round that started with the first credential again would find cached signatures.
  const next = async (): Promise<Measured> => {
    const one = await measure(service, { ...order, sentBefore })
    sentBefore += one.answers
    return one
  }
  // Each process compiles its busy code itself, so more processes need more rounds.
  for (let round = 0; round < warmUpRounds; round++) await next()
  for (let round = 0; round < rounds; round++) {
    bare.push(bareVerify())
    measured.push(await next())
  }
  const ratio = median(measured.map((one, i) => one.perCpuSecond / (bare[i] as number)))
  return { measured, ratio, bare: median(bare) }
}

const heldShare = 0.5

/**
 * Returns answers a second of `processes` that may use half a processor each, so that database and
 * load generator have the rest. Null if this user cannot limit them.
 */
async function heldPerSecond(url: string, processes: number, requestsFile: string) {
  const service = await startService(settings(url, processes))
  let held: Held | null = null
  try {
    held = holdTo(
      heldShare,
      service.pids.map((pid) => [pid]),
    )
    if (held === null) return null
    const { measured } = await verifyRounds(service, { requestsFile, expectedStatus: 200 })
    return median(measured.map((m) => m.perSecond))
  } finally {
    await service.stop()
    held?.release()
  }
}

const postgres = await startPostgres({
  dataDir: join(folder, 'data'),
  durable: true,
})
try {
  const credentials = await prepare(postgres.url)
  // The first start after a change strips types and keeps the compiler in memory.
  await (await startService(settings(postgres.url, 1))).stop()
  const one = await startService(settings(postgres.url, 1))
  row([`at rest: ${residentMiB(one.parent).toFixed(0)} MiB resident`])
  row(['', 'bare/cpu s', 'ours/cpu s', 'ratio', 'ours/s', 'p50/p99 ms'])
  await compareWithBare(one, 'skill record (>= 0.80)', '/standard/v1/skills/typescript')
  await compareWithBare(one, 'catalog (>= 0.80)', '/standard/v1/skills')
  const status = (
    JSON.parse(credentials[0] as string) as {
      credentialStatus: { id: string; statusListCredential: string }
    }
  ).credentialStatus
  await compareWithBare(one, 'status list (>= 0.80)', new URL(status.statusListCredential).pathname)
  await compareWithBare(one, 'status token, live', new URL(status.id).pathname)

  const distinct = requestsFile(join(folder, 'verify'), credentials.map(post))
  const repeated = requestsFile(
    join(folder, 'repeat'),
    credentials.map((_, i) => post(credentials[0] as string, i)),
  )
  row(['', 'bare Ed25519', 'ours/cpu s', 'ratio', 'ours/s', 'p50/p99 ms'])
  const report = (
    name: string,
    { measured, ratio, bare }: Awaited<ReturnType<typeof verifyRounds>>,
  ) =>
    row([
      name,
      bare,
      median(measured.map((m) => m.perCpuSecond)),
      ratio.toFixed(2),
      median(measured.map((m) => m.perSecond)),
      `${median(measured.map((m) => m.p50Ms)).toFixed(1)}/${median(measured.map((m) => m.p99Ms)).toFixed(1)}`,
    ])
  const single = await verifyRounds(one, { requestsFile: distinct, expectedStatus: 200 })
  report('verify, each new (>= 0.55)', single)
  report(
    'verify, repeated',
    await verifyRounds(one, { requestsFile: repeated, expectedStatus: 200 }),
  )
  row([`after load: ${residentMiB(one.parent).toFixed(0)} MiB resident`])
  await one.stop()

  const two = await startService(settings(postgres.url, 2))
  const double = await verifyRounds(two, { requestsFile: distinct, expectedStatus: 200 })
  report('verify, each new, 2 processes', double)
  const perSecond = (all: Measured[]) => median(all.map((m) => m.perSecond))
  const gain = perSecond(double.measured) / perSecond(single.measured)
  row([`2 processes / 1 (>= 1.5): ${gain.toFixed(2)}`])
  const perAnswer = median(double.measured.map((m) => m.machineSeconds))
  const most = cpus().length / perAnswer / perSecond(single.measured)
  row([
    `of at most ${most.toFixed(2)}: all of the ${cpus().length} cores at work, database and load among it`,
  ])
  await two.stop()

  const alone = await heldPerSecond(postgres.url, 1, distinct)
  const both = await heldPerSecond(postgres.url, 2, distinct)
  const name = `each with ${heldShare} of a core, 2 processes / 1 (>= 1.5)`
  const heldGain = alone === null || both === null ? null : both / alone
  row([`${name}: ${heldGain?.toFixed(2) ?? 'only as root, on Linux with control groups'}`])
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
