/**
 * The serving process: settings → database → service → listen; on a signal drain, stop the worker, stop what was started.
 * With several processes the first one owns database and worker, and the others answer requests on one shared port.
 */
import cluster from 'node:cluster'
import { join } from 'node:path'
import { peppersMade } from './admitting.ts'
import type { Config } from './config.ts'
import { type Database, migrateDatabase, migrationsDirectory, openDatabase } from './database.ts'
import { openDelivering } from './delivering.ts'
import { demoCommands } from './demo/commands.ts'
import { prepareDemo } from './demo/prepare.ts'
import { openDemoReceiver } from './demo/receiver.ts'
import { readReleaseFacts } from './discovery/release-facts.ts'
import { engineHere } from './engine-here.ts'
import { systemClock } from './platform/clock.ts'
import { type Db, openDb, sql } from './platform/db.ts'
import type { Keyring } from './platform/keyring.ts'
import { type Log, openLog } from './platform/log.ts'
import { createMetrics, type Metrics, serveMetrics } from './platform/metrics.ts'
import { pendingMigrations } from './platform/migrate.ts'
import { inProcessRateLimiter } from './platform/rate-limit.ts'
import { databaseRateLimiter } from './platform/rate-limit-store.ts'
import {
  forkServing,
  leaveParent,
  reportFailedStart,
  type Serving,
  untilParentLeaves,
} from './process/children.ts'
import { explainListening } from './process/listening-error.ts'
import { untilAborted, watchStopSignals } from './process/stopping.ts'
import { openSigners, type Signers } from './score-credentials/signers.ts'
import { openSecretsKeyring } from './secrets-keyring.ts'
import { createServer, type Server } from './server/server.ts'
import { createService, type Service, type ServiceParts, workerJobs } from './service.ts'
import { type Job, runJobs } from './worker.ts'
import type { X402 } from './x402/open.ts'

export interface ServeOptions {
  /** Prepares the demo and prints its commands. */
  demo: boolean
  /** Where background work runs: in this process, in another one; `alone`: here, and no request is answered. */
  worker: 'here' | 'elsewhere' | 'alone'
}

const root = join(import.meta.dirname, '..')

/** Serves until SIGINT or SIGTERM. Throws, with a message for the operator, where it cannot start. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = openLog({ level: config.logLevel })
  if (cluster.isWorker) return serveAsChild(config, log)
  const stopping = watchStopSignals()
  await using closing = new AsyncDisposableStack()
  // At the very end: whoever is not waited for would keep the process alive.
  closing.defer(() => {
    if (stopping.hurried.aborted) process.exit(130)
  })
  // Before anything is started: a key that is not sound stops the start.
  const signers = await openSigners(config.signingKeysDir)
  const database = await openDatabase(config, (line) => log.info(line))
  closing.defer(() => database.stop())
  if (stopping.asked.aborted) return
  if (database.embedded || options.demo) await migrateDatabase(database.url)
  const metrics = createMetrics()
  const parts = await openParts(config, { url: database.url, log, closing, signers, metrics })
  await refuseUnfitDatabase(parts.db)
  const hasDemo = options.demo && (await demoHere(parts, database.url))

  const service = createService(parts)
  await service.mirror.refresh()
  closing.defer(() => service.close())
  const jobs = [
    ...service.servingJobs,
    ...(database.embedded ? [reviveJob(database, service)] : []),
  ]
  if (options.worker !== 'elsewhere') {
    jobs.push(...workerJobs(parts, service))
    jobs.push(...(await deliveringJobs(parts, { metrics, hasDemo, closing })))
  }
  stopJobsAtEnd(jobs, log, closing)

  if (stopping.asked.aborted) return
  if (options.worker === 'alone') {
    const metricsPort = await startMetrics(config, { metrics }, closing)
    log.info('working', { metricsPort })
    await untilAborted(stopping.asked)
    return
  }
  const own = { parts, service, metrics, url: database.url, closing }
  const serving = await startServing(config, own).catch((error: unknown) => {
    // Ctrl-C in a terminal also ends children that do not yet leave it to us.
    if (!stopping.asked.aborted) throw error
  })
  if (serving === undefined) return
  closing.defer(() => serving.kill())
  const metricsPort = await startMetrics(config, serving, closing)
  log.info('listening', { port: serving.port, metricsPort, publicUrl: config.publicUrl })
  if (hasDemo) say(demoCommands({ publicUrl: config.publicUrl, dataDir: config.dataDir }))
  await untilAborted(stopping.asked)
  const delayMs = stopping.asked.reason === 'SIGTERM' ? config.drainDelaySeconds * 1_000 : 0
  await Promise.race([serving.drain(delayMs), untilAborted(stopping.hurried)])
}

/** A process that only answers requests: its parent has prepared everything, and says when it ends. */
async function serveAsChild(config: Config, log: Log): Promise<void> {
  const url = config.databaseUrl
  if (url === undefined) throw new Error('a serving child is given its database by its parent')
  const leaving = untilParentLeaves()
  await using closing = new AsyncDisposableStack()
  closing.defer(leaveParent)
  const metrics = createMetrics()
  const server = await startChild(config, { url, log, closing, metrics }).catch(reportFailedStart)
  const delayMs = await leaving({ port: server.port, metrics })
  await server.drain(delayMs)
}

