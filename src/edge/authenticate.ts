/**
 * Decides who sends a request, and whether its key may call the route at all (decisions D14–D17). A
 * presented key succeeds or fails as a key; it is never ignored.
 */
import { type Refusal, refuse } from '../platform/errors.ts'
import { denied, type LimitOptions } from './call-limits.ts'
import type {
  Authenticate,
  AuthenticateOperator,
  AuthenticateSession,
  ExpectKey,
  FindEndedKey,
} from './http/admission.ts'
import type { LoggedCall } from './http/call-log.ts'
import type { Caller, PresentedKey } from './http/callers.ts'
import { type Policy, type RateLimits } from './http/contract.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'

export interface AuthenticateOptions extends LimitOptions {
  authenticate: Authenticate
  /** Looks up the session of a browser. */
  authenticateSession: AuthenticateSession
  /** Absent: no call begins before its key is looked up. */
  expectedKey?: ExpectKey | undefined
  /** Finds the account of a key that has ended, for its request log. */
  endedKey?: FindEndedKey | undefined
  /** Absent: there are no operator routes. */
  authenticateOperator?: AuthenticateOperator | undefined
  /** Limits the invalid keys that one address may present (decision D16): the next is a 429. */
  failedKeyLimits: RateLimits
}

export interface Authenticated {
  caller: Caller
  /** The valid key that the caller presented, or null. */
  key: PresentedKey | null
}

const anonymous: Authenticated = { caller: { kind: 'anonymous' }, key: null }

/** Returns the caller, which is anonymous on a page: its session is looked up behind the limit. */
export async function authenticateCaller(
  edge: AuthenticateOptions,
  route: EndpointRoute,
  context: RequestContext,
): Promise<Authenticated | Refusal> {
  const { policy } = route.endpoint
  const { authorization, cookie } = context.request.headers
  if (policy.kind === 'open' || policy.kind === 'page') return anonymous
  if (policy.kind === 'session') {
    // An Authorization header or a payment is ignored (decision D17).
    const caller = await edge.authenticateSession(cookie)
    if (caller === null) return refuse('session_required', { headers: sessionChallenge })
    if (policy.isConsole && caller.operatorRole === null) return refuse('not_found')
    logCall(route, context, { accountId: caller.accountId, keyId: null })
    return { caller, key: null }
  }
  if (policy.kind === 'operator') {
    if (authorization === undefined) return challenged('missing_operator_token')
    const { address } = context.client.network
    const caller = await edge.authenticateOperator?.(authorization, address)
    return caller == null
      ? invalidKey(edge, context, { route, refusal: 'invalid_operator_token' })
      : { caller, key: null }
  }
  if (authorization === undefined) return policy.kind === 'keyed' ? missingKey(context) : anonymous
  const key = await edge.authenticate(authorization, context.client.network.address)
  if (key === null) {
    const refused = await invalidKey(edge, context, { route, refusal: 'invalid_api_key' })
    // The account of an ended key sees the call, and what replaced the key. The caller does not.
    const ended =
      refused.refusal === 'invalid_api_key' ? await edge.endedKey?.(authorization) : null
    if (ended != null) logCall(route, context, ended)
    return refused
  }
  logCall(route, context, key.caller)
  return keyProblem(policy, key) ?? { caller: key.caller, key }
}

/**
 * Returns the key that the call has if it is as valid as at its last use, or null. The look-up of
 * the key decides; until then, only work that a refusal can discard may rest on it.
 */
export function expectedKey(
  edge: AuthenticateOptions,
  { endpoint: { policy } }: EndpointRoute,
  { request, client }: RequestContext,
): PresentedKey | null {
  const { authorization } = request.headers
  if (authorization === undefined || !('scope' in policy)) return null
  const key = edge.expectedKey?.(authorization, client.network.address) ?? null
  return key === null || keyProblem(policy, key) !== null ? null : key
}

/** Enters the call into the log of its account. Pages are no calls of an interface. */
function logCall(
  { endpoint, refusalPage, isNegotiated }: EndpointRoute,
  context: RequestContext,
  { accountId, keyId, cause }: Pick<LoggedCall, 'accountId' | 'keyId' | 'cause'>,
): void {
  if (refusalPage !== undefined && !isNegotiated) return
  const { operationId } = endpoint
  context.logged = { accountId, keyId, operationId, credits: 0, ...(cause && { cause }) }
}

/**
 * Slows down an address that guesses keys. A valid key from the same address never gets here
 * (decision D16).
 */
async function invalidKey(
  edge: AuthenticateOptions,
  context: RequestContext,
  {
    route,
    refusal,
  }: { route: EndpointRoute; refusal: 'invalid_api_key' | 'invalid_operator_token' },
): Promise<Refusal> {
  const limits = { name: 'failed keys', ...edge.failedKeyLimits }
  const verdict = await edge.limiter.take(context.client.network, limits)
  if (!verdict.allowed) return denied({ route, context }, verdict)
  const isBearer = /^bearer(\s|$)/i.test(context.request.headers.authorization ?? '')
  return challenged(refusal, isBearer ? undefined : messages.noScheme)
}

type KeyPolicy = Exclude<Policy, { kind: 'open' | 'session' | 'page' | 'operator' }>

function keyProblem({ kind, scope }: KeyPolicy, key: PresentedKey): Refusal | null {
  if (!key.scopes.includes(scope)) return lacksScope(scope, key.scopes)
  // Keyed routes store real data, and a test key has none there (decision D14).
  return kind === 'keyed' && key.caller.environment === 'test' ? refuse('test_key') : null
}

/** The challenge names the scope (RFC 6750 §3.1). */
function lacksScope(needed: string, held: readonly string[]): Refusal {
  return refuse('insufficient_scope', {
    message: `The key lacks the scope ${needed}. It has ${held.length === 0 ? 'none' : listed(held)}.`,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
    cause: { needed, held },
  })
}

function listed(words: readonly string[]): string {
  const [last = '', ...others] = words.toReversed()
  return others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`
}

/** Messages for requests that hold a key in the wrong place. They never show it. */
const messages = {
  noScheme:
    'The Authorization header does not begin with Bearer. Send Authorization: Bearer, a space and the key.',
  otherHeader:
    'This service does not read X-Api-Key. Send the key as Authorization: Bearer, a space and the key.',
} as const

/** Refuses a request without an Authorization header on a route that needs a key. */
export function missingKey(context: RequestContext): Refusal {
  return challenged('missing_api_key', misplacedKey(context))
}

/** Refuses a paid read without a key if only a key can pay for it (decision D21). */
export function unpaid(context: RequestContext): Refusal {
  const message = misplacedKey(context)
  return refuse('payment_required', message === undefined ? {} : { message })
}

function misplacedKey({ request: { headers } }: RequestContext): string | undefined {
  return headers['x-api-key'] === undefined ? undefined : messages.otherHeader
}

/** A 401 names the way to authenticate (RFC 9110 §11.6.1): a browser signs in at this path. */
const sessionChallenge = { 'WWW-Authenticate': 'Cookie form-action="/sign-in"' }

function challenged(
  refusal:
    | 'missing_api_key'
    | 'invalid_api_key'
    | 'missing_operator_token'
    | 'invalid_operator_token',
  message?: string,
): Refusal {
  return refuse(refusal, {
    ...(message === undefined ? {} : { message }),
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}
