/**
 * The order of checks on one request to a declared endpoint (decision D18):
 * overload → version → [media type → key → rate limit → size → JSON →] parameters → work.
 */
import type { Answer, Endpoint, EndpointRequest } from '../platform/endpoint.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { interfaceVersion, versionHeader } from '../platform/identifiers.ts'
import type { Log } from '../platform/log.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from '../platform/rate-limiter.ts'
import { parseStrictJson } from '../platform/strict-json.ts'
import { readBody } from './body.ts'
import type { Exchange, Route } from './exchange.ts'
import { acceptsMediaType } from './media-type.ts'
import { isRefusal, type ParameterCheck, type Parameters, queryOf } from './parameters.ts'
import { refusalOf } from './refusals.ts'
import type { Writer } from './write.ts'

export interface EndpointRoute extends Route {
  readonly endpoint: Endpoint
  readonly checkPath: ParameterCheck
  readonly checkQuery: ParameterCheck
}

/** Null for a key that may call the endpoint, or why not. `authorization` is the header as sent. */
export type Authenticate = (authorization: string, endpoint: Endpoint) => Promise<Refusal | null>

/** What the checks need of the server. */
export interface Edge {
  writer: Writer
  log: Log
  limiter: RateLimiter
  authenticate: Authenticate
  /** Null, or the refusal, where the endpoint's class is shed just now. */
  shed(endpoint: Endpoint): Refusal | null
  network(exchange: Exchange): ClientNetwork
  /** Exchanges under way, for their deadline and for the drain. */
  pending: Set<Exchange>
}

/** `path` holds the path parameters, percent-decoded. */
export function serveEndpoint(
  edge: Edge,
  route: EndpointRoute,
  exchange: Exchange,
  path: Parameters,
): void {
  let answer: Answer | Promise<Answer | null>
  try {
    answer = decide(edge, route, exchange, path)
  } catch (error) {
    answer = unexpected(edge, exchange, error)
  }
  serveAnswer(edge, exchange, answer)
}

/** Writes an answer, now or later. Null: the caller is gone. A rejection becomes a 500 or 503. */
export function serveAnswer(
  edge: Edge,
  exchange: Exchange,
  answer: Answer | Promise<Answer | null>,
): void {
  if (answer instanceof Promise) void finish(edge, exchange, answer)
  else edge.writer.answer(exchange, answer)
}

function decide(
  edge: Edge,
  route: EndpointRoute,
  exchange: Exchange,
  path: Parameters,
): Answer | Promise<Answer | null> {
  const { endpoint } = route
  const shed = edge.shed(endpoint)
  if (shed !== null) {
    route.meter.shed++
    return shed
  }
  const version = versionProblem(exchange)
  if (version !== null) return version
  return endpoint.body === undefined
    ? work(route, exchange, path, noBody)
    : workWithBody(edge, route, exchange, path)
}

function versionProblem({ request }: Exchange): Refusal | null {
  const version = request.headers[versionField]
  return version === undefined || version === interfaceVersion
    ? null
    : refuse('unsupported_version')
}

const versionField = versionHeader.toLowerCase()

const noBody = { body: null, bodyAmbiguity: null }

function work(
  { endpoint, checkPath, checkQuery }: EndpointRoute,
  { request, requestId }: Exchange,
  path: Parameters,
  { body, bodyAmbiguity }: Pick<EndpointRequest<never, never>, 'body' | 'bodyAmbiguity'>,
): Answer | Promise<Answer> {
  const pathValues = checkPath(path)
  if (isRefusal(pathValues)) return pathValues
  const query = queryOf(request.url ?? '', checkQuery)
  if (isRefusal(query)) return query
  return endpoint.answer({ path: pathValues, query, requestId, body, bodyAmbiguity })
}

