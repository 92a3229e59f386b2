/** Who may come in: key, scope and rate limit, in this order (decisions D16–D18, D24). */
import type { IncomingMessage } from 'node:http'
import type {
  Authenticate,
  AuthenticateSession,
  KeyRights,
  SeenKey,
} from '../platform/http/admission.ts'
import type { PresentedKey, SessionCaller } from '../platform/http/callers.ts'
import {
  type Endpoint,
  idempotencyKeyPattern,
  type Policy,
  type RateLimits,
  sessionLimits,
} from '../platform/http/endpoint.ts'
import { errorTable, type Refusal, refuse } from '../platform/http/errors.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from '../platform/rate-limit/limiter.ts'
import { bucketName } from '../platform/rate-limit/window.ts'
import type { RecentMap } from '../platform/recent-map.ts'
import type { EndpointRoute, Exchange } from './exchange.ts'

export interface AdmitParts {
  limiter: RateLimiter
  authenticate: Authenticate
  authenticateSession: AuthenticateSession
  /** Presented keys that are not valid, of one address: beyond it they are answered with 429. */
  failedKeyLimits: RateLimits
  /** 404s of one key, or of who pays on the spot, of all routes. */
  missLimits: RateLimits
  /** Buckets that have nothing left, by `bucketName`, and until when: milliseconds of the monotonic clock. */
  spent: RecentMap<number>
  network(exchange: Exchange): ClientNetwork
}

/** Without a key and without a session: an anonymous caller, or one that pays for the call by x402. */
export interface Admitted {
  key: PresentedKey | null
  session: SessionCaller | null
}

const anonymous: Admitted = { key: null, session: null }

/**
 * What may be done for a key that was valid the last time and whose call is being counted, before it is looked up. Null, or whether a charge
 * has found the key valid, which then need not be looked up. Rejects where that cannot be told in time.
 */
export type HeadStart = (key: SeenKey, counted: Promise<RateVerdict>) => Promise<boolean> | null

export async function admit(
  edge: AdmitParts,
  route: EndpointRoute,
  exchange: Exchange,
  headStart: HeadStart = () => null,
): Promise<Admitted | Refusal> {
  const { policy } = route.endpoint
  if (policy.kind === 'open') return anonymous
  if (policy.kind === 'session') return admitSession(edge, route, exchange)
  const { authorization } = exchange.request.headers
  if (authorization !== undefined) {
    const presented = { exchange, policy, authorization, headStart }
    return admitKey(edge, route, presented)
  }
  if (policy.kind === 'keyed') return challenged('missing_api_key')
  if (policy.kind === 'paid') return anonymous
  return (await rateProblem(edge, countedByAddress(edge, { route, exchange }, policy))) ?? anonymous
}

/** Looks at the cookie alone: an Authorization header or a payment is ignored (decision D17). */
async function admitSession(
  edge: AdmitParts,
  route: EndpointRoute,
  exchange: Exchange,
): Promise<Admitted | Refusal> {
  const session = await edge.authenticateSession(exchange.request.headers.cookie)
  if (session === null) return refuse('session_required')
  const caller = { buckets: [{ key: session.sessionId, factor: 1 }] }
  const limits = { name: 'sessions', ...sessionLimits }
  const refusal = await rateProblem(edge, { route, exchange, caller, limits })
  return refusal ?? { key: null, session }
}

type Called = Pick<Counted, 'route' | 'exchange'>

function countedByAddress(
  edge: Pick<AdmitParts, 'network'>,
  { route, exchange }: Called,
  { anonymous }: Extract<Policy, { kind: 'optional-key' }>,
): Counted {
  const limits = { name: route.endpoint.operationId, ...anonymous }
  return { route, exchange, caller: edge.network(exchange), limits }
}

/** A test key pays for nothing: where anybody may call, it is worth what no key is (decision D14). */
function countedByKey(
  edge: Pick<AdmitParts, 'network'>,
  { route, exchange, policy }: Called & Pick<Presented, 'policy'>,
  key: KeyRights,
): Counted {
  if (policy.kind === 'optional-key' && key.caller.environment === 'test')
    return countedByAddress(edge, { route, exchange }, policy)
  const limits = { name: route.endpoint.operationId, ...policy.limits }
  return { route, exchange, caller: bucketOf(key), limits }
}

interface Presented {
  exchange: Exchange
  policy: Exclude<Policy, { kind: 'open' | 'session' }>
  authorization: string
  headStart: HeadStart
}

/**
 * A presented key succeeds or fails as a key; it is never ignored (decision D17). The call of a key that was valid the last time is counted
 * before the key is known to be valid: one round trip less to wait for. Should it be revoked meanwhile, what was counted is its own.
 */