interface ChildParts extends Omit<ServingParts, 'parts' | 'service'> {
  log: Log
}

async function startChild(
  config: Config,
  { url, log, closing, metrics }: ChildParts,
): Promise<Listener> {
  const signers = await openSigners(config.signingKeysDir)
  const parts = await openParts(config, { url, log, closing, signers, metrics })
  const service = createService(parts)
  await service.mirror.refresh()
  closing.defer(() => service.close())
  stopJobsAtEnd(service.servingJobs, log, closing)
  return listen(config, { parts, service, url, closing, metrics })
}

interface Opened {
  url: string
  log: Log
  closing: AsyncDisposableStack
  signers: Signers
  metrics: Metrics
}

async function openParts(
  config: Config,
  { url, log, closing, signers, metrics }: Opened,
): Promise<ServiceParts> {
  const db = openDb({
    url,
    connectionsMax: config.databaseConnectionsMax,
    applicationName: 'assay',
    onError: (error) => log.warn('a database connection was lost', { why: error.message }),
  })
  closing.defer(() => db.close())
  const x402 = await openPayments(config, { db, log, closing, metrics })
  const secrets = await openSecretsKeyring(config)
  if (secrets === null) log.warn('no webhook endpoint can be created: set SECRETS_KEYRING')
  const release = await readReleaseFacts(root)
  const engine = await engineHere(log)
  return { config, db, log, clock: systemClock, release, engine, signers, secrets, x402 }
}

/** Imported where somebody can pay: a server without payments never needs the code. */
async function openPayments(
  { x402: settings, publicUrl }: Config,
  { db, log, closing, metrics }: Omit<Opened, 'url' | 'signers'> & { db: Db },
): Promise<X402 | null> {
  if (settings === null) return null
  const { openX402 } = await import('./x402/open.ts')
  const onTrouble = (what: string, fields: Record<string, string>) => log.warn(what, fields)
  const x402 = await openX402({
    settings,
    publicUrl,
    db,
    clock: systemClock,
    metrics,
    onTrouble,
  })
  closing.defer(() => x402.close())
  return x402
}

/** Who makes it holds the lock of the keys for a second or two, longer than a request would wait: so it has connections of its own. */
async function demoHere(parts: ServiceParts, url: string): Promise<boolean> {
  const { config, log, engine } = parts
  const db = openDb({
    url,
    connectionsMax: 2,
    applicationName: 'assay demo',
    statementTimeoutMs: 0,
    onError: (error) => log.warn('a database connection was lost', { why: error.message }),
  })
  const peppers = (): Promise<Keyring> => peppersMade(config)
  const options = { config, db, log, engine: engine.engine, peppers, now: systemClock() }
  try {
    return await prepareDemo(options)
  } finally {
    await db.close()
  }
}

const clockSkewMsMax = 30_000

async function refuseUnfitDatabase(db: Db): Promise<void> {
  const pending = await pendingMigrations(db, migrationsDirectory)
  if (pending.length > 0)
    throw new Error(`The database lacks ${pending.join(', ')}. Run \`bin/assay migrate\` first.`)
  const [row] = await db.rows<{ now: Date }>(sql`select clock_timestamp() as now`)
  const skewMs = Math.abs((row?.now.getTime() ?? 0) - systemClock().getTime())
  if (skewMs > clockSkewMsMax)
    throw new Error(
      `The clock of this machine and the database's differ by ${Math.round(skewMs / 1_000)} s.`,
    )
}

