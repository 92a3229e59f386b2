/** One request and its answer, and the connection they travel on. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Endpoint } from '../platform/http/endpoint.ts'
import type { Refusal } from '../platform/http/errors.ts'
import type { RouteMeter } from '../platform/observability/metrics.ts'
import type { ClientNetwork } from '../platform/rate-limit/limiter.ts'
import type { BodyReading } from './body.ts'
import type { Place } from './gate.ts'
import type { ParameterCheck } from './parameters.ts'

/** What is known of a path before anything is decided: enough to log and to count. */
export interface Route {
  /** As declared, or `unmatched`. */
  readonly path: string
  readonly meter: RouteMeter
  /** Whether its answers are for pages of our own origin: no other origin may read them, and none is stored. */
  readonly isSameOrigin?: boolean
}

export interface EndpointRoute extends Route {
  readonly endpoint: Endpoint
  readonly checkPath: ParameterCheck
  readonly checkQuery: ParameterCheck
}

/** Where a call comes from, as limits and log know it. */
export interface Client {
  /** The header it was told from. */
  readonly forwardedFor: string | undefined
  readonly network: ClientNetwork
  /** Keyed digest of the bucket, for the log. */
  readonly digest: string
  /** In which its requests wait for a slot: one of 4,096, so that callers with many addresses cannot make more. */
  readonly lane: string
}

export interface Connection {
  readonly socket: Socket
  /** The other end itself, whatever it forwards. */
  readonly peer: Client
  /** Whether what it forwards is believed. */
  readonly proxy: boolean
  /** Of the last request: a proxy often sends several of one caller in a row. */
  client: Client
  /** The last exchange, of those whose answer takes more than one turn of the event loop, or comes before their body is whole. */
  latest: Exchange | null
  /** Requests whose answer has not had its turn on the connection. */
  unanswered: number
  /** The caller sends more than anyone wants to read: the answer to it is the last. */
  closing: boolean
}

/** What is logged and counted, also of what never became a request. */
export interface Trace {
  readonly method: string
  readonly route: Route
  readonly connection: Connection
  readonly requestId: string
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number
  /** Set once; an answer that comes later (after a deadline, on a lost connection) is dropped. */
  answered: boolean
}

export interface Exchange extends Trace {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Header names and values by turns that the answer carries whatever it is: the state of a rate limit. */
  headers: readonly string[]
  /** What is said where the answer fails or is too late; null: what befell it. */
  failure: Refusal | null
  /** In the gate of its endpoint's priority; null before it enters one. */
  place: Place | null
  /** Null where the endpoint takes no body. */
  body: BodyReading | null
}
