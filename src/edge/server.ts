/**
 * The HTTP edge: declared endpoints become routes of a server.
 *
 * A request passes `receive` → `router` → `serve` (waits for a slot) → `handle` (checks, work,
 * charge) → `write`. Data that is not HTTP ends in `wire-errors`.
 */

import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { UnavailableError } from '../platform/errors.ts'
import { isWithin, type Network, parseAddress, parseNetwork } from '../platform/networks.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { AuthenticateOptions } from './authenticate.ts'
import { isForwarded, trustedProxies } from './client-network.ts'
import { trackConnections } from './connections.ts'
import { eventStreams } from './event-streams.ts'
import { formerOriginsOf } from './former-origins.ts'
import { openGates } from './gates.ts'
import { publishGauges } from './gauges.ts'
import { headerSets } from './headers.ts'
import { liveness, type Readiness, readiness } from './health.ts'
import type { Metering } from './http/admission.ts'
import type { CallLog } from './http/call-log.ts'
import type { Endpoint, RefusalPage } from './http/endpoint.ts'
import type { PaymentPort } from './http/payments.ts'
import { type ServerLimits, usualLimits } from './limits.ts'
import { lineStreams } from './line-streams.ts'
import { trackBodies } from './open-bodies.ts'
import { type OpenRequest, receiveFrom } from './receive.ts'
import { refusalOf } from './refusals.ts'
import { openContext, type Route } from './request-context.ts'
import { createRequestIds } from './request-id.ts'
import { createRouter } from './router.ts'
import { pathRoutes } from './routes.ts'
import type { Edge } from './serve.ts'
import { closeRequest } from './slot.ts'
import { createWriter } from './write.ts'

export interface ServerOptions extends AuthenticateOptions {
  endpoints: readonly Endpoint[]
  /** Base of every absolute URL, without a trailing slash (decision D3). */
  publicUrl: string
  /**
   * Former values of `publicUrl`. A request that names the host of one gets the documents of that
   * origin (decision D55).
   */
  formerPublicUrls?: readonly string[]
  /** Addresses and CIDR ranges whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[]
  readiness: () => Promise<Readiness>
  log: Log
  /** The request log; absent: no call is logged. */
  calls?: CallLog | undefined
  metrics: Metrics
  /** False for a second server of a process, because a gauge has one reader. */
  hasGauges?: boolean
  /**
   * Networks from which operator routes are reached; the others get 404 there. Null: any network,
   * because the listener is the operator's own.
   */
  operatorNetworks?: readonly string[] | null
  /** Charges credits. If absent, calls with a key are free (decision D21). */
  metering?: Metering | undefined
  /** Accepts x402 payments. If absent, paid reads need a key. */
  payments?: PaymentPort | undefined
  /** Shown to browsers on paths that match nothing (decision D52). By default they get JSON. */
  notFoundPage?: RefusalPage | undefined
  limits?: Partial<ServerLimits>
}

export interface Server {
  /** Resolves once requests are accepted. Port 0 takes a free one. */
  listen(address: { host: string; port: number }): Promise<{ port: number }>
  /**
   * Fails the readiness probe at once and stops accepting connections after `delayMs`. Requests in
   * progress may finish within the drain timeout and are then cut off. A second call cuts them off
   * at once.
   */
  drain(delayMs: number): Promise<void>
}