/** An embedded database that was killed is started again, within a second or two. */
function reviveJob(database: Database, { mirror }: Service): Job {
  const run = async (): Promise<void> => {
    if (mirror.ageMs() > 1_000) await database.revive()
  }
  return { name: 'embedded database', everyMs: 500, run }
}

interface DeliveringHere {
  metrics: Metrics
  hasDemo: boolean
  closing: AsyncDisposableStack
}

/** Webhooks leave from wherever their secrets can be opened. What is under way at the end is waited for. */
async function deliveringJobs(
  { config, db, log, clock, secrets: ring }: ServiceParts,
  { metrics, hasDemo, closing }: DeliveringHere,
): Promise<Job[]> {
  if (ring === null) return []
  const activeMax = config.webhookEndpointsMax
  const receiver = hasDemo ? await openDemoReceiver({ db, clock, ring, activeMax, say }) : null
  closing.defer(() => receiver?.close())
  const around = receiver?.reachedBeside
  const delivering = await openDelivering({ config, db, log, clock, ring, metrics, around })
  closing.defer(() => delivering.close())
  return delivering.jobs
}

function stopJobsAtEnd(jobs: readonly Job[], log: Log, closing: AsyncDisposableStack): void {
  const ending = new AbortController()
  const running = runJobs(jobs, log, ending.signal)
  closing.defer(() => {
    ending.abort()
    return running
  })
}

interface ServingParts {
  parts: ServiceParts
  service: Service
  url: string
  closing: AsyncDisposableStack
  metrics: Metrics
}

async function startServing(config: Config, serving: ServingParts): Promise<Serving> {
  if (config.processes > 1) {
    const { parts, metrics } = serving
    return forkServing(config.processes, serving.url, { log: parts.log, metrics })
  }
  const server = await listen(config, serving)
  return { ...server, metrics: serving.metrics, kill: () => void server.drain(0) }
}

type Listener = Pick<Serving, 'port' | 'drain'>

async function listen(
  config: Config,
  { parts, service, url, closing, metrics }: ServingParts,
): Promise<Listener> {
  const limiterDb = openDb({
    url,
    connectionsMax: 2,
    applicationName: 'assay limits',
    synchronousCommit: 'off',
    onError: (error) => parts.log.warn('a database connection was lost', { why: error.message }),
  })
  closing.defer(() => limiterDb.close())
  const nodes = config.nodes * config.processes
  const server: Server = createServer({
    endpoints: service.endpoints,
    limiter: databaseRateLimiter({
      db: limiterDb,
      fallback: inProcessRateLimiter({ nodes }),
      onOutage: (error) =>
        parts.log.warn('limits are counted in this process alone', { why: error.message }),
    }),
    publicUrl: config.publicUrl,
    ...service.admission,
    trustedProxies: config.trustedProxies,
    readiness: async () => ({
      database: service.mirror.ageMs() < 3_000 ? 'ok' : 'no answer',
      engine: parts.engine.state,
      ...(parts.x402 == null ? {} : { payments: paymentsState(parts.x402) }),
    }),
    log: parts.log,
    metrics,
    limits: {
      connectionsMax: config.connectionsMax,
      connectionsPerAddressMax: config.connectionsPerAddressMax,
    },
  })
  const address = { host: config.host, port: config.port }
  const explain = explainListening({ ...address, settings: { host: 'HOST', port: 'PORT' } })
  const { port } = await server.listen(address).catch(explain)
  return { port, drain: (delayMs) => server.drain(delayMs) }
}

/** Whoever has a key is served all the same. */
function paymentsState(x402: X402): string | { degraded: string } {
  const fitness = x402.fitness()
  return fitness === 'ok' ? fitness : { degraded: fitness }
}

async function startMetrics(
  config: Config,
  { metrics }: Pick<Serving, 'metrics'>,
  closing: AsyncDisposableStack,
): Promise<number | null> {
  if (config.metricsPort === null) return null
  const address = { host: config.metricsHost, port: config.metricsPort }
  const settings = { host: 'METRICS_HOST', port: 'METRICS_PORT' }
  const explain = explainListening({ ...address, settings })
  const server = await serveMetrics(metrics, address).catch(explain)
  closing.defer(() => server.close())
  return server.port
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
