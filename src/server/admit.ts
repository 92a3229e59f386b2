/**
 * Admits a request: checks its key, its scope and its rate limit, in this order (decisions D16–D18,
 * D24).
 */
import type { IncomingMessage } from 'node:http'
import type {
  Authenticate,
  AuthenticateSession,
  KeyRights,
  SeenKey,
} from '../platform/http/admission.ts'
import type { PresentedKey, SessionCaller } from '../platform/http/callers.ts'
import {
  idempotencyKeyPattern,
  type Policy,
  type RateLimits,
  sessionLimits,
} from '../platform/http/contract.ts'
import type { Endpoint } from '../platform/http/endpoint.ts'
import { errorTable, type Refusal, refuse } from '../platform/http/errors.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from '../platform/rate-limit/limiter.ts'
import { bucketName } from '../platform/rate-limit/window.ts'
import type { RecentMap } from '../platform/recent-map.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'

export interface AdmitParts {
  limiter: RateLimiter
  authenticate: Authenticate
  authenticateSession: AuthenticateSession
  /** Limits the invalid keys that one address may present. Beyond it the server answers 429. */
  failedKeyLimits: RateLimits
  /** Not-found limit: 404s of one key or of one x402 payer, over all routes. */
  notFoundLimits: RateLimits
  /**
   * The denied cache: for each full bucket, by `bucketName`, the time at which it has room again,
   * in milliseconds of the monotonic clock.
   */
  deniedUntil: RecentMap<number>
  network(context: RequestContext): ClientNetwork
}

/**
 * An admitted caller. If `key` and `session` are both null, the caller is anonymous or pays by
 * x402.
 */
export interface Admitted {
  key: PresentedKey | null
  session: SessionCaller | null
}

const anonymous: Admitted = { key: null, session: null }

/**
 * Starts work for a key that was valid at its last use, while its call is counted and before its
 * look-up. Returns null, or whether a charge has found the key valid: then the look-up is left out.
 * Rejects if that cannot be decided in time.
 */
export type HeadStart = (key: SeenKey, counted: Promise<RateVerdict>) => Promise<boolean> | null

export async function admit(
  edge: AdmitParts,
  route: EndpointRoute,
  context: RequestContext,
  headStart: HeadStart = () => null,
): Promise<Admitted | Refusal> {
  const { policy } = route.endpoint
  if (policy.kind === 'open') return anonymous
  if (policy.kind === 'session') return admitSession(edge, route, context)
  if (policy.kind === 'page') return admitVisitor(edge, route, context, policy)
  const { authorization } = context.request.headers
  if (authorization !== undefined) {
    const presented = { context, policy, authorization, headStart }
    return admitKey(edge, route, presented)
  }
  if (policy.kind === 'keyed') return challenged('missing_api_key')
  if (policy.kind === 'paid') return anonymous
  return (await rateProblem(edge, countedByAddress(edge, { route, context }, policy))) ?? anonymous
}

/**
 * Authenticates by the cookie alone: an Authorization header or a payment is ignored (decision
 * D17).
 */
async function admitSession(
  edge: AdmitParts,
  route: EndpointRoute,
  context: RequestContext,
): Promise<Admitted | Refusal> {
  const session = await edge.authenticateSession(context.request.headers.cookie)
  if (session === null) return refuse('session_required')
  const caller = { buckets: [{ key: session.sessionId, factor: 1 }] }
  const limits = { name: 'sessions', ...sessionLimits }
  const refusal = await rateProblem(edge, { route, context, caller, limits })
  return refusal ?? { key: null, session }
}

type Called = Pick<Counted, 'route' | 'context'>

function countedByAddress(
  edge: Pick<AdmitParts, 'network'>,
  { route, context }: Called,
  { anonymous }: Extract<Policy, { kind: 'optional-key' }>,
): Counted {
  const limits = { name: route.endpoint.operationId, ...anonymous }
  return { route, context, caller: edge.network(context), limits }
}

