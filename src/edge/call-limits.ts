/**
 * Counts calls against the limits of their caller (decisions D11, D24), and writes the state of a
 * limit into the headers of the response.
 */
import { errorTable, type Refusal, refuse } from '../platform/errors.ts'
import type { Caller, PresentedKey } from './http/callers.ts'
import { type RateLimits, sessionLimits } from './http/contract.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from './rate-limit/limiter.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'

export interface LimitOptions {
  limiter: RateLimiter
  /** Not-found limit: 404s of one key or of one x402 payer, over all routes (decision D24). */
  notFoundLimits: RateLimits
}

export interface LimitedCall {
  route: EndpointRoute
  context: RequestContext
}

interface Authenticated {
  caller: Caller
  key: PresentedKey | null
}

/**
 * Counts the call, unless `counting` does. Returns null, or the 429 if the call is over a limit of
 * its caller.
 */
export async function limitProblem(
  edge: LimitOptions,
  call: LimitedCall,
  authenticated: Authenticated,
  counting: Promise<RateVerdict> | null,
): Promise<Refusal | null> {
  if (counting !== null) return verdictProblem(call, await counting)
  const { key } = authenticated
  const full = key === null ? null : await notFoundProblem(edge, call, bucketOf(key))
  if (full !== null) return full
  const counted = countedAs(call, authenticated)
  return counted === null ? null : countCall(edge, call, counted)
}

/** Begins to count a call with a key. Null: it is known already that a limit is full. */
export function beginCounting(
  edge: LimitOptions,
  call: LimitedCall,
  key: PresentedKey,
): Promise<RateVerdict> | null {
  const counted = countedAs(call, { caller: key.caller, key })
  if (counted === null || !mayCall(edge, bucketOf(key), counted.limits.name)) return null
  const counting = edge.limiter.take(counted.client, counted.limits)
  // If the key turns out to be invalid, nothing awaits the verdict.
  counting.catch(() => {})
  return counting
}

export interface Counted {
  client: ClientNetwork
  limits: { name: string } & RateLimits
}

/**
 * Returns the limits of the call. Null if it has none: on an open route, and on a paid read without
 * a key, which is counted once its payer is known.
 */
function countedAs(
  { route, context }: LimitedCall,
  { caller, key }: Authenticated,
): Counted | null {
  const { policy, operationId: name } = route.endpoint
  if (caller.kind === 'session')
    return { client: oneBucket(caller.sessionId), limits: { name: 'sessions', ...sessionLimits } }
  if (caller.kind === 'operator' && policy.kind === 'operator')
    return { client: oneBucket(caller.tokenId), limits: { name: 'operators', ...policy.limits } }
  if (policy.kind === 'open' || policy.kind === 'session' || policy.kind === 'operator') return null
  if (policy.kind === 'page')
    return { client: context.client.network, limits: { name, ...policy.limits } }
  // A test key is free, so on a route open to anonymous callers it is limited like one of them
  // (decision D14).
  if (policy.kind === 'optional-key' && key?.caller.environment !== 'live')
    return { client: context.client.network, limits: { name, ...policy.anonymous } }
  return key === null ? null : { client: bucketOf(key), limits: { name, ...policy.limits } }
}

/** Counts one call. Returns null, or the 429 if a limit is full. Sets the RateLimit headers. */
export async function countCall(
  edge: Pick<LimitOptions, 'limiter'>,
  call: LimitedCall,
  { client, limits }: Counted,
): Promise<Refusal | null> {
  return verdictProblem(call, await edge.limiter.take(client, limits))
}

function verdictProblem(call: LimitedCall, verdict: RateVerdict): Refusal | null {
  if (!verdict.allowed) return denied(call, verdict)
  call.context.headers = rateHeaders(verdict)
  return null
}

/**
 * Counts a 404 against the not-found limit of its caller. Returns the 429 to send instead once the
 * limit is used up, because even a 404 reveals that nothing exists there.
 */
export async function countNotFound(
  edge: LimitOptions,
  call: LimitedCall,
  client: ClientNetwork,
): Promise<Refusal | null> {
  const verdict = await edge.limiter.take(client, { ...notFound, ...edge.notFoundLimits })
  if (!verdict.allowed) return denied(call, verdict, 'not found')
  const { limit, remaining } = verdict.minute
  const { logged } = call.context
  if (logged !== null) logged.cause = { used: limit - remaining, limit }
  return null
}

/**
 * Returns a 429 if the denied cache knows the not-found limit to be full. A call within the limit
 * counts nothing; if the bucket frees up at that moment, this call may be counted once.
 */
export async function notFoundProblem(
  edge: LimitOptions,
  call: LimitedCall,
  client: ClientNetwork,
): Promise<Refusal | null> {
  return edge.limiter.isFull(client, notFound) ? countNotFound(edge, call, client) : null
}

/** Returns whether a new call may be within its limits, as far as the denied cache knows. */
export function mayCall(
  { limiter }: Pick<LimitOptions, 'limiter'>,
  client: ClientNetwork,
  limit: string,
): boolean {
  return !limiter.isFull(client, { name: limit }) && !limiter.isFull(client, notFound)
}

const notFound = { name: 'not found' }

export function bucketOf({ caller }: PresentedKey): ClientNetwork {
  return oneBucket(caller.keyId)
}

function oneBucket(key: string): ClientNetwork {
  return { buckets: [{ key, factor: 1 }] }
}

/** Builds the 429. Its RateLimit headers describe the limit that is full. */
export function denied(
  { route, context }: LimitedCall,
  verdict: RateVerdict,
  bucket: 'calls' | 'not found' = 'calls',
): Refusal {
  const message =
    bucket === 'calls'
      ? errorTable.rate_limited.message
      : 'Too many of these requests found nothing.'
  route.meter.rateLimited++
  context.headers = rateHeaders(verdict)
  const resetS = verdict.retryAfterSeconds
  // A day that is full frees up later than its minute.
  const isDay = verdict.minute.remaining > 0
  const { limit } = isDay ? verdict.day : verdict.minute
  const window = isDay ? 'a day' : 'a minute'
  return refuse('rate_limited', {
    message: `${message} The limit is ${limit} ${window}; it frees up in ${resetS} s.`,
    headers: { 'Retry-After': String(resetS) },
    cause: { bucket, limit, windowS: isDay ? 86_400 : 60, resetS },
  })
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
