/**
 * Charges a call with an API key to the credits of its account (decisions D19–D21). The response is
 * built and serialized, then charged, then sent. A response other than 200 costs nothing, and a 200
 * that was not charged is never sent.
 */
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { errorTable, type Refusal } from '../platform/errors.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Charge, MeteredCall, Metering } from './http/admission.ts'
import type { PresentedKey } from './http/callers.ts'
import { type Answer } from './http/endpoint.ts'
import { creditsChargedHeader, creditsRemainingHeader } from './http/identifiers.ts'
import { isRefusal, type Parameters } from './parameters.ts'
import { type EndpointRoute, isTooLate, type RequestContext } from './request-context.ts'

export interface ChargeOptions {
  /** If absent, calls with a key are free (decision D21). */
  metering?: Metering | undefined
}

export interface KeyCall {
  route: EndpointRoute
  context: RequestContext
  key: PresentedKey
  idempotencyKey: string | null
}

/**
 * Returns the refusal if the account cannot pay for the call, as far as that is known before the
 * work, or null.
 */
export function creditProblem({ metering }: ChargeOptions, call: KeyCall): Refusal | null {
  const { route, key, idempotencyKey } = call
  const { policy } = route.endpoint
  if (metering === undefined || !('meter' in policy) || key.caller.environment === 'test')
    return null
  // A repeated purchase is free, and only the charge can recognize one.
  return idempotencyKey === null ? metering.shortfall(key, policy.meter) : null
}

/** The input of a call. A repeated purchase has the same input. */
export interface CallInput {
  path: Parameters
  query: Parameters
  /** Null if the endpoint takes no body. Ambiguous JSON is given as the bytes that were sent. */
  body: unknown
}

/** Charges an answer with status 200. Returns the answer to send: the paid one, or the refusal. */
export async function charge(
  { metering }: ChargeOptions,
  call: KeyCall,
  input: CallInput,
  answer: Answer,
): Promise<Answer> {
  const { route, context, key } = call
  const { policy, operationId } = route.endpoint
  const { caller } = key
  if (metering === undefined || !('meter' in policy)) return answer
  if (caller.environment === 'test') return withCredits(answer, { charged: 0 })
  const serialized = serialize(answer)
  if (statusOf(answer) !== 200) return serialized
  if (isTooLate(context)) return serialized
  const metered: MeteredCall = {
    caller,
    meter: policy.meter,
    operationId,
    requestId: context.requestId,
    begunAt: new Date(Date.now() - (performance.now() - context.startedAt)),
    purchase: purchaseOf(call, input),
  }
  const charged = await metering.charge(metered)
  if (isTooLate(context)) metering.refund(metered)
  else if (!isRefusal(charged) && context.logged !== null) context.logged.credits = charged.charged
  return isRefusal(charged) ? charged : withCredits(serialized, charged)
}

function purchaseOf(
  { route, idempotencyKey }: KeyCall,
  { path, query, body }: CallInput,
): MeteredCall['purchase'] {
  if (idempotencyKey === null) return null
  const { operationId } = route.endpoint
  const sent = body instanceof Uint8Array ? sha256Hex(body) : (body ?? undefined)
  const fingerprint = sha256Hex(canonicalJson({ operationId, path, query, body: sent }))
  return { idempotencyKey, fingerprint }
}

/**
 * Serializes a response before it is paid for. A body that cannot be serialized is a 500 of ours
 * and must not be charged.
 */
export function serialize(answer: Answer): Answer {
  return 'status' in answer && answer.text === undefined
    ? { ...answer, text: JSON.stringify(answer.body) }
    : answer
}

function withCredits(answer: Answer, { charged, remaining }: Charge): Answer {
  if (!('status' in answer) || answer.status !== 200) return answer
  const headers: Record<string, string> = {
    ...answer.headers,
    [creditsChargedHeader]: `${charged}`,
  }
  if (remaining !== undefined) headers[creditsRemainingHeader] = `${remaining}`
  return { ...answer, headers }
}

export function statusOf(answer: Answer): number {
  if ('document' in answer || 'events' in answer || 'lines' in answer) return 200
  return 'refusal' in answer ? errorTable[answer.refusal].status : answer.status
}
