/**
 * The declarations of endpoints, without their handlers. The server takes its checks from them; the
 * OpenAPI document and the contract test take their texts. A contract is plain data, so it is read
 * without opening anything.
 */
import type { TObject, TSchema } from 'typebox'
import type { ErrorName } from '../../platform/errors.ts'
import type { MeterName, Scope } from './callers.ts'

/** Base address in every example, in a domain reserved for examples (RFC 2606). */
export const exampleUrl = 'https://scores.example.org'

/** Limits of one caller in any minute and any day (decision D11). */
export interface RateLimits {
  perMinute: number
  perDay: number
}

/** Limits that the operator sets. A contract names them; `operationsOf` puts the numbers in. */
export interface OperatorLimits {
  /** Limits of each API key, or of each payer, on each route. */
  keyLimits: RateLimits
  agentReportLimits: RateLimits
}

/** What the operator sets for the operations of a contract. */
export interface OperatorTerms extends OperatorLimits {
  /** Without metering, a call with a key is free. */
  metering: boolean
  /** Whole credits that a call costs. */
  prices: Readonly<Record<MeterName, number>>
}

/** The callers of an endpoint, and the price of a call. `limits` are those of each API key. */
export type Policy<Limits = RateLimits> =
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
      limits: Limits
    }
  /** An API key of the live environment is required. */
  | { kind: 'keyed'; scope: Scope; limits: Limits }
  /** A paid read: an API key whose account has credits, or an x402 payment. */
  | { kind: 'paid'; scope: Scope; meter: MeterName; limits: Limits }
  /**
   * The session of a signed-in user, limited as in `sessionLimits`. The server ignores
   * `Authorization` and payments, and rejects a request that changes something unless it comes from
   * our own origin (decision D49). A page of the console is for users with an operator role: every
   * other user, and a caller from another network, gets the 404 of an unknown path (decision D63).
   * It checks its parameters itself.
   */
  | { kind: 'session'; isConsole?: true }
  /**
   * A token of the operator's own systems (decision D60). Callers from other networks get 404. Its
   * parameters are checked by its operation, and an unknown one is refused. A body is JSON, where an
   * absent one is an empty object, or lines.
   */
  | { kind: 'operator'; limits: RateLimits }
  /**
   * A page of ours, for any browser: the caller is its session, or anonymous. `limits` are those of
   * each address. A request that changes something must come from our own origin (decision D49).
   * `isFreeWithoutQuery`: without a query the page is equal for all, and no call is counted.
   */
  | { kind: 'page'; limits: RateLimits; isFreeWithoutQuery?: boolean }

/** Calls of one session to all routes together. A day has no limit of its own. */
export const sessionLimits: RateLimits = { perMinute: 300, perDay: 300 * 1_440 }

/** The media type of lines of JSON. Such a body reaches the handler as a `LinesBody`. */
export const linesType = 'application/x-ndjson'

/** The media type of records with a header line, where a body may have lines of JSON. */
export const csvType = 'text/csv'

/** The media type of a form. Its fields reach the handler as an object of texts. */
export const formType = 'application/x-www-form-urlencoded'

/**
 * The media type of JSON-LD. Without parameters: a JSON-LD processor ignores a Link to a context
 * unless the type is exactly this.
 */
export const jsonLdType = 'application/ld+json'

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
  /** A Link header leads to the public score of the candidate and to its credential. */
  hasScoreLinks?: boolean
  /** Absolute URLs begin with `exampleUrl`. */
  example?: unknown
}

/** The form of a header Idempotency-Key, also of the one that names an x402 purchase. */
export const idempotencyKeyPattern = '^[A-Za-z0-9._~:-]{16,128}$'

/**
 * Under overload each priority has slots and time of its own, so that none holds up the others
 * (decision D12).
 */
export const priorities = ['public', 'write', 'read', 'search', 'operator'] as const
export type Priority = (typeof priorities)[number]

export interface EndpointDeclaration<Limits = keyof OperatorLimits> {
  method: 'GET' | 'POST' | 'DELETE'
  /** With `{name}` for each path parameter. */
  path: string
  area: string
  summary: string
  description?: string
  /** Not in the specification: marked so in the contract. */
  extension?: boolean
  policy: Policy<Limits>
  /** Whether the Idempotency-Key header is required or optional. Paid routes always accept it. */
  idempotencyKey?: 'required' | 'optional'
  /** 200 is a public document with ETag, 304, HEAD and compressed bytes (decision D9). */
  document?: boolean
  priority: Priority
  pathParameters?: TObject
  queryParameters?: TObject
  body?: BodyDeclaration
  /** Every status that a caller can see, with 500 and 503 if they can occur. */
  responses: Readonly<Record<number, ResponseDeclaration>>
}

/** Endpoints by `operationId`, which is unique over the service. */
export type Contract = Readonly<Record<string, EndpointDeclaration>>

/** A declared endpoint with its name and the limits and the price of one deployment. */
export interface Operation extends EndpointDeclaration<RateLimits> {
  operationId: string
  /** Whole credits that a call with a key costs; 0 is free. Absent if the operation has no meter. */
  credits?: number
}

export function operationsOf(contract: Contract, terms: OperatorTerms): Operation[] {
  return Object.entries(contract).map(([operationId, declaration]) => {
    const policy = limited(declaration.policy, terms)
    const operation = { ...declaration, operationId, policy }
    return 'meter' in policy
      ? { ...operation, credits: terms.metering ? terms.prices[policy.meter] : 0 }
      : operation
  })
}

function limited(policy: Policy<keyof OperatorLimits>, limits: OperatorLimits): Policy {
  if (!('limits' in policy) || policy.kind === 'page' || policy.kind === 'operator') return policy
  return { ...policy, limits: limits[policy.limits] }
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

const crossOriginResponse = {
  description: 'The request does not come from a page of this service.',
} as const satisfies ResponseDeclaration

/** A small JSON body without ambiguity, for the body of an endpoint. */
export const smallJsonBody = {
  mediaTypes: ['application/json'],
  bytesMax: 32_768,
  ambiguousReachesHandler: false,
} as const

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

/**
 * `error` values of status 400 on keyed routes with a JSON body. Their status lists have no 413 and
 * no 415 (decision D54).
 */
export const keyedBodyErrors = [
  'unsupported_version',
  'invalid_parameter',
  'invalid_idempotency_key',
  'unsupported_media_type',
  'payload_too_large',
  'invalid_json',
  'invalid_field',
] as const satisfies readonly ErrorName[]

/** Responses every open endpoint shares. */
export const commonResponses = {
  400: { description: 'Unsupported version, or an invalid parameter.' },
} as const satisfies Record<number, ResponseDeclaration>

/** Returns the responses of a route that answers one document, as JSON unless a type is given. */
export const documentResponses =
  (type: { contentType?: string } = {}) =>
  <Schema extends TSchema>(description: string, schema: Schema, example: unknown) => ({
    ...commonResponses,
    200: { ...type, description, schema, example },
  })