/** Null when the caller is gone. */
async function workWithBody(
  edge: Edge,
  route: EndpointRoute,
  exchange: Exchange,
  path: Parameters,
): Promise<Answer | null> {
  const { endpoint, meter } = route
  const { body: declared } = endpoint
  const { headers } = exchange.request
  if (declared === undefined) throw new Error(`${endpoint.operationId} declares no body`)

  if (!acceptsMediaType(headers['content-type'], headers['content-encoding'], declared.mediaTypes))
    return refuse('unsupported_media_type')

  const barred = await barredCaller(edge, route, exchange)
  if (barred !== null) return barred

  const body = await bodyOf(exchange, declared.bytesMax)
  if (body.kind === 'lost') return null
  if (body.kind === 'too_large')
    return refuse('payload_too_large', { message: `The body is over ${declared.bytesMax} bytes.` })

  const json = parseStrictJson(body.bytes)
  if (json.kind === 'invalid') meter.invalidJson++
  if (json.kind === 'ambiguous') meter.ambiguousJson++
  if (json.kind === 'invalid') return refuse('invalid_json', { message: json.why })
  if (json.value === null || typeof json.value !== 'object' || Array.isArray(json.value))
    return refuse('invalid_json', { message: 'The body is not a JSON object.' })
  const bodyAmbiguity = json.kind === 'ambiguous' ? json.why : null
  if (bodyAmbiguity !== null && !declared.ambiguousReachesHandler)
    return refuse('invalid_json', { message: bodyAmbiguity })

  return work(route, exchange, path, { body: json.value, bodyAmbiguity })
}

/** A presented key succeeds or fails as a key (decision D17); only who presents none is counted by address. */
async function barredCaller(
  edge: Edge,
  { endpoint, meter }: EndpointRoute,
  exchange: Exchange,
): Promise<Refusal | null> {
  const { policy, operationId } = endpoint
  if (policy.kind === 'open') return null
  const { authorization } = exchange.request.headers
  if (authorization !== undefined) return edge.authenticate(authorization, endpoint)
  const limits = { name: operationId, ...policy.anonymous }
  const verdict = await edge.limiter.take(edge.network(exchange), limits)
  exchange.headers = rateHeaders(verdict)
  if (verdict.allowed) return null
  meter.rateLimited++
  return refuse('rate_limited', { headers: { 'Retry-After': String(verdict.retryAfterSeconds) } })
}

/** draft-ietf-httpapi-ratelimit-headers: q is the quota, w its window, r what remains, t the seconds until more does. */
function rateHeaders({ minute, day }: RateVerdict): readonly string[] {
  return [
    'RateLimit-Policy',
    `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    'RateLimit',
    `${windowState('minute', minute)}, ${windowState('day', day)}`,
  ]
}

function windowState(name: string, window: RateVerdict['minute']): string {
  return `"${name}";r=${window.remaining};t=${window.resetSeconds}`
}

function bodyOf(exchange: Exchange, bytesMax: number) {
  const { request, response } = exchange
  return readBody(request, bytesMax, () => {
    if (request.headers.expect !== undefined && request.httpVersion !== '1.0')
      response.writeContinue()
  })
}

async function finish(
  edge: Edge,
  exchange: Exchange,
  answering: Promise<Answer | null>,
): Promise<void> {
  const { connection } = exchange
  edge.pending.add(exchange)
  connection.pending++
  connection.latest = exchange
  let answer: Answer | null
  try {
    answer = await answering
  } catch (error) {
    answer = unexpected(edge, exchange, error)
  }
  edge.pending.delete(exchange)
  connection.pending--
  if (connection.latest === exchange) connection.latest = null
  try {
    if (answer !== null) edge.writer.answer(exchange, answer)
    else if (!exchange.answered) edge.writer.record(exchange, clientClosedRequest)
  } catch (error) {
    edge.log.error('an answer could not be written', error, { requestId: exchange.requestId })
    exchange.response.destroy()
  }
}

/** Never sent: the mark in log and metrics of a caller that left before its body was complete. */
const clientClosedRequest = 499

function unexpected(edge: Edge, exchange: Exchange, error: unknown): Refusal {
  const refusal = refusalOf(error)
  const fields = { requestId: exchange.requestId, route: exchange.route.path }
  if (refusal.refusal === 'internal_error') edge.log.error('an endpoint failed', error, fields)
  else edge.log.warn('an endpoint is not available', { ...fields, why: String(error) })
  return refusal
}
