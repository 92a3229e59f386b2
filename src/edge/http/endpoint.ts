/** Endpoints as the server runs them: declarations with their handlers. */
import type { Static, TObject } from 'typebox'
import type { ErrorName, Refusal } from '../../platform/errors.ts'
import type { ClientNetwork } from '../rate-limit/client-network.ts'
import type { Caller, KeyCaller, SessionCaller } from './callers.ts'
import { type Contract, type Operation, type OperatorTerms, operationsOf } from './contract.ts'
import type { PublicDocument } from './document.ts'
import type { Lines } from './lines.ts'

export interface EndpointRequest<Path, Query, Admitted = Caller, Key = string | null> {
  path: Path
  query: Query
  /** The parsed body, if one is declared. */
  body: unknown
  /** The reason why the body's JSON is ambiguous, or null. */
  bodyAmbiguity: string | null
  caller: Admitted
  /** The browser that requests a page; null on every other route. */
  visitor: Visitor | null
  /** The well-formed Idempotency-Key as sent, or null if there was none. */
  idempotencyKey: Key
  requestId: string
  /** Former value of PUBLIC_URL whose host the request names (decision D55), or null. */
  formerOrigin: string | null
}

export interface RefusedVisit {
  error: ErrorName
  status: number
  message: string
  /** Path and query of the request. */
  target: string
  requestId: string
}

/** Returns a whole page, or the path of ours to which the browser is sent instead. */
export type RefusalPage = (refused: RefusedVisit) => string | { redirectTo: string }

export interface Visitor {
  network: ClientNetwork
  userAgent: string | undefined
  /** The Cookie header. */
  cookies: string | undefined
}

/** The caller of a route without authentication. */
export const anybody = {
  caller: { kind: 'anonymous' },
  visitor: null,
  idempotencyKey: null,
  formerOrigin: null,
} as const

export type Answer =
  | { document: PublicDocument }
  | {
      status: number
      body: unknown
      /** `body` as JSON, if it is written already; then `body` may be absent. */
      text?: string
      /** `application/json` by default. */
      contentType?: string
      /** A list is one header line for each value. */
      headers?: Record<string, string | readonly string[]>
      /**
       * Whether a caller without a cookie gets the text compressed. Only for pages without a
       * secret: the length of compressed text tells what it repeats (BREACH).
       */
      isCompressed?: boolean
    }
  | { events: Events }
  | { lines: Lines }
  | Refusal

/** Server-sent events. */
export interface Events {
  /** Streams of one holder that a process keeps open. One more is 429. */
  limits: readonly StreamLimit[]
  /** Begins once the head is sent, and may send until its end. */
  follow(stream: EventStream): Promise<void>
}

export interface StreamLimit {
  of: 'session' | 'account'
  id: string
  max: number
}

/** A response of server-sent events. */
export interface EventStream {
  /** Sends one event. A reader that does not keep up is disconnected. */
  send(event: { id: string; data: unknown }): void
  /** Aborted when the reader is gone or the server stops. */
  ended: AbortSignal
}

export interface Endpoint<Path extends TObject = TObject, Query extends TObject = TObject>
  extends Operation {
  pathParameters?: Path
  queryParameters?: Query
  /**
   * Shows a refusal to a browser: for pages, which are not in the contract. Required with the
   * policy `page`; a route with the policy `session` that has it is a page as well.
   */
  refusalPage?: RefusalPage
  answer(request: EndpointRequest<Static<Path>, Static<Query>>): Answer | Promise<Answer>
}

/** Declares one endpoint with its handler. */
export function endpoint<Path extends TObject, Query extends TObject>(
  declaration: Endpoint<Path, Query>,
): Endpoint {
  return declaration
}

/** One handler for each endpoint of a contract. The declaration gives the types of its request. */
export type Handlers<Declared extends Contract> = {
  readonly [OperationId in keyof Declared]: (
    request: RequestOf<Declared[OperationId]>,
  ) => Answer | Promise<Answer>
}

/** The request that reaches the handler of a declared endpoint. */
export type RequestOf<Declared> = EndpointRequest<
  Declared extends { pathParameters: infer Path extends TObject } ? Static<Path> : object,
  Declared extends { queryParameters: infer Query extends TObject } ? Static<Query> : object,
  Declared extends { policy: { kind: 'keyed' } }
    ? KeyCaller
    : Declared extends { policy: { kind: 'session' } }
      ? SessionCaller
      : Caller,
  Declared extends { idempotencyKey: 'required' } ? string : string | null
>

/** Joins a contract with its handlers. */
export function endpointsOf<Declared extends Contract>(
  contract: Declared,
  handlers: Handlers<Declared>,
  terms: OperatorTerms,
): Endpoint[] {
  // The server calls a handler only for requests that fit its declaration.
  const answers = handlers as Readonly<Record<string, Endpoint['answer']>>
  return operationsOf(contract, terms).map((operation) => ({
    ...operation,
    answer: answers[operation.operationId] as Endpoint['answer'],
  }))
}
