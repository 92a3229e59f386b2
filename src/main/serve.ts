/**
 * The serving process: opens the database and the service, then listens. On a stop signal it
 * drains, stops the jobs, and closes everything in reverse order. With several processes, the
 * parent owns the database and the jobs, and its children answer requests on one shared port.
 */
import cluster from 'node:cluster'
import { createRequire } from 'node:module'
import { hostname } from 'node:os'
import { type Config, readConfig } from '../config/config.ts'
import { openSigners } from '../credentials/signers.ts'
import { databaseUrls, migrateDatabase, openDatabase, reviveJobs } from '../database/open.ts'
import { renderCommands } from '../demo/commands.ts'
import { type Job, type JobRecords, runJobs } from '../platform/job-runner.ts'
import { type Log, openLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { disconnectFromParent, listenToParent, reportFailedStart } from './children.ts'
import { openContext, refuseUnfitDatabase, schemaJob } from './context.ts'
import { createDemoSignInLinks, ensureDemo, startDemoReceiver } from './demo.ts'
import { openHealth, publishHealth } from './health.ts'
import { createService } from './http-app.ts'
import { backgroundJobs } from './jobs/all.ts'
import {
  type Listener,
  listen,
  type ServingOptions,
  startMetrics,
  startServing,
} from './listener.ts'
import { mailJobs, mailJobsOfServer } from './mails.ts'
import { leaveServerMark } from './server-mark.ts'
import { untilAborted, watchStopSignals } from './stop-signals.ts'
import { openWebhookJobs } from './webhooks.ts'

const { version } = createRequire(import.meta.url)('../../package.json')

/** Names this process in the lines of its log. */
export const origin = { node: hostname(), process: process.pid, release: String(version) }

export interface ServeOptions {
  /** Prepares the demo and prints its commands. */
  demo: boolean
  /** The place of the background jobs. `alone`: in this process, which then answers no requests. */
  jobs: 'here' | 'elsewhere' | 'alone'
  /** The process that started this one and waits for it. */
  launcherPid?: number | undefined
}

/** Serves until SIGINT or SIGTERM. If it cannot start, throws with a message for the operator. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = openLog({ level: config.logLevel, origin })
  if (cluster.isWorker) return serveAsChild(config, log)
  const stopSignals = watchStopSignals()
  await using closing = new AsyncDisposableStack()
  // Runs last: after a second signal, requests still in progress would keep the process alive.
  closing.defer(() => {
    if (stopSignals.second.aborted) process.exit(130)
  })
  // A damaged key file stops the start before anything else is opened.
  const signers = await openSigners(config.signingKeysDir)
  const database = await openDatabase(config, (line) => log.info(line))
  closing.defer(() => database.stop())
  if (stopSignals.first.aborted) return
  if (database.embedded || options.demo)
    for (const url of databaseUrls(config, database.url))
      await migrateDatabase(url, config.databasePooling)
  const metrics = createMetrics()
  const context = await openContext(config, { url: database.url, log, closing, signers, metrics })
  await refuseUnfitDatabase(context, { runsJobs: options.jobs !== 'elsewhere' })
  const hasDemo = options.demo && (await ensureDemo(context, database.url))

  const service = createService(context)
  await service.registryCache.refresh()
  closing.defer(() => service.close())
  const records: JobRecords | null = options.jobs === 'elsewhere' ? null : new Map()
  const serves = options.jobs !== 'alone' && config.processes === 1
  const own = { context, service, metrics, url: database.url, closing }
  const health = await openHealth(config, { ...own, serves, records })
  publishHealth(health, context)
  if (records === null) {
    const jobs = await mailJobsOfServer(context, closing)
    stopJobsAtEnd(jobs, { log, closing })
  } else {
    const jobs = backgroundJobs(context, service)
    const around = hasDemo ? await startDemoReceiver(context, closing, say) : undefined
    const webhookJobs = await openWebhookJobs({ ...context, ring: context.secrets, around })
    closing.defer(() => webhookJobs.close())
    jobs.push(...webhookJobs.jobs, ...(await mailJobs(context, closing)))
    stopJobsAtEnd(jobs, { log, closing, records })
  }
  const everyJobs = [
    ...service.servingJobs,
    schemaJob(context),
    ...(serves ? context.replicaJobs : []),
    ...health.jobs,
    ...reviveJobs(database, service.registryCache.ageMs),
  ]
  stopJobsAtEnd(everyJobs, { log, closing })

  if (stopSignals.first.aborted) return
  if (options.jobs === 'alone') {
    const metricsPort = await startMetrics(config, { metrics, health }, closing)
    log.info('working', { metricsPort })
    await untilAborted(stopSignals.first)
    return
  }
  const serving = await startServing(config, { ...own, health }).catch((error: unknown) => {
    // Ctrl-C in a terminal also ends children that do not handle the signal yet.
    if (!stopSignals.first.aborted) throw error
  })
  if (serving === undefined) return
  closing.defer(() => serving.kill())
  markServer(config, { port: serving.port, launcherPid: options.launcherPid, log, closing })
  const monitored = { metrics: serving.metrics, health }
  const metricsPort = await startMetrics(config, monitored, closing)
  log.info('listening', { port: serving.port, metricsPort, publicUrl: config.publicUrl })
  if (hasDemo) say(renderCommands(config, readConfig({}), await createDemoSignInLinks(context)))
  await untilAborted(stopSignals.first)
  const delayMs = stopSignals.first.reason === 'SIGTERM' ? config.drainDelaySeconds * 1_000 : 0
  await Promise.race([serving.drain(delayMs), untilAborted(stopSignals.second)])
}

interface StartedServer {
  port: number
  launcherPid: number | undefined
  log: Log
  closing: AsyncDisposableStack
}

/** Marks a server for `doctor`. Only warns if the data directory cannot be written. */
function markServer({ dataDir }: Config, { port, launcherPid, log, closing }: StartedServer): void {
  try {
    closing.defer(leaveServerMark(dataDir, { port, launcherPid: launcherPid ?? null }))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    log.warn('the data directory cannot be written: doctor will not know of this server', { why })
  }
}

/** Serves in a child process. The parent has prepared the database, and orders the end. */
async function serveAsChild(config: Config, log: Log): Promise<void> {
  const url = config.databaseUrl
  if (url === undefined) throw new Error('a serving child is given its database by its parent')
  const leaving = listenToParent()
  await using closing = new AsyncDisposableStack()
  closing.defer(disconnectFromParent)
  const metrics = createMetrics()
  const server = await startChild(config, { url, log, closing, metrics }).catch(reportFailedStart)
  const delayMs = await leaving({ port: server.port, metrics })
  await server.drain(delayMs)
}

interface ChildOptions extends Omit<ServingOptions, 'context' | 'service' | 'health'> {
  log: Log
}

async function startChild(
  config: Config,
  { url, log, closing, metrics }: ChildOptions,
): Promise<Listener> {
  const signers = await openSigners(config.signingKeysDir)
  const context = await openContext(config, { url, log, closing, signers, metrics })
  const service = createService(context)
  await service.registryCache.refresh()
  closing.defer(() => service.close())
  const own = { context, service, url, closing, metrics }
  const health = await openHealth(config, { ...own, serves: true, records: null })
  const jobs = [...service.servingJobs, schemaJob(context), ...context.replicaJobs, ...health.jobs]
  stopJobsAtEnd(jobs, { log, closing })
  return listen(config, { ...own, health })
}

interface RunningJobs {
  log: Log
  closing: AsyncDisposableStack
  records?: JobRecords
}

function stopJobsAtEnd(jobs: readonly Job[], { closing, ...options }: RunningJobs): void {
  const ending = new AbortController()
  const running = runJobs(jobs, { ...options, signal: ending.signal })
  closing.defer(() => {
    ending.abort()
    return running
  })
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