/** Throws if a declaration or the list of trusted proxies is invalid. */
export function createServer(options: ServerOptions): Server {
  const { publicUrl, formerPublicUrls = [], log, metrics } = options
  const limits = { ...usualLimits(), ...options.limits }
  const sets = headerSets(publicUrl)
  const gates = openGates(limits.gate)
  const bodies = trackBodies(limits)
  const streams = eventStreams(log)
  const lines = lineStreams(log)
  const connections = trackConnections(trustedProxies(options.trustedProxies), limits)
  const edge: Edge = {
    ...options,
    writer: createWriter({
      sets,
      log,
      calls: options.calls,
      streams,
      lineStreams: lines,
      onSlowReader: connections.watch,
    }),
    gates,
    bodies,
    origin: new URL(publicUrl).origin,
    formerOrigins: formerOriginsOf(formerPublicUrls),
    pending: new Set(),
  }
  const requestIds = createRequestIds()
  let isDraining = false
  /** Connections refused by Node's HTTP server, or closed for too many unanswered requests. */
  let refused = 0

  const open: OpenRequest = (request, response, route) => {
    if (isDraining) response.shouldKeepAlive = false
    const connection = connections.of(request.socket)
    const client = connections.clientOf(request)
    const requestId = requestIds()
    return openContext({ request, response, route, connection, client, requestId })
  }
  const route = (path: string): Route => ({ path, meter: metrics.route(path) })
  const unmatched: Route = {
    ...route('unmatched'),
    refusalPage: options.notFoundPage,
    isNegotiated: true,
  }
  const probes = [
    { route: route('/healthz'), answer: liveness },
    { route: route('/readyz'), answer: () => readiness(options.readiness, () => isDraining) },
  ]
  const paths = pathRoutes(options.endpoints, metrics)
  const isFromOperator = operatorCheck(options.operatorNetworks ?? [], connections)
  const router = createRouter({
    edge,
    sets,
    paths,
    unmatched,
    probes,
    open,
    isFromOperator: options.operatorNetworks === null ? () => true : isFromOperator,
  })
  const server = createHttpServer(httpOptions(limits))
  server.maxConnections = limits.connectionsMax
  // Beyond its own maximum the parser drops headers silently. `requestProblem` counts them instead.
  server.maxHeadersCount = 0
  server.on('drop', () => refused++)
  receiveFrom(server, {
    edge,
    sets,
    connections,
    router,
    unmatched,
    ownHosts: formerOriginsOf([publicUrl, ...formerPublicUrls]),
    open,
    requestIds,
    unansweredMax: limits.unansweredMax,
    onOverdrawn: () => refused++,
  })
  if (options.hasGauges !== false)
    publishGauges({ metrics, gates, bodies, connections, refused: () => refused })
  const stopSweep = startSweep(edge, limits)

  return {
    async listen(address) {
      await listenOn(server, address)
      return { port: (server.address() as AddressInfo).port }
    },
    async drain(delayMs) {
      if (isDraining) {
        server.closeAllConnections()
        return
      }
      isDraining = true
      // These requests began before the drain. Their connections must close after the response.
      for (const { response } of edge.pending) response.shouldKeepAlive = false
      await wait(delayMs)
      // Until now, a proxy that asks no more for readiness sent new ones here.
      streams.end()
      lines.end()
      await untilNoneWaits(server)
      await closeWithin(server, limits.drainTimeoutMs)
      stopSweep()
      connections.stop()
    },
  }
}

/** Ends overdue requests and slow bodies from now on. Returns the function that stops it. */
function startSweep(edge: Edge, limits: ServerLimits): () => void {
  const sweep = setInterval(() => {
    refuseOverdue(edge, limits)
    edge.bodies.cutSlow()
  }, limits.checkIntervalMs)
  sweep.unref()
  return () => clearInterval(sweep)
}

function listenOn(server: HttpServer, address: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, resolve)
  })
}

/** A busy server gets connections all the time, and must stop all the same. */
const waitForQuietMs = 10_000

/**
 * Waits for a short turn of the loop that found no connection to accept. Closing resets those that
 * the system has accepted and we have not, and a proxy must not repeat the POST that it sent on one.
 * A turn accepts one at most. The shorter a turn without one was, the fewer have come since, so at
 * first it must be much shorter than what was waited: 0.1 ms after 30 ms.
 */
async function untilNoneWaits(server: HttpServer): Promise<void> {
  let accepted = 0
  const count = () => accepted++
  server.on('connection', count)
  const start = performance.now()
  for (let now = start; now < start + waitForQuietMs; ) {
    const [before, began] = [accepted, now]
    await nextTurn()
    now = performance.now()
    if (accepted === before && now - began < (now - start) / 300) break
  }
  server.off('connection', count)
}

/** Waits until all requests are answered, and cuts off those that are not after `ms`. */
async function closeWithin(server: HttpServer, ms: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  const force = setTimeout(() => server.closeAllConnections(), ms)
  await closed
  clearTimeout(force)
}

/**
 * Answers 503 for an endpoint that misses its deadline, so that it does not hold its caller. A
 * later result is dropped.
 */
function refuseOverdue(edge: Edge, { answerTimeoutMs, requestTimeoutMs }: ServerLimits): void {
  const now = performance.now()
  for (const context of edge.pending) {
    const reading = context.request.method === 'POST' ? requestTimeoutMs : 0
    if (context.startedAt + answerTimeoutMs + reading > now) continue
    closeRequest(edge, context)
    edge.log.warn('an endpoint did not answer in time', { requestId: context.requestId })
    const late = refusalOf(new UnavailableError('no answer in time'))
    edge.writer.answer(context, context.failure ?? late)
  }
}

function httpOptions(limits: ServerLimits) {
  return {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: 16_384,
    // `requestProblem` rejects such a request with our error body.
    requireHostHeader: false,
    noDelay: true,
  }
}

/**
 * Returns whether a request comes from one of the networks. Behind a proxy on the same machine every
 * stranger looks like loopback, so a request that an undeclared proxy forwards does not.
 */
function operatorCheck(
  ranges: readonly string[],
  connections: Pick<ReturnType<typeof trackConnections>, 'of' | 'clientOf'>,
): (request: IncomingMessage) => boolean {
  const networks = ranges
    .map(parseNetwork)
    .filter((network): network is Network => network !== null)
  return (request) => {
    const { isTrustedProxy } = connections.of(request.socket)
    if (!isTrustedProxy && isForwarded(request.headers)) return false
    const address = parseAddress(connections.clientOf(request).network.address ?? '')
    return address !== null && isWithin(address, networks)
  }
}
