/**
 * Measures the throughput under overload: at two and ten times the peak load, over 64 to 5,000
 * connections, for the verifier, a paid read by key and a public document. The same run measures
 * the peak before and after, with 64 connections in a closed loop. The load generator (open-loop.c)
 * runs on the same processors, and the output states its share.
 *
 * BENCH_SECONDS: duration of each measurement (3). BENCH_CONNECTIONS, BENCH_ROUTES: a selection,
 * separated by commas.
 */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { migrate } from '../src/database/migrate.ts'
import { openDb } from '../src/platform/db/db.ts'
import { endWithBench, startPostgres } from './children.ts'
import { makeCredentials } from './credentials.ts'
import { makeAccount, makeWorkers, routes } from './credits-setup.ts'
import { type Finding, report } from './measure.ts'
import { cpuSeconds, requestsFile, type Service, startService } from './serving.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 3)
const connectionCounts = (process.env.BENCH_CONNECTIONS ?? '64,700,2000,5000')
  .split(',')
  .map(Number)
const routesWanted = (process.env.BENCH_ROUTES ?? 'verify,paid read,document').split(',')
const factors = [2, 10]
const credentialsWanted = 20_000

/** The limits of a measurement: share of the peak, milliseconds and MiB. */
const goodputMin: Record<number, number> = { 2: 0.9, 10: 0.8 }
const p99MsMax = 2_000
const residentMiBMax = 512
const recoveryMsMax = 1_000

interface Load {
  /** Requests a second; 0 for a closed loop. */
  rate: number
  connections: number
  seconds: number
  requestsFile: string
  traceFile?: string
}

