/** Finds and locks the endpoint that a caller names, or refuses. */
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { type EndpointOf, type EndpointState, lockEndpoint } from './endpoint-store.ts'

/** Only an operator reads the id: an account gets the same bytes for every unknown endpoint. */
export function unknownEndpoint({ endpointId, owner }: EndpointOf) {
  return refuse(
    'webhook_endpoint_not_found',
    owner === 'any' ? { message: `${endpointId}: There is no such webhook endpoint.` } : {},
  )
}

export async function lockKnown(
  tx: Tx,
  of: EndpointOf,
): Promise<EndpointState | Refusal<'webhook_endpoint_not_found'>> {
  return (await lockEndpoint(tx, of)) ?? unknownEndpoint(of)
}

export async function lockActive(
  tx: Tx,
  of: EndpointOf,
): Promise<EndpointState | Refusal<'webhook_endpoint_not_found' | 'webhook_endpoint_disabled'>> {
  const endpoint = await lockKnown(tx, of)
  if ('refusal' in endpoint || endpoint.disabledAt === null) return endpoint
  const { endpointId, owner } = of
  return refuse(
    'webhook_endpoint_disabled',
    owner === 'any' ? { message: `${endpointId}: The endpoint is disabled.` } : {},
  )
}
