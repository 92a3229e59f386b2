/**
 * One route of the edge that counts its reads. The caller presents a key that was valid at its last
 * use.
 */
import type { Authenticate, Metering } from '../../../src/platform/http/admission.ts'
import type { Environment } from '../../../src/platform/http/callers.ts'
import type { Policy, RateLimits } from '../../../src/platform/http/contract.ts'
import { endpoint } from '../../../src/platform/http/endpoint.ts'
import { refuse } from '../../../src/platform/http/errors.ts'
import type { PaymentPort } from '../../../src/platform/http/payments.ts'
import { inProcessRateLimiter } from '../../../src/platform/rate-limit/process-limiter.ts'
import type { ServerLimits } from '../../../src/server/limits.ts'
import { ask, request, startEdge, validKey } from './edge.ts'

export const scope = 'scores:read'
const scopes = [scope, 'candidates:read'] as const
export const meter = 'score_lookup'

/** Starts the route. By default it is a paid route. */
export async function startPaid({
  authenticate = async () => null,
  perMinute = 100,
  isProvable = true,
  environment = 'live',
  limits = {},
  metering,
  notFoundLimits = { perMinute: 60, perDay: 1_000 },
  payments,
  policy = { kind: 'paid', scope, meter, limits: { perMinute, perDay: 1_000 } },
}: {
  authenticate?: (seen: () => Promise<boolean> | null) => ReturnType<Authenticate>
  perMinute?: number
  isProvable?: boolean
  environment?: Environment
  limits?: Partial<ServerLimits>
  metering?: Metering
  notFoundLimits?: RateLimits
  payments?: PaymentPort
  policy?: Policy
}) {
  const reads = {
    begun: 0,
    fail: false,
    failure: new Error('not read'),
    missing: false,
    body: { private: true } as object,
  }
  const caller = { ...validKey.caller, environment }
  const edge = await startEdge({
    limiter: inProcessRateLimiter({ nodes: 1 }),
    authenticate: (_authorization, { onSeen }) =>
      authenticate(() => onSeen({ ...validKey, caller, scopes, isProvable })),
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
