/**
 * The declaration of an endpoint. The server takes its checks from it, the OpenAPI document and the
 * contract test their texts. A route without a policy does not start.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { ClientNetwork } from '../rate-limit/client-network.ts'
import type { Caller, MeterName, Scope } from './callers.ts'
import type { PublicDocument } from './document.ts'
import type { ErrorName, Refusal } from './errors.ts'

/** Limits of one caller in any minute and any day (decision D11). */
export interface RateLimits {
  perMinute: number
  perDay: number
}

/** The callers of an endpoint, and the price of a call. */
export type Policy =
  /** No authentication. */
  | { kind: 'open' }
  /**
   * Anonymous callers are limited by address. A presented API key succeeds or fails as a key
   * (decision D17).
   */
  | {
      kind: 'optional-key'
      scope: Scope
      meter: MeterName
      /** Limits of each address. Test keys, which pay nothing, count against them as well. */
      anonymous: RateLimits
      /** Limits of each key. */
      limits: RateLimits
    }
  /** An API key of the live environment is required. `limits` are those of each key. */
  | { kind: 'keyed'; scope: Scope; limits: RateLimits }
  /**
   * A paid read: an API key whose account has credits, or an x402 payment. `limits` are those of
   * each key.
   */
  | { kind: 'paid'; scope: Scope; meter: MeterName; limits: RateLimits }
  /**
   * The session of a signed-in user, limited as in `sessionLimits`. The server ignores
   * `Authorization` and payments, and rejects a request that changes something unless it comes from
   * our own origin (decision D49).
   */
  | { kind: 'session' }
  /**
   * A page of ours, for any browser: the caller is its session, or anonymous. `limits` are those of each address. A request that changes
   * something must come from our own origin (decision D49).
   */
  | { kind: 'page'; limits: RateLimits }

/** Calls of one session to all routes together. A day has no limit of its own. */
export const sessionLimits: RateLimits = { perMinute: 300, perDay: 300 * 1_440 }

/** The media type of a form. Its fields reach the handler as an object of texts. */
export const formType = 'application/x-www-form-urlencoded'

export interface BodyDeclaration<Body extends TSchema = TSchema> {
  mediaTypes: readonly string[]
  /**
   * Published in the contract. The handler gets the value that passed the strict JSON gate and must
   * check its shape.
   */
  schema: Body
  bytesMax: number
  /**
   * Whether JSON that is only ambiguous reaches the handler, as a finding of the verifier (decision
   * D7).
   */
  ambiguousReachesHandler: boolean
  examples: Record<string, unknown>
}

export interface ResponseDeclaration {
  description: string
  /** Absent on error statuses, which all have the closed error body. */
  schema?: TSchema
  /** `error` values of this status. By default all values of the status. */
  errors?: readonly ErrorName[]
  contentType?: string
  /** The list comes in pages: a Link header with rel="next" leads to the next page. */
  hasNextLink?: boolean
  /** Made when the service starts, because it may contain absolute URLs. */
  example?: unknown
}

export interface EndpointRequest<Path, Query> {
  path: Path
  query: Query
  /** The parsed body, if one is declared. */
  body: unknown
  /** The reason why the body's JSON is ambiguous, or null. */
  bodyAmbiguity: string | null
  caller: Caller
  /** The browser that requests a page; null on every other route. */
  visitor: Visitor | null
  /** The well-formed Idempotency-Key as sent, or null if there was none. */
  idempotencyKey: string | null
  requestId: string
  /** Former value of PUBLIC_URL whose host the request names (decision D55), or null. */
  formerOrigin: string | null
}

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
      headers?: Record<string, string>
    }
  | Refusal

/** Form of the header Idempotency-Key and of every other name of a purchase. */
export const idempotencyKeyPattern = '^[A-Za-z0-9._~:-]{16,128}$'

/**
 * Under overload each priority has slots and time of its own, so that none holds up the others
 * (decision D12).
 */
export const priorities = ['public', 'write', 'read', 'search'] as const
export type Priority = (typeof priorities)[number]

export interface Endpoint<Path extends TObject = TObject, Query extends TObject = TObject> {
  /** Unique over the service; the name of the operation in the contract. */
  operationId: string
  method: 'GET' | 'POST' | 'DELETE'
  /** With `{name}` for each path parameter. */
  path: string
  area: string
  summary: string
  description?: string
  /** Not in the specification: marked so in the contract. */
  extension?: boolean
  policy: Policy
  /** Whether the Idempotency-Key header is required or optional. Paid routes always accept it. */
  idempotencyKey?: 'required' | 'optional'
  /** 200 is a public document with ETag, 304, HEAD and compressed bytes (decision D9). */
  document?: boolean
  priority: Priority
  pathParameters?: Path
  queryParameters?: Query
  body?: BodyDeclaration
  /** Renders a refusal as a page: for routes with the policy `page`, which are not in the contract. */
  refusalPage?(refusal: { status: number; message: string }): string
  /** Every status that a caller can see, with 500 and 503 if they can occur. */
  responses: Record<number, ResponseDeclaration>
  answer(request: EndpointRequest<Static<Path>, Static<Query>>): Answer | Promise<Answer>
}

/** Declares an endpoint. The schemas give the types of its handler's arguments. */
export function endpoint<Path extends TObject, Query extends TObject>(
  declaration: Endpoint<Path, Query>,
): Endpoint {
  return declaration
}

/**
 * Responses that every session route shares. A route that changes something also answers 403 to
 * another origin.
 */
export const sessionResponses = {
  400: { description: 'Unsupported version, or an invalid parameter.' },
  401: { description: 'There is no session, or it has ended.' },
  429: { description: 'Too many calls of this session; retry after Retry-After seconds.' },
  500: { description: 'Unexpected error; nothing was changed.' },
  503: { description: 'Sessions or the database are not available.' },
} as const satisfies Record<number, ResponseDeclaration>

export const crossOriginResponse = {
  description: 'The request does not come from a page of this service.',
} as const satisfies ResponseDeclaration

/** Responses that session routes share whose body is JSON of at most `bytesMax` bytes. */
export function sessionBodyResponses(bytesMax: number) {
  return {
    ...sessionResponses,
    400: {
      description: 'Unsupported version, or an invalid parameter or body.',
      errors: ['unsupported_version', 'invalid_parameter', 'invalid_json', 'invalid_field'],
    },
    403: crossOriginResponse,
    413: { description: `The body is larger than ${bytesMax} bytes.` },
    415: { description: 'The content type is not JSON.' },
  } as const satisfies Record<number, ResponseDeclaration>
}

/** Responses every open endpoint shares. */
export const commonResponses = {
  400: { description: 'Unsupported version, or an invalid parameter.' },
} as const satisfies Record<number, ResponseDeclaration>
