/**
 * Answers a paid read without a key: with an x402 payment challenge, or with the read if the caller
 * pays (decision D22). If x402 payments are not accepted, only a key pays for the read (decision
 * D21), and a payment header is not read.
 */
import { missingKey, unpaid } from './authenticate.ts'
import {
  countCall,
  countNotFound,
  type LimitOptions,
  mayCall,
  notFoundProblem,
} from './call-limits.ts'
import { type ChargeOptions, serialize, statusOf } from './charge.ts'
import type { Caller } from './http/callers.ts'
import { type Policy } from './http/contract.ts'
import { type Answer } from './http/endpoint.ts'
import type { PaymentPort } from './http/payments.ts'
import type { Parameters } from './parameters.ts'
import type { ClientNetwork } from './rate-limit/limiter.ts'
import { type EndpointRoute, isTooLate, type RequestContext } from './request-context.ts'

export interface PaymentOptions extends LimitOptions {
  /** If absent, x402 payments are not accepted. */
  payments?: PaymentPort | undefined
}

export interface KeylessCall {
  route: EndpointRoute
  context: RequestContext
  policy: Extract<Policy, { kind: 'paid' }>
  idempotencyKey: string | null
  /** Checked parameters. */
  path: Parameters
  query: Parameters
}

export async function answerKeyless(
  edge: PaymentOptions & ChargeOptions,
  call: KeylessCall,
  work: (caller: Caller) => Answer | Promise<Answer>,
): Promise<Answer> {
  const { route, context, policy, idempotencyKey, path, query } = call
  const { path: pathTemplate, summary: description, operationId } = route.endpoint
  if (edge.payments === undefined)
    return edge.metering === undefined ? missingKey(context) : unpaid(context)
  const limits = { name: operationId, ...policy.limits }
  // Wallets cost nothing, so a payer is limited by its network as well.
  const clientOf = (payer: string | null): ClientNetwork => {
    const { buckets } = context.client.network
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
      return serialize(await work({ kind: 'payer', address }))
    },
    isAwaited: () => !isTooLate(context),
    onSent: (failure) => void (context.failure = failure),
    mayTry: (payer) => mayCall(edge, clientOf(payer), operationId),
    async limit(payer) {
      const client = clientOf(payer)
      const full = await notFoundProblem(edge, call, client)
      return full ?? countCall(edge, call, { client, limits })
    },
  })
  if (statusOf(answer) !== 404) return answer
  return (await countNotFound(edge, call, clientOf(readFor.payer))) ?? answer
}
