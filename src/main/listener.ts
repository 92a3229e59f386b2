/** Starts the HTTP server, in this process or in children, and the metrics server. */
import { type CallWriter, callWriter } from '../accounts/request-log/writer.ts'
import type { Config } from '../config/config.ts'
import { watchedDb } from '../database/schema-level.ts'
import { liveness, probe, readiness } from '../edge/health.ts'
import { inProcessRateLimiter } from '../edge/rate-limit/process-limiter.ts'
import { databaseRateLimiter } from '../edge/rate-limit/shared-limiter.ts'
import { createServer, type Server } from '../edge/server.ts'
import { openDb } from '../platform/db/db.ts'
import { type Metrics, serveMetrics } from '../platform/observability/metrics.ts'
import { connectionsWithin, openFilesMax } from '../platform/open-files.ts'
import { statusPages } from '../web/public/status.ts'
import { siteOf } from '../web/public-page.ts'
import { forkServing, type Serving } from './children.ts'
import type { AppContext } from './context.ts'
import type { Health } from './health.ts'
import type { Service } from './http-app.ts'

export interface ServingOptions {
  context: AppContext
  service: Service
  health: Health
  url: string
  closing: AsyncDisposableStack
  metrics: Metrics
}

/** Serves in this process, or in as many children as the settings say. */
export async function startServing(config: Config, serving: ServingOptions): Promise<Serving> {
  if (config.processes > 1) {
    const { context, metrics } = serving
    return forkServing(config.processes, serving.url, { log: context.log, metrics })
  }
  const server = await listen(config, serving)
  return { ...server, metrics: serving.metrics, kill: () => void server.drain(0) }
}

export type Listener = Pick<Serving, 'port' | 'drain'>

export async function listen(config: Config, own: ServingOptions): Promise<Listener> {
  const { context, service, health, url, closing, metrics } = own
  releaseMemory()
  const limiterDb = openDb({
    url,
    pooling: config.databasePooling,
    connectionsMax: 2,
    applicationName: 'assay limits',
    synchronousCommit: 'off',
    ...context.watchPool('limits'),
  })
  closing.defer(() => limiterDb.close())
  const nodes = config.nodes * config.processes
  const calls = config.requestLogDays > 0 ? openCallLog(config, own) : undefined
  const filesMax = openFilesMax()
  const connectionsMax = connectionsWithin(filesMax, config.connectionsMax)
  if (connectionsMax < config.connectionsMax)
    context.log.warn('the limit of open files allows fewer connections than CONNECTIONS_MAX', {
      filesMax,
      connectionsMax,
    })
  const status = statusPages(siteOf(config.publicUrl, config.operatorName), {
    clock: context.clock,
    probe: () => probe(health.readiness),
    survey: health.survey.last,
    history: health.history.read,
    release: context.release.version,
    startedAt: context.clock(),
  })
  const shared = {
    limiter: databaseRateLimiter({
      db: watchedDb(limiterDb, context.schema),
      fallback: inProcessRateLimiter({ nodes }),
      onOutage: (error) =>
        context.log.warn('limits are counted in this process alone', { why: error.message }),
    }),
    notFoundPage: service.notFoundPage,
    ...service.admission,
    trustedProxies: config.trustedProxies,
    readiness: health.readiness,
    log: context.log,
    calls,
    metrics,
    limits: {
      connectionsMax,
      connectionsPerAddressMax: config.connectionsPerAddressMax,
    },
  }
  const { operator } = config
  const publicEndpoints = [...service.endpoints, ...service.pages, ...status]
  const server = createServer({
    ...shared,
    endpoints:
      operator === null ? [...publicEndpoints, ...service.operatorEndpoints] : publicEndpoints,
    publicUrl: config.publicUrl,
    formerPublicUrls: config.formerPublicUrls,
    operatorNetworks: config.operatorAllowFrom,
  })
  const { port } = await listenOn(server, config, { host: 'HOST', port: 'PORT' })
  if (operator === null) return { port, drain: (delayMs) => server.drain(delayMs) }
  const operatorServer = createServer({
    ...shared,
    endpoints: [...service.operatorEndpoints, ...service.operatorSite.endpoints],
    notFoundPage: service.operatorSite.notFoundPage,
    authenticateSession: service.operatorSessions,
    publicUrl: config.operatorUrl,
    operatorNetworks: null,
    calls: undefined,
    hasGauges: false,
  })
  await listenOn(operatorServer, operator, { host: 'OPERATOR_HOST', port: 'OPERATOR_PORT' })
  context.log.info('the operator API and the console listen', {
    ...operator,
    operatorUrl: config.operatorUrl,
  })
  return {
    port,
    drain: async (delayMs) => {
      await Promise.all([server.drain(delayMs), operatorServer.drain(delayMs)])
    },
  }
}

/**
 * Gives the memory of the start back: V8 would keep it until it is under pressure. At rest a server
 * takes 130 MiB, and 153 without it. The function exists if Node runs with --expose-gc.
 */
function releaseMemory(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
  settings: { host: string; port: string },
): Promise<{ port: number }> {
  return server.listen({ host, port }).catch(explainListenError({ host, port, settings }))
}

/** Opens the request log with a connection of its own, so that no request waits for a batch. */
function openCallLog(
  config: Config,
  { context, url, closing, metrics }: ServingOptions,
): CallWriter {
  const db = openDb({
    url: config.requestLogDatabaseUrl ?? url,
    pooling: config.databasePooling,
    connectionsMax: 1,
    applicationName: 'assay request log',
    synchronousCommit: 'off',
    ...context.watchPool('request log'),
  })
  closing.defer(() => db.close())
  const calls = callWriter({
    db,
    onOutage: (error) =>
      context.log.warn('calls are missing in the request log', { why: String(error) }),
  })
  closing.defer(() => calls.close())
  metrics.gauge(
    'request_log_dropped',
    'Calls since the start that are missing in the request log.',
    calls.dropped,
  )
  return calls
}

/**
 * Starts the server of metrics and probes. Returns its port, or null if the settings turn it off.
 * The probes tell the state of this process, also if its children serve.
 */
export async function startMetrics(
  config: Config,
  { metrics, health }: Pick<Serving, 'metrics'> & { health: Health },
  closing: AsyncDisposableStack,
): Promise<number | null> {
  if (config.metricsPort === null) return null
  const address = { host: config.metricsHost, port: config.metricsPort }
  const settings = { host: 'METRICS_HOST', port: 'METRICS_PORT' }
  const explain = explainListenError({ ...address, settings })
  const probes = {
    '/healthz': async () => liveness(),
    '/readyz': () => readiness(health.readiness, () => false),
  }
  const server = await serveMetrics({ metrics, probes }, address).catch(explain)
  closing.defer(() => server.close())
  return server.port
}

interface ListenAddress {
  host: string
  port: number
  /** Names of the settings of host and port. */
  settings: { host: string; port: string }
}

/** Returns a handler for `catch`. Rethrows a known error as a sentence, other errors unchanged. */
function explainListenError(address: ListenAddress): (error: unknown) => never {
  const { host, port, settings } = address
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Stop the process that uses it, or set ${settings.port} to another port.`,
    EACCES: `Port ${port} needs rights that this user does not have. Set ${settings.port} to 1024 or more.`,
    EADDRNOTAVAIL: `${host} is no address of this machine. Set ${settings.host} to one that is.`,
    ENOTFOUND: `${host} is no address of this machine. Set ${settings.host} to one that is.`,
  }
  return (error) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const sentence = sentences[code]
    throw sentence === undefined ? error : new Error(sentence, { cause: error })
  }
}