async function admitKey(
  edge: AdmitParts,
  route: EndpointRoute,
  { exchange, policy, authorization, headStart }: Presented,
): Promise<Admitted | Refusal> {
  const { operationId } = route.endpoint
  const count = (key: KeyRights): Promise<RateVerdict> => {
    const { caller, limits } = countedByKey(edge, { route, exchange, policy }, key)
    return edge.limiter.take(caller, limits)
  }
  const early: { counted?: Promise<RateVerdict> } = {}
  const key = await edge.authenticate(authorization, {
    address: edge.network(exchange).address,
    onSeen(seen) {
      if (outOfPlace(policy, seen) !== null || !hasMissesLeft(edge, bucketOf(seen))) return null
      const counted = count(seen)
      // Whoever does not get so far does not hear of it.
      counted.catch(() => {})
      early.counted = counted
      return waitMs(edge, bucketOf(seen), operationId) <= 0 ? headStart(seen, counted) : null
    },
  })
  if (key === null) return invalidKey(edge, route, exchange)
  const refusal = outOfPlace(policy, key)
  if (refusal !== null) return refusal
  // Asked once: a call that is already paid for must not be refused any more.
  if (early.counted === undefined) {
    const spent = await spentMisses(edge, { route, exchange }, bucketOf(key))
    if (spent !== null) return spent
  }
  const verdict = await (early.counted ?? count(key))
  if (!verdict.allowed) noteFull(edge, verdict)
  return verdictProblem({ route, exchange }, verdict) ?? { key, session: null }
}

function outOfPlace({ kind, scope }: Presented['policy'], key: KeyRights): Refusal | null {
  if (!key.scopes.includes(scope)) return refuse('insufficient_scope')
  // What a keyed route keeps is real: a test key has nothing there (decision D14).
  return kind === 'keyed' && key.caller.environment === 'test' ? refuse('test_key') : null
}

const misses = 'misses'
const missesMessage = 'Too many of these requests found nothing.'

/** Until a caller has something left of a limit that was spent when it was last asked; 0 or less where it has. */
export function waitMs(
  { spent }: Pick<AdmitParts, 'spent'>,
  { buckets }: ClientNetwork,
  limit: string,
): number {
  const until = buckets.map((bucket) => spent.get(bucketName({ name: limit }, bucket)) ?? 0)
  return Math.max(...until) - performance.now()
}

function noteFull({ spent }: Pick<AdmitParts, 'spent'>, { full }: RateVerdict): void {
  const now = performance.now()
  for (const { name, freeMs } of full) spent.set(name, now + freeMs)
}

/** Who guesses is slowed down; whoever shares the address and has a valid key never gets here (decision D16). */
async function invalidKey(
  edge: AdmitParts,
  route: EndpointRoute,
  exchange: Exchange,
): Promise<Refusal> {
  const limits = { name: 'failed keys', ...edge.failedKeyLimits }
  const verdict = await edge.limiter.take(edge.network(exchange), limits)
  return verdict.allowed ? challenged('invalid_api_key') : overLimit({ route, exchange }, verdict)
}

export function challenged(refusal: 'missing_api_key' | 'invalid_api_key'): Refusal {
  return refuse(refusal, { headers: { 'WWW-Authenticate': 'Bearer' } })
}

interface Counted {
  route: EndpointRoute
  exchange: Exchange
  caller: ClientNetwork
  limits: { name: string } & RateLimits
}

/** Null where the call is within its limits, the state of which the answer then tells. */
export async function rateProblem(
  edge: Pick<AdmitParts, 'limiter' | 'spent'>,
  { route, exchange, caller, limits }: Counted,
): Promise<Refusal | null> {
  const verdict = await edge.limiter.take(caller, limits)
  if (!verdict.allowed) noteFull(edge, verdict)
  return verdictProblem({ route, exchange }, verdict)
}

function verdictProblem(called: Called, verdict: RateVerdict): Refusal | null {
  if (!verdict.allowed) return overLimit(called, verdict)
  called.exchange.headers = rateHeaders(verdict)
  return null
}

/** The answer tells the state of the limit that is spent. */
function overLimit(
  { route, exchange }: Called,
  verdict: RateVerdict,
  message: string = errorTable.rate_limited.message,
): Refusal {
  route.meter.rateLimited++
  exchange.headers = rateHeaders(verdict)
  const headers = { 'Retry-After': String(verdict.retryAfterSeconds) }
  return refuse('rate_limited', { message, headers })
}

type MissParts = Pick<AdmitParts, 'limiter' | 'missLimits' | 'spent'>

/** Counts a 404 of a caller. Null, or what is answered in its place: with a spent budget, being told nothing is being told. */
export async function missProblem(
  edge: MissParts,
  called: Called,
  caller: ClientNetwork,
): Promise<Refusal | null> {
  const verdict = await edge.limiter.take(caller, { name: misses, ...edge.missLimits })
  if (verdict.allowed) return null
  noteFull(edge, verdict)
  return overLimit(called, verdict, missesMessage)
}

/** Null unless a caller is known to have found nothing too often. Nothing is counted while nothing is left; in the last moments of that one may be. */
export async function spentMisses(
  edge: MissParts,
  called: Called,
  caller: ClientNetwork,
): Promise<Refusal | null> {
  return hasMissesLeft(edge, caller) ? null : missProblem(edge, called, caller)
}

export function hasMissesLeft(edge: Pick<AdmitParts, 'spent'>, caller: ClientNetwork): boolean {
  return waitMs(edge, caller, misses) <= 0
}

export function bucketOf({ caller }: KeyRights): ClientNetwork {
  return { buckets: [{ key: caller.keyId, factor: 1 }] }
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

const idempotencyKeyForm = new RegExp(idempotencyKeyPattern)

/** The Idempotency-Key, null where none is sent or it names nothing that is paid for or kept, or why it is not acceptable. */
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
