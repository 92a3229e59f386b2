/**
 * The HTTP edge. Declared endpoints become routes, and everything that all requests share is
 * checked and written here.
 *
 * A request passes `connections` → `request-head` → `router` → `serve` (the order of checks) →
 * `write`. Data that is not HTTP ends in `wire-errors`.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Authenticate, AuthenticateSession, Metering } from '../platform/http/admission.ts'
import type { RateLimits } from '../platform/http/contract.ts'
import type { Endpoint, RefusalPage } from '../platform/http/endpoint.ts'
import { type Refusal, refuse, UnavailableError } from '../platform/http/errors.ts'
import type { PaymentPort } from '../platform/http/payments.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { RateLimiter } from '../platform/rate-limit/limiter.ts'
import { RecentMap } from '../platform/recent-map.ts'
import { trustedProxies } from './client-network.ts'
import { trackConnections } from './connections.ts'
import { formerOriginsOf } from './former-origins.ts'
import type { Gate } from './gate.ts'
import { openGates } from './gates.ts'
import { headerSets } from './headers.ts'
import { liveness, type Readiness, readiness } from './health.ts'
import { type ServerLimits, usualLimits } from './limits.ts'
import { trackBodies } from './open-bodies.ts'
import { refusalOf } from './refusals.ts'
import type { Connection, RequestContext, Route, Trace } from './request-context.ts'
import { acceptAbsoluteForm, requestProblem } from './request-head.ts'
import { requestId } from './request-id.ts'
import { createRouter, type Router } from './router.ts'
import { pathRoutes } from './routes.ts'
import { type Edge, servePublic } from './serve.ts'
import { closeRequest } from './slot.ts'
import { refusalOfParserError, wireErrorWriter } from './wire-errors.ts'
import { createWriter } from './write.ts'

export interface ServerOptions {
  endpoints: readonly Endpoint[]
  limiter: RateLimiter
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
  metrics: Metrics
  /** Authenticates a presented API key. */
  authenticate: Authenticate
  /** Looks up the session of a browser. */
  authenticateSession: AuthenticateSession
  /** Charges credits. If absent, calls with a key are free (decision D21). */
  metering?: Metering | undefined
  /** Accepts x402 payments. If absent, paid reads need a key. */
  payments?: PaymentPort | undefined
  /** Limits the invalid keys that one address may present (decision D16). */
  failedKeyLimits: RateLimits
  /** Not-found limit: 404s of one key or of one x402 payer (decision D24). */
  notFoundLimits: RateLimits
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
  const limits = { ...usualLimits(), ...options.limits }
  const { log, metrics, limiter, authenticate, authenticateSession } = options
  const { metering, payments, failedKeyLimits, notFoundLimits } = options
  const sets = headerSets(options.publicUrl)
  const paths = pathRoutes(options.endpoints, metrics)
  const pending = new Set<RequestContext>()
  const ownHosts = formerOriginsOf([options.publicUrl, ...(options.formerPublicUrls ?? [])])
  const gates = openGates(limits.gate)
  const bodies = trackBodies(limits)
  let isDraining = false
  /** Connections that were closed because they had too many unanswered requests. */
  let overdrawn = 0

  const connections = trackConnections(trustedProxies(options.trustedProxies), {
    perAddressMax: limits.connectionsPerAddressMax,
    readTimeoutMs: limits.readTimeoutMs,
    checkIntervalMs: limits.checkIntervalMs,
  })
  const { clientDigest, network, lane, watch } = connections
  const writer = createWriter({ sets, log, clientDigest, onSlowReader: watch })
  const edge: Edge = {
    writer,
    log,
    limiter,
    authenticate,
    authenticateSession,
    failedKeyLimits,
    notFoundLimits,
    deniedUntil: new RecentMap(deniedCacheMax),
    metering,
    payments,
    gates,
    bodies,
    lane,
    network,
    origin: new URL(options.publicUrl).origin,
    formerOrigins: formerOriginsOf(options.formerPublicUrls ?? []),
    pending,
  }
  const route = (path: string): Route => ({ path, meter: metrics.route(path) })
  const unmatched: Route = {
    ...route('unmatched'),
    refusalPage: options.notFoundPage,
    isNegotiated: true,
  }
  const router = createRouter({
    edge,
    sets,
    paths,
    unmatched,
    probes: [
      { route: route('/healthz'), answer: liveness },
      {
        route: route('/readyz'),
        answer: () => readiness(options.readiness, () => isDraining),
      },
    ],
    open,
  })
  const server = serverFor(router)
  const sweep = setInterval(() => {
    refuseOverdue()
    bodies.cutSlow()
  }, limits.checkIntervalMs)
  sweep.unref()
  measure()

  function serverFor(router: Router) {
    const enter: Router = (request, response) => {
      // After a connection is closed, the parser still reads the bytes that had arrived.
      if (request.socket.destroyed || isOverdrawn(request.socket)) return
      acceptAbsoluteForm(request, (host) => ownHosts.has(host))
      const problem = requestProblem(request)
      if (problem === null) router(request, response)
      else refuseHere(request, response, problem)
    }
    const refuseOnWire = wireErrorWriter({
      sets,
      connectionOf: connections.of,
      unread: (connection) => traceOf(connection, unmatched),
      record: writer.record,
    })
    return createHttpServer(httpOptions(limits), enter)
      .on('connection', connections.opened)
      .on('checkContinue', enter)
      .on('checkExpectation', (request, response) =>
        refuseHere(request, response, refuse('expectation_failed')),
      )
      .on('connect', (_request, socket) => refuseOnWire(socket as Socket, refuse('bad_request')))
      .on('clientError', (error: NodeJS.ErrnoException, socket) =>
        refuseOnWire(socket as Socket, refusalOfParserError(error.code)),
      )
  }

  /** Closes a connection with too many unanswered requests, because each of them takes memory. */
  function isOverdrawn(socket: Socket): boolean {
    if (connections.of(socket).unanswered < limits.unansweredMax) return false
    overdrawn++
    socket.destroy()
    return true
  }

  function open(request: IncomingMessage, response: ServerResponse, route: Route): RequestContext {
    if (isDraining) response.shouldKeepAlive = false
    const connection = connections.of(request.socket)
    connection.unanswered++
    return {
      method: request.method ?? '',
      route,
      connection,
      requestId: requestId(),
      startedAt: performance.now(),
      answered: false,
      request,
      response,
      headers: none,
      failure: null,
      place: null,
      body: null,
    }
  }

  function refuseHere(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    const context = open(request, response, unmatched)
    servePublic(edge, context, () => writer.answer(context, refusal))
  }

  /**
   * Answers 503 for an endpoint that misses its deadline, so that it does not hold its caller. A
   * later result is dropped.
   */
  function refuseOverdue(): void {
    const now = performance.now()
    for (const context of pending) {
      const reading = context.request.method === 'POST' ? limits.requestTimeoutMs : 0
      if (context.startedAt + limits.answerTimeoutMs + reading > now) continue
      closeRequest(edge, context)
      log.warn('an endpoint did not answer in time', { requestId: context.requestId })
      const late = refusalOf(new UnavailableError('no answer in time'))
      writer.answer(context, context.failure ?? late)
    }
  }

  function measure(): void {
    let dropped = 0
    server.maxConnections = limits.connectionsMax
    // Beyond its own maximum the parser drops headers silently. `requestProblem` counts them
    // instead.
    server.maxHeadersCount = 0
    server.on('drop', () => dropped++)
    const byPriority = (count: (gate: Gate) => number) => () =>
      Object.fromEntries(Object.entries(gates).map(([name, gate]) => [name, count(gate)]))
    metrics.gauges(
      { name: 'http_in_flight', help: 'Requests under way.', labels: ['priority'] },
      byPriority((gate) => gate.active()),
    )
    metrics.gauges(
      { name: 'http_waiting', help: 'Requests that wait for a slot.', labels: ['priority'] },
      byPriority((gate) => gate.waiting()),
    )
    metrics.gauge('http_open_bodies', 'Bodies that are not whole yet.', bodies.count)
    metrics.gauge('http_body_bytes', 'Bytes of bodies in memory.', bodies.bytes)
    metrics.gauge('http_connections', 'Open connections.', connections.count)
    metrics.gauge(
      'http_connections_refused',
      'Connections over a limit since the start.',
      () => connections.refused() + dropped + overdrawn,
    )
  }

  return {
    async listen(address) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(address, resolve)
      })
      return { port: (server.address() as AddressInfo).port }
    },
    async drain(delayMs) {
      if (isDraining) {
        server.closeAllConnections()
        return
      }
      isDraining = true
      // These requests began before the drain. Their connections must close after the response.
      for (const { response } of pending) response.shouldKeepAlive = false
      await wait(delayMs)
      const closed = new Promise((resolve) => server.close(resolve))
      const force = setTimeout(() => server.closeAllConnections(), limits.drainTimeoutMs)
      await closed
      clearTimeout(force)
      clearInterval(sweep)
      connections.stop()
    },
  }
}

const deniedCacheMax = 10_000

const none: readonly string[] = []

function traceOf(connection: Connection, route: Route): Trace {
  const startedAt = performance.now()
  return { method: '', route, connection, requestId: requestId(), startedAt, answered: false }
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
