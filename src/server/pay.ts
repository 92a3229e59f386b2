/**
 * Charges a call: credits of the key's account, or an x402 payment (decisions D19–D22). The
 * response is built and serialized, then charged, then sent. A response other than 200 costs
 * nothing, and a 200 that was not charged is never sent.
 */
import { sha256Hex } from '../platform/crypto/bytes.ts'
import type { Charge, MeteredCall, Metering, SeenKey } from '../platform/http/admission.ts'
import type { Caller, MeterName, PresentedKey } from '../platform/http/callers.ts'
import type { Policy } from '../platform/http/contract.ts'
import type { Answer } from '../platform/http/endpoint.ts'
import { errorTable, UnavailableError } from '../platform/http/errors.ts'
import { creditsChargedHeader, creditsRemainingHeader } from '../platform/http/identifiers.ts'
import type { PaymentPort } from '../platform/http/payments.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { ClientNetwork, RateVerdict } from '../platform/rate-limit/limiter.ts'
import {
  type AdmitParts,
  type Admitted,
  bucketOf,
  challenged,
  countNotFound,
  hasNotFoundLeft,
  notFoundProblem,
  rateProblem,
  waitMs,
} from './admit.ts'
import { isRefusal, type Parameters } from './parameters.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'
import { isTooLate, turnOf } from './turn.ts'

export interface PayParts extends AdmitParts {
  /** If absent, calls with a key are free (decision D21). */
  metering: Metering | undefined
  /** If absent, x402 payments are not accepted. */
  payments: PaymentPort | undefined
}

export interface PaidCall {
  route: EndpointRoute
  context: RequestContext
  admitted: Admitted
  idempotencyKey: string | null
  /** Checked parameters. */
  path: Parameters
  query: Parameters
  /** Null if none is declared. Ambiguous JSON is given as the bytes that were sent. */
  body: unknown
}

type Work = (caller: Caller) => Promise<Answer>
type PaidPolicy = Extract<Policy, { kind: 'paid' }>

export async function answerAdmitted(edge: PayParts, call: PaidCall, work: Work): Promise<Answer> {
  const { policy } = call.route.endpoint
  const { key } = call.admitted
  if (key === null)
    return policy.kind === 'paid'
      ? answerKeyless(edge, { ...call, policy }, work)
      : work(call.admitted.session ?? { kind: 'anonymous' })
  const answer =
    'meter' in policy
      ? await answerMetered(edge, { ...call, key, meter: policy.meter }, work)
      : await work(key.caller)
  if (statusOf(answer) !== 404) return answer
  return (await countNotFound(edge, call, bucketOf(key))) ?? answer
}

/**
 * Answers a paid call without a key: a payment challenge, or the read if the caller pays by x402.
 */
async function answerKeyless(
  edge: PayParts,
  { policy, ...call }: PaidCall & { policy: PaidPolicy },
  work: Work,
): Promise<Answer> {
  const { route, context, idempotencyKey, path, query } = call
  const { path: pathTemplate, summary: description, operationId } = route.endpoint
  if (edge.payments === undefined) return challenged('missing_api_key')
  const limits = { name: operationId, ...policy.limits }
  // Wallets cost nothing, so a payer is limited by its network as well.
  const callerOf = (payer: string | null): ClientNetwork => {
    const { buckets } = edge.network(context)
    return { buckets: payer === null ? buckets : [{ key: payer, factor: 1 }, ...buckets] }
  }
  const readFor: { payer: string | null } = { payer: null }
  const answer = await edge.payments.answer({
    meter: policy.meter,
    pathTemplate,
    description,
    path,
    query,
    headers: context.request.headers,
    idempotencyKey,
    async read(address) {
      readFor.payer = address
      return ready(await work({ kind: 'payer', address }))
    },
    async isAwaited() {
      await turnOf(context)
      return !isTooLate(context)
    },
    onSent: (failure) => void (context.failure = failure),
    mayTry(payer) {
      const caller = callerOf(payer)
      return waitMs(edge, caller, operationId) <= 0 && hasNotFoundLeft(edge, caller)
    },
    async limit(payer) {
      const caller = callerOf(payer)
      const full = await notFoundProblem(edge, { route, context }, caller)
      return full ?? rateProblem(edge, { route, context, caller, limits })
    },
  })
  if (statusOf(answer) !== 404) return answer
  return (await countNotFound(edge, call, callerOf(readFor.payer))) ?? answer
}