/** A page is for anybody; a browser with a session is known by it. */
async function admitVisitor(
  edge: AdmitParts,
  route: EndpointRoute,
  context: RequestContext,
  policy: Extract<Policy, { kind: 'page' }>,
): Promise<Admitted | Refusal> {
  const caller = edge.network(context)
  const limits = { name: route.endpoint.operationId, ...policy.limits }
  const refusal = await rateProblem(edge, { route, context, caller, limits })
  if (refusal !== null) return refusal
  return { key: null, session: await edge.authenticateSession(context.request.headers.cookie) }
}

/**
 * Selects the bucket to count in. Test keys are free, so on routes open to anonymous callers a test
 * key is limited like an anonymous caller (decision D14).
 */
function countedByKey(
  edge: Pick<AdmitParts, 'network'>,
  { route, context, policy }: Called & Pick<Presented, 'policy'>,
  key: KeyRights,
): Counted {
  if (policy.kind === 'optional-key' && key.caller.environment === 'test')
    return countedByAddress(edge, { route, context }, policy)
  const limits = { name: route.endpoint.operationId, ...policy.limits }
  return { route, context, caller: bucketOf(key), limits }
}

interface Presented {
  context: RequestContext
  policy: Exclude<Policy, { kind: 'open' | 'session' | 'page' }>
  authorization: string
  headStart: HeadStart
}

/**
 * Admits a presented key or rejects it; a presented key is never ignored (decision D17).
 *
 * If the key was valid at its last use, the call is counted before the look-up, which saves one
 * round trip. If the key was revoked meanwhile, the count went to its own bucket.
 */
async function admitKey(
  edge: AdmitParts,
  route: EndpointRoute,
  { context, policy, authorization, headStart }: Presented,
): Promise<Admitted | Refusal> {
  const { operationId } = route.endpoint
  const count = (key: KeyRights): Promise<RateVerdict> => {
    const { caller, limits } = countedByKey(edge, { route, context, policy }, key)
    return edge.limiter.take(caller, limits)
  }
  const early: { counted?: Promise<RateVerdict> } = {}
  const key = await edge.authenticate(authorization, {
    address: edge.network(context).address,
    onSeen(seen) {
      if (outOfPlace(policy, seen) !== null || !hasNotFoundLeft(edge, bucketOf(seen))) return null
      const counted = count(seen)
      // If the request is rejected earlier, nothing awaits this promise.
      counted.catch(() => {})
      early.counted = counted
      return waitMs(edge, bucketOf(seen), operationId) <= 0 ? headStart(seen, counted) : null
    },
  })
  if (key === null) return invalidKey(edge, route, context)
  const refusal = outOfPlace(policy, key)
  if (refusal !== null) return refusal
  // If the call was counted early, this was checked before. A call that is paid for must not be
  // rejected after the charge.
  if (early.counted === undefined) {
    const full = await notFoundProblem(edge, { route, context }, bucketOf(key))
    if (full !== null) return full
  }
  const verdict = await (early.counted ?? count(key))
  if (!verdict.allowed) noteFull(edge, verdict)
  return verdictProblem({ route, context }, verdict) ?? { key, session: null }
}

function outOfPlace({ kind, scope }: Presented['policy'], key: KeyRights): Refusal | null {
  if (!key.scopes.includes(scope)) return refuse('insufficient_scope')
  // Keyed routes store real data, and a test key has none there (decision D14).
  return kind === 'keyed' && key.caller.environment === 'test' ? refuse('test_key') : null
}

const notFound = 'not found'
const notFoundMessage = 'Too many of these requests found nothing.'

/**
 * Returns the milliseconds until the caller has room in a limit that the denied cache knows to be
 * full. The result is 0 or less if there is room.
 */
export function waitMs(
  { deniedUntil }: Pick<AdmitParts, 'deniedUntil'>,
  { buckets }: ClientNetwork,
  limit: string,
): number {
  const until = buckets.map((bucket) => deniedUntil.get(bucketName({ name: limit }, bucket)) ?? 0)
  return Math.max(...until) - performance.now()
}

function noteFull({ deniedUntil }: Pick<AdmitParts, 'deniedUntil'>, { full }: RateVerdict): void {
  const now = performance.now()
  for (const { name, freeMs } of full) deniedUntil.set(name, now + freeMs)
}

/**
 * Slows down an address that guesses keys. A valid key from the same address never gets here
 * (decision D16).
 */