interface StatusReport {
  count: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

interface LoadReport {
  offered: number
  dropped: number
  late: number
  unanswered: number
  connectErrors: number
  readErrors: number
  seconds: number
  cpuSeconds: number
  statuses: Record<string, StatusReport>
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// If the bench runs as root, the embedded server runs as another user and needs access.
chmodSync(folder, 0o755)
const generator = join(folder, 'open-loop')

function compileGenerator(): void {
  const source = join(import.meta.dirname, 'open-loop.c')
  try {
    execFileSync('cc', ['-O2', '-o', generator, source, '-lm'], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  } catch (error) {
    throw new Error(
      'The load generator needs a C compiler for Linux as `cc`. Install gcc or clang.',
      { cause: error },
    )
  }
}

/** Several source addresses, because one has about 28,000 ports, and fewer after earlier runs. */
const sources = 50

/** Calls `on` when all connections are open and the load starts, and when it ends. */
async function run(port: number, load: Load, on: (moment: 'started' | 'ended') => void = () => {}) {
  const { rate, connections, seconds, requestsFile, traceFile } = load
  const numbers = [port, rate, seconds, connections, sources].map(String)
  const files = traceFile === undefined ? [requestsFile] : [requestsFile, traceFile]
  const child = endWithBench(
    spawn(generator, [...numbers, ...files], { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'started' || line === 'ended') on(line)
    else return JSON.parse(line) as LoadReport
  }
  const { exitCode, signalCode } = child
  throw new Error(`The load generator ended without a report (${signalCode ?? exitCode}).`)
}

function residentMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? 0) / 1_024
}

/** Runs `work` and samples the memory of a process meanwhile. */
async function withResident<Result>(pid: number, work: Promise<Result>) {
  let mostMiB = 0
  const timer = setInterval(() => {
    mostMiB = Math.max(mostMiB, residentMiB(pid))
  }, 100)
  try {
    return { result: await work, mostMiB }
  } finally {
    clearInterval(timer)
  }
}

const address = (i: number): string => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`

/** Each call comes from another address, so that no rate limit is reached. */
function requestText(line: string, i: number, lines: readonly string[], body = ''): string {
  const all = ['Host: localhost', `X-Forwarded-For: ${address(i)}`, ...lines]
  if (body !== '')
    all.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return `${line} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
}

interface Setup {
  url: string
  keysDir: string
  files: Record<string, string>
}

async function prepare(url: string, keysDir: string): Promise<Setup> {
  await migrate(url, 'migrations', new Date())
  const db = openDb({
    url,
    connectionsMax: 4,
    applicationName: 'bench',
    statementTimeoutMs: 0,
    onError: () => undefined,
  })
  try {
    const credentials = await makeCredentials(db, keysDir, credentialsWanted)
    await makeWorkers(db)
    const { keys } = await makeAccount(db, 20)
    const file = (name: string, texts: readonly string[]) => requestsFile(join(folder, name), texts)
    const files = {
      verify: file(
        'verify',
        credentials.map((body, i) => requestText('POST /api/v1/score-vc/verify', i, [], body)),
      ),
      'paid read': file(
        'paid',
        Array.from({ length: 5_000 }, (_, i) =>
          requestText(`GET ${routes.score(i)}`, i, [
            `Authorization: Bearer ${keys[i % keys.length]}`,
          ]),
        ),
      ),
      document: file(
        'document',
        Array.from({ length: 5_000 }, (_, i) =>
          requestText('GET /standard/v1/score-bands.jsonld', i, []),
        ),
      ),
    }
    return { url, keysDir, files }
  } finally {
    await db.close()
  }
}

async function start({ url, keysDir }: Setup): Promise<Service> {
  return startService({
    DATABASE_URL: url,
    SIGNING_KEYS_DIR: keysDir,
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    TRUSTED_PROXIES: '127.0.0.0/8',
  })
}

/** Calls with the answer 200, per second and per second of the service's processor time. */
interface Goodput {
  perSecond: number
  perCpuSecond: number
}

interface Measured extends Goodput {
  report: LoadReport
  mostMiB: number
}

async function measure(service: Service, load: Omit<Load, 'seconds'>): Promise<Measured> {
  const used = { started: 0, ended: 0 }
  const running = run(service.port, { ...load, seconds }, (moment) => {
    used[moment] = cpuSeconds(service.pids)
  })
  const { result, mostMiB } = await withResident(service.parent, running)
  const count = result.statuses[200]?.count ?? 0
  const perCpuSecond = count / (used.ended - used.started)
  return { perSecond: count / seconds, perCpuSecond, report: result, mostMiB }
}

/** Measures the peak: 64 connections that each wait for the answer do not overload the service. */
async function peakOf(service: Service, requestsFile: string): Promise<Goodput> {
  const measured = await measure(service, { rate: 0, connections: 64, requestsFile })
  const others = Object.keys(measured.report.statuses).filter((status) => status !== '200')
  if (others.length > 0) throw new Error(`at the peak the service answers ${others.join()}`)
  return measured
}

/** Measures the peak before and after each load, so that other load on the machine affects both. */
async function curve(service: Service, route: string, requestsFile: string): Promise<Finding[]> {
  const findings: Finding[] = []
  // Warm up until the hot code is compiled.
  for (let round = 0; round < 2; round++) await peakOf(service, requestsFile)
  let peak = await peakOf(service, requestsFile)
  for (const connections of connectionCounts)
    for (const factor of factors) {
      const load = { rate: peak.perSecond * factor, connections, requestsFile }
      const measured = await measure(service, load)
      const before = peak
      peak = await peakOf(service, requestsFile)
      const share = (key: keyof Goodput) => measured[key] / ((before[key] + peak[key]) / 2)
      const name = `${route}, ${connections} connections, ${factor}×`
      process.stdout.write(`${name}: ${detailsOf(measured)}\n`)
      findings.push(
        {
          name,
          value: share('perSecond'),
          unit: 'of the peak',
          target: { min: goodputMin[factor] as number },
        },
        { name: '  by processor time', value: share('perCpuSecond'), unit: 'of the peak' },
        {
          name: '  p99',
          value: measured.report.statuses[200]?.p99Ms ?? 0,
          unit: 'ms',
          target: { max: p99MsMax },
        },
        {
          name: '  resident',
          value: measured.mostMiB,
          unit: 'MiB',
          target: { max: residentMiBMax },
        },
      )
    }
  findings.push(await recovery(service, requestsFile, peak.perSecond * 10))
  return findings
}

function detailsOf({ report, perSecond }: Measured): string {
  const { statuses, dropped, late, connectErrors, readErrors, unanswered, cpuSeconds } = report
  const a = (count: number): string => (count / seconds).toFixed(0)
  const each = Object.entries(statuses).map(
    ([status, { count, p50Ms, maxMs }]) =>
      `${status}: ${a(count)}/s after ${p50Ms.toFixed(0)} to ${maxMs.toFixed(0)} ms`,
  )
  return [
    `${perSecond.toFixed(0)}/s`,
    ...each,
    `${a(dropped)}/s found no connection`,
    `${late} after the end, ${unanswered} never, ${connectErrors + readErrors} errors`,
    `generator ${(cpuSeconds / seconds).toFixed(2)} of a core`,
  ].join('; ')
}

/** The time in which a client with few calls must get its 200. */
const wellMsMax = 200

/** Returns how long after a flood the calls of another client were refused or slow. */
async function recovery(service: Service, requestsFile: string, rate: number): Promise<Finding> {
  const { port } = service
  const traceFile = join(folder, 'trace')
  const light = { rate: 50, connections: 16, seconds: seconds + 5, requestsFile, traceFile }
  const watching = run(port, light)
  let floodEnd = 0
  const flood = { rate, connections: 5_000, seconds, requestsFile }
  await run(port, flood, () => {
    floodEnd = performance.now()
  })
  const { count: served = 0 } = (await watching).statuses[200] ?? {}
  // Both are milliseconds of the machine's monotonic clock.
  const clockShift = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  const unwell = readFileSync(traceFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number) as [number, number, number])
    .filter(([, status, ms]) => status !== 200 || ms > wellMsMax)
    .map(([end, , ms]) => end - ms - clockShift)
  const lastSent = Math.max(floodEnd, ...unwell)
  process.stdout.write(`${served} calls of a light client were served meanwhile\n`)
  return {
    name: '  recovery after 5,000 connections, 10×',
    value: lastSent - floodEnd,
    unit: 'ms',
    target: { max: recoveryMsMax },
  }
}

compileGenerator()
const postgres = await startPostgres({
  dataDir: join(folder, 'data'),
  durable: true,
})
try {
  const setup = await prepare(postgres.url, join(folder, 'keys'))
  // The first start after a change loads the type stripper, which stays in memory.
  await (await start(setup)).stop()
  const findings: Finding[] = []
  for (const route of routesWanted) {
    const service = await start(setup)
    findings.push(...(await curve(service, route, setup.files[route] as string)))
    await service.stop()
  }
  report('overload', findings)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
