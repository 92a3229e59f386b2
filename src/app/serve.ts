/**
 * The serving process: settings → database → service → listen; on a signal drain, stop the jobs, stop what was started.
 * With several processes the first one owns database and jobs, and the others answer requests on one shared port.
 */
import cluster from 'node:cluster'
import { type Config, readConfig } from '../config/config.ts'
import { migrateDatabase, openDatabase, reviveJobs } from '../database/open.ts'
import { renderCommands } from '../demo/commands.ts'
import { type Job, runJobs } from '../platform/job-runner.ts'
import { type Log, openLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { openSigners } from '../score-credentials/signers.ts'
import { leaveParent, reportFailedStart, untilParentLeaves } from './children.ts'
import { openParts, refuseUnfitDatabase, schemaJob } from './context.ts'
import { createDemoSignInLink, ensureDemo, startDemoReceiver } from './demo.ts'
import { createService } from './http-app.ts'
import { backgroundJobs } from './jobs/all.ts'
import { type Listener, listen, type ServingParts, startMetrics, startServing } from './listener.ts'
import { mailJobs } from './mails.ts'
import { leaveServerMark } from './server-mark.ts'
import { untilAborted, watchStopSignals } from './stopping.ts'
import { openDelivering } from './webhooks.ts'

export interface ServeOptions {
  /** Prepares the demo and prints its commands. */
  demo: boolean
  /** Where the jobs run. `alone`: in this process, which then answers no requests. */
  jobs: 'here' | 'elsewhere' | 'alone'
  /** The process that started this one and waits for it. */
  launcherPid?: number | undefined
}

/** Serves until SIGINT or SIGTERM. Throws, with a message for the operator, where it cannot start. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = openLog({ level: config.logLevel })
  if (cluster.isWorker) return serveAsChild(config, log)
  const stopSignals = watchStopSignals()
  await using closing = new AsyncDisposableStack()
  // At the very end: whoever is not waited for would keep the process alive.
  closing.defer(() => {
    if (stopSignals.second.aborted) process.exit(130)
  })
  // Before anything is started: a key that is not sound stops the start.
  const signers = await openSigners(config.signingKeysDir)
  const database = await openDatabase(config, (line) => log.info(line))
  closing.defer(() => database.stop())
  if (stopSignals.first.aborted) return
  if (database.embedded || options.demo) await migrateDatabase(database.url, config.databasePooling)
  const metrics = createMetrics()
  const parts = await openParts(config, { url: database.url, log, closing, signers, metrics })
  await refuseUnfitDatabase(parts.db, log)
  const hasDemo = options.demo && (await ensureDemo(parts, database.url))

  const service = createService(parts)
  await service.registryCache.refresh()
  closing.defer(() => service.close())
  const jobs = [
    ...service.servingJobs,
    schemaJob(parts),
    ...reviveJobs(database, service.registryCache.ageMs),
  ]
  if (options.jobs !== 'elsewhere') {
    jobs.push(...backgroundJobs(parts, service))
    const around = hasDemo ? await startDemoReceiver(parts, closing, say) : undefined
    const delivering = await openDelivering({ ...parts, ring: parts.secrets, metrics, around })
    closing.defer(() => delivering.close())
    jobs.push(...delivering.jobs, ...(await mailJobs({ ...parts, metrics }, closing)))
  }
  stopJobsAtEnd(jobs, log, closing)

  if (stopSignals.first.aborted) return
  if (options.jobs === 'alone') {
    const metricsPort = await startMetrics(config, { metrics }, closing)
    log.info('working', { metricsPort })
    await untilAborted(stopSignals.first)
    return
  }
  const own = { parts, service, metrics, url: database.url, closing }
  const serving = await startServing(config, own).catch((error: unknown) => {
    // Ctrl-C in a terminal also ends children that do not yet leave it to us.
    if (!stopSignals.first.aborted) throw error
  })
  if (serving === undefined) return
  closing.defer(() => serving.kill())
  markServer(config, { port: serving.port, launcherPid: options.launcherPid, log, closing })
  const metricsPort = await startMetrics(config, serving, closing)
  log.info('listening', { port: serving.port, metricsPort, publicUrl: config.publicUrl })
  if (hasDemo) say(renderCommands(config, readConfig({}), await createDemoSignInLink(parts)))
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

/** A server without a launcher leaves no mark. A data directory that cannot be written stops no server. */
function markServer({ dataDir }: Config, { port, launcherPid, log, closing }: StartedServer): void {
  if (launcherPid === undefined) return
  try {
    closing.defer(leaveServerMark(dataDir, { port, launcherPid }))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    log.warn('the data directory cannot be written: doctor will not know of this server', { why })
  }
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
  await service.registryCache.refresh()
  closing.defer(() => service.close())
  stopJobsAtEnd([...service.servingJobs, schemaJob(parts)], log, closing)
  return listen(config, { parts, service, url, closing, metrics })
}

function stopJobsAtEnd(jobs: readonly Job[], log: Log, closing: AsyncDisposableStack): void {
  const ending = new AbortController()
  const running = runJobs(jobs, log, ending.signal)
  closing.defer(() => {
    ending.abort()
    return running
  })
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