interface MeteredByKey extends PaidCall {
  key: PresentedKey
  meter: MeterName
}

async function answerMetered(
  { metering }: PayParts,
  { key, meter, context, ...call }: MeteredByKey,
  work: Work,
): Promise<Answer> {
  const { caller } = key
  if (metering === undefined) return work(caller)
  if (caller.environment === 'test') return withCredits(await work(caller), { charged: 0 })
  const purchase = purchaseOf(call)
  // A repeated purchase is free, and only the charge can recognize one.
  const shortfall = purchase === null ? metering.shortfall(key, meter) : null
  if (shortfall !== null) return shortfall
  const answer = ready(await work(caller))
  if (statusOf(answer) !== 200) return answer
  await turnOf(context)
  if (isTooLate(context)) return answer
  const { route } = call
  return chargeFor(answer, { metering, route, context, caller, meter, provenFor: null, purchase })
}

interface Charging extends Omit<MeteredCall, 'operationId' | 'requestId' | 'begunAt'> {
  metering: Metering
  route: EndpointRoute
  context: RequestContext
}

async function chargeFor(
  answer: Answer,
  { metering, route, context, ...asked }: Charging,
): Promise<Answer> {
  const { operationId } = route.endpoint
  const { requestId, startedAt } = context
  const begunAt = new Date(Date.now() - (performance.now() - startedAt))
  const metered = { ...asked, operationId, requestId, begunAt }
  const charge = await metering.charge(metered)
  if (isTooLate(context)) metering.undo(metered)
  return isRefusal(charge) ? charge : withCredits(answer, charge)
}

interface SeenCall {
  policy: PaidPolicy
  route: EndpointRoute
  context: RequestContext
  key: SeenKey
  counted: Promise<RateVerdict>
  read: Promise<Answer>
}

/**
 * Charges the call of a key that was valid at its last use, with a statement that charges only
 * valid keys (decision D15). If the charge succeeds, the key needs no look-up.
 *
 * Returns null if this key or this call cannot be charged in this way. Otherwise resolves to the
 * paid response, or to null if nothing was charged: the key is then looked up, and the usual checks
 * decide the response. Rejects only with `UnavailableError`: no time is left for a look-up, or the
 * outcome of the charge is unknown.
 */
export function proveByCharge(
  { metering }: PayParts,
  call: SeenCall,
): Promise<Answer | null> | null {
  const { key, policy } = call
  if (metering === undefined || metering.isFree(policy.meter)) return null
  return key.isProvable && key.caller.environment === 'live' ? chargeSeen(metering, call) : null
}

async function chargeSeen(
  metering: Metering,
  { key: { caller }, policy, route, context, counted, read }: SeenCall,
): Promise<Answer | null> {
  // A caller over its limit does not wait for the read.
  const verdict = await counted.catch(nullUnlessUnavailable)
  if (verdict === null || !verdict.allowed) return null
  const answer = await read.then(ready).catch(nullUnlessUnavailable)
  if (answer === null || statusOf(answer) !== 200) return null
  await turnOf(context)
  if (isTooLate(context)) return null
  const { meter, scope: provenFor } = policy
  const charging = { metering, route, context, caller, meter, provenFor, purchase: null }
  const paid = await chargeFor(answer, charging).catch(nullUnlessUnavailable)
  return paid !== null && statusOf(paid) === 200 ? paid : null
}

function nullUnlessUnavailable(error: unknown): null {
  if (error instanceof UnavailableError) throw error
  return null
}

function purchaseOf({ route, idempotencyKey, path, query, body }: Omit<PaidCall, 'context'>) {
  if (idempotencyKey === null) return null
  const { operationId } = route.endpoint
  const said = body instanceof Uint8Array ? sha256Hex(body) : (body ?? undefined)
  const asked = { operationId, path, query, body: said }
  const fingerprint = sha256Hex(canonicalJson(asked))
  return { idempotencyKey, fingerprint }
}

/**
 * Serializes a response before the charge. A body that cannot be serialized is a 500 of ours and
 * must not be charged.
 */
function ready(answer: Answer): Answer {
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

function statusOf(answer: Answer): number {
  if ('document' in answer) return 200
  return 'refusal' in answer ? errorTable[answer.refusal].status : answer.status
}
