/** Pure: the admission rules of an operation as the contract states them. */
import { type Operation, sessionLimits } from '../platform/http/contract.ts'

const key = { apiKey: [] }

export function securityOf({ policy }: Operation): object[] {
  if (policy.kind === 'open' || policy.kind === 'page') return []
  if (policy.kind === 'optional-key') return [{}, key]
  if (policy.kind === 'session') return [{ session: [] }]
  if (policy.kind === 'operator') return [{ operatorToken: [] }]
  if (policy.kind === 'keyed') return [key]
  return [key, { payment: [] }, { paymentSignature: [] }]
}

/** Returns the facts that OpenAPI has no field for: scope, meter, price and limits. */
export function admissionOf({ policy, credits }: Operation): Record<string, object> {
  if (policy.kind === 'open' || policy.kind === 'page') return {}
  if (policy.kind === 'session')
    return { 'x-rate-limits': { session: { perMinute: sessionLimits.perMinute } } }
  if (policy.kind === 'operator')
    return { 'x-rate-limits': { token: { perMinute: policy.limits.perMinute } } }
  const limits = { apiKey: policy.limits }
  return {
    'x-rate-limits':
      policy.kind === 'optional-key' ? { anonymous: policy.anonymous, ...limits } : limits,
    'x-api-key': {
      scope: policy.scope,
      ...('meter' in policy ? { meter: policy.meter, credits } : {}),
    },
  }
}