async function invalidKey(
  edge: AdmitParts,
  route: EndpointRoute,
  context: RequestContext,
): Promise<Refusal> {
  const limits = { name: 'failed keys', ...edge.failedKeyLimits }
  const verdict = await edge.limiter.take(edge.network(context), limits)
  return verdict.allowed ? challenged('invalid_api_key') : overLimit({ route, context }, verdict)
}

export function challenged(refusal: 'missing_api_key' | 'invalid_api_key'): Refusal {
  return refuse(refusal, { headers: { 'WWW-Authenticate': 'Bearer' } })
}

interface Counted {
  route: EndpointRoute
  context: RequestContext
  caller: ClientNetwork
  limits: { name: string } & RateLimits
}

/**
 * Counts the call. Returns null and sets the RateLimit headers if the call is within its limits.
 */
export async function rateProblem(
  edge: Pick<AdmitParts, 'limiter' | 'deniedUntil'>,
  { route, context, caller, limits }: Counted,
): Promise<Refusal | null> {
  const verdict = await edge.limiter.take(caller, limits)
  if (!verdict.allowed) noteFull(edge, verdict)
  return verdictProblem({ route, context }, verdict)
}

function verdictProblem(called: Called, verdict: RateVerdict): Refusal | null {
  if (!verdict.allowed) return overLimit(called, verdict)
  called.context.headers = rateHeaders(verdict)
  return null
}

/** Builds the 429. Its RateLimit headers describe the limit that is full. */
function overLimit(
  { route, context }: Called,
  verdict: RateVerdict,
  message: string = errorTable.rate_limited.message,
): Refusal {
  route.meter.rateLimited++
  context.headers = rateHeaders(verdict)
  const headers = { 'Retry-After': String(verdict.retryAfterSeconds) }
  return refuse('rate_limited', { message, headers })
}

type NotFoundParts = Pick<AdmitParts, 'limiter' | 'notFoundLimits' | 'deniedUntil'>

/**
 * Counts a 404 against the caller's not-found limit. Returns the 429 to send instead once the limit
 * is used up, because even a 404 reveals that nothing exists there.
 */
export async function countNotFound(
  edge: NotFoundParts,
  called: Called,
  caller: ClientNetwork,
): Promise<Refusal | null> {
  const verdict = await edge.limiter.take(caller, { name: notFound, ...edge.notFoundLimits })
  if (verdict.allowed) return null
  noteFull(edge, verdict)
  return overLimit(called, verdict, notFoundMessage)
}

/**
 * Returns a 429 if the denied cache knows the not-found limit to be full. A call within the limit
 * counts nothing; if the bucket frees up at that moment, this call may be counted once.
 */
export async function notFoundProblem(
  edge: NotFoundParts,
  called: Called,
  caller: ClientNetwork,
): Promise<Refusal | null> {
  return hasNotFoundLeft(edge, caller) ? null : countNotFound(edge, called, caller)
}

export function hasNotFoundLeft(
  edge: Pick<AdmitParts, 'deniedUntil'>,
  caller: ClientNetwork,
): boolean {
  return waitMs(edge, caller, notFound) <= 0
}

export function bucketOf({ caller }: KeyRights): ClientNetwork {
  return { buckets: [{ key: caller.keyId, factor: 1 }] }
}

/**
 * Formats the headers of draft-ietf-httpapi-ratelimit-headers: q is the quota, w the window in
 * seconds, r the remaining calls, t the seconds until the window resets.
 */
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

const idempotencyKeyForm = new RegExp(idempotencyKeyPattern)

/**
 * Returns the Idempotency-Key, or a refusal if it is malformed or missing where it is required.
 * Returns null if none was sent or the endpoint neither charges nor stores.
 */
export function idempotencyKeyOf(
  { idempotencyKey: declared, policy }: Endpoint,
  { headers }: IncomingMessage,
): string | null | Refusal {
  const isPaidByKey = policy.kind === 'optional-key' && headers.authorization !== undefined
  if (declared === undefined && policy.kind !== 'paid' && !isPaidByKey) return null
  const text = headers['idempotency-key']
  if (text === undefined && declared !== 'required') return null
  return typeof text === 'string' && idempotencyKeyForm.test(text)
    ? text
    : refuse('invalid_idempotency_key')
}
