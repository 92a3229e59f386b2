/**
 * One route of the edge that counts its reads. By default the key that a caller presents is valid.
 */
import type {
  Authenticate,
  ExpectKey,
  MeteredCall,
  Metering,
} from '../../../src/edge/http/admission.ts'
import type { Environment, PresentedKey } from '../../../src/edge/http/callers.ts'
import type { Policy, RateLimits } from '../../../src/edge/http/contract.ts'
import { endpoint } from '../../../src/edge/http/endpoint.ts'
import type { PaymentPort } from '../../../src/edge/http/payments.ts'
import type { ServerLimits } from '../../../src/edge/limits.ts'
import { inProcessRateLimiter } from '../../../src/edge/rate-limit/process-limiter.ts'
import { refuse } from '../../../src/platform/errors.ts'
import { ask, request, startEdge, validKey } from './edge.ts'

export const scope = 'scores:read'
const meter = 'score_lookup'

/** Returns the key that is valid by default. */
export function keyOf(environment: Environment): PresentedKey {
  const caller = { ...validKey.caller, environment }
  return { ...validKey, caller, scopes: [scope, 'candidates:read'] }
}

/** Builds a metering that charges every call, except where `over` replaces a function. */
export function recordedMetering(over: Partial<Metering> = {}) {
  const charged: MeteredCall[] = []
  const refunded: MeteredCall[] = []
  const metering: Metering = {
    shortfall: () => null,
    async charge(call) {
      charged.push(call)
      return { charged: 1, remaining: 9 }
    },
    refund: (call) => void refunded.push(call),
    ...over,
  }
  return { charged, refunded, metering }
}

/** Starts the route. By default it is a paid route. */
export async function startPaid({
  perMinute = 100,
  environment = 'live',
  authenticate = async () => keyOf(environment),
  expectedKey,
  limits = {},
  metering,
  notFoundLimits = { perMinute: 60, perDay: 1_000 },
  payments,
  policy = { kind: 'paid', scope, meter, limits: { perMinute, perDay: 1_000 } },
}: {
  perMinute?: number
  environment?: Environment
  authenticate?: Authenticate
  expectedKey?: ExpectKey
  limits?: Partial<ServerLimits>
  metering?: Metering
  notFoundLimits?: RateLimits
  payments?: PaymentPort
  policy?: Policy
}) {
  const reads = {
    begun: 0,
    onBegin: () => {},
    fail: false,
    failure: new Error('not read'),
    missing: false,
    body: { private: true } as object,
  }
  const edge = await startEdge({
    limiter: inProcessRateLimiter({ nodes: 1 }),
    authenticate,
    expectedKey,
    limits,
    metering,
    notFoundLimits,
    payments,
    endpoints: [
      endpoint({
        operationId: 'read',
        method: 'GET',
        path: '/read',
        policy,
        area: 'Sample',
        summary: 'Sample',
        responses: {},
        priority: 'public',
        answer: async () => {
          reads.begun++
          reads.onBegin()
          if (reads.fail) throw reads.failure
          if (reads.missing) return refuse('score_not_found')
          return { status: 200, body: reads.body }
        },
      }),
    ],
  })
  const call = (...headers: string[]) =>
    ask(edge.port, request('GET /read', ['Authorization: Bearer x', ...headers]))
  return { ...edge, reads, call }
}
