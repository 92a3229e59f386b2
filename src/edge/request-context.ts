/** The state of one request, its response, and the connection that carries them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Refusal } from '../platform/errors.ts'
import type { RouteMeter } from '../platform/observability/metrics.ts'
import { type Span, startSpan } from '../platform/observability/tracing.ts'
import type { BodyReading } from './body.ts'
import type { Place } from './gate.ts'
import type { LoggedCall } from './http/call-log.ts'
import type { Endpoint, RefusalPage } from './http/endpoint.ts'
import type { ParameterCheck } from './parameters.ts'
import type { ClientNetwork } from './rate-limit/limiter.ts'
import { callerRequestId } from './request-id.ts'

/** The part of a route that is known before any check. It is enough to log and count a request. */
export interface Route {
  /** The declared path, or `unmatched`. */
  readonly path: string
  readonly meter: RouteMeter
  /**
   * Whether responses are only for pages of our own origin: other origins may not read them, and no
   * cache stores them.
   */
  readonly isSameOrigin?: boolean
  /** Whether the route exists only for the operator's networks. */
  readonly isOperator?: boolean
  /** Whether callers need an API key. */
  readonly isKeyed?: boolean
  /** Renders a refusal. Only routes of pages have it. */
  readonly refusalPage?: RefusalPage | undefined
  /**
   * If true, only a caller that ranks `text/html` above JSON gets refusals as a page
   * (decision D52).
   */
  readonly isNegotiated?: boolean
}

export interface EndpointRoute extends Route {
  readonly endpoint: Endpoint
  readonly checkPath: ParameterCheck
  readonly checkQuery: ParameterCheck
}

/** The origin of a request, as limits and the log use it. */
export interface Client {
  readonly network: ClientNetwork
  /** Keyed digest of the bucket, for the log. */
  readonly digest: string
  /**
   * The lane in which its requests wait for a slot. There are 4,096, so a caller with many
   * addresses cannot create more.
   */
  readonly lane: string
}

export interface Connection {
  readonly socket: Socket
  /** The other end of the connection, not a client that it forwards for. */
  readonly peer: Client
  readonly isTrustedProxy: boolean
  /** The request that began last. Null once its body is complete and its response has left. */
  current: RequestContext | null
  /** Requests whose response has not left, in their order. Only the first has begun. */
  readonly queue: QueuedRequest[]
  /**
   * Set when the caller sends more than the server will read. The response to that request is the
   * last one.
   */
  closing: boolean
}

export interface QueuedRequest {
  /** Null for data that never became a request. */
  readonly request: IncomingMessage | null
  readonly begin: () => void
}

/** The fields that are logged and counted, also for data that never became a request. */
export interface Trace {
  readonly method: string
  readonly route: Route
  readonly connection: Connection
  readonly client: Client
  readonly requestId: string
  /** The id that the caller sent, for the log alone. */
  readonly callerRequestId: string | undefined
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
  /** Absent: the request is not traced. */
  readonly span?: Span | undefined
  /** The call as the request log shows it, or null if it is in no account's log. */
  logged: LoggedCall | null
  /** Set once. A later response (after a deadline or on a closed connection) is dropped. */
  answered: boolean
}

export interface RequestContext extends Trace {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /**
   * Alternating header names and values for every response to this request. They show the state of
   * a rate limit.
   */
  headers: readonly string[]
  /**
   * The refusal to send if the request fails or misses its deadline. If null, the failure itself
   * decides.
   */
  failure: Refusal | null
  /** The place in the gate of its endpoint's priority. Null until the request enters a gate. */
  place: Place | null
  /** Null if the endpoint takes no body, or reads it itself. */
  body: BodyReading | null
  /** Whether the endpoint reads the body at its own pace. */
  isStreamed: boolean
}

type Opened = Pick<
  RequestContext,
  'request' | 'response' | 'route' | 'connection' | 'client' | 'requestId'
>

/** Creates the context of a request that begins. */
export function openContext(opened: Opened): RequestContext {
  const { method = '', headers } = opened.request
  const context = {
    ...opened,
    method,
    callerRequestId: callerRequestId(headers['x-request-id']),
    startedAt: performance.now(),
    span: startSpan(opened.route.path, {
      kind: 'server',
      traceparent: headers.traceparent,
      attributes: {
        'http.request.method': method,
        'http.route': opened.route.path,
        'assay.request_id': opened.requestId,
      },
    }),
    logged: null,
    answered: false,
    headers: [],
    failure: null,
    place: null,
    body: null,
    isStreamed: false,
  }
  opened.connection.current = context
  return context
}

/**
 * Returns whether the caller already has its 503 or is gone. A fully read request counts as
 * destroyed in any case, so the connection is asked.
 */
export function isTooLate({ answered, connection }: RequestContext): boolean {
  return answered || connection.socket.destroyed
}
