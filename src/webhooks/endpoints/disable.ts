/** Disables an endpoint. Writes webhook_endpoints and webhook_deliveries. */
import type { Tx } from '../../platform/db/db.ts'
import type { Refusal } from '../../platform/errors.ts'
import { cancelDeliveries } from '../delivery/delivery-store.ts'
import { type DisabledReason, type EndpointOf, setDisabled } from '../delivery/endpoint-store.ts'
import { lockKnown } from '../delivery/own-endpoint.ts'
import { type EndpointRow, findEndpoints } from './store.ts'

export interface DisableInput extends EndpointOf {
  reason: DisabledReason
  now: Date
}

/**
 * Disables an endpoint and cancels its pending deliveries in the same transaction. Returns the
 * endpoint, and whether this call disabled it: an endpoint that was disabled before stays unchanged
 * (decision D42). After the commit, call `untilNothingStarts`: once it resolves, no delivery starts.
 */
export async function disableEndpoint(
  tx: Tx,
  { endpointId, owner, reason, now }: DisableInput,
): Promise<{ endpoint: EndpointRow; changed: boolean } | Refusal<'webhook_endpoint_not_found'>> {
  const locked = await lockKnown(tx, { endpointId, owner })
  if ('refusal' in locked) return locked
  const disabled = await setDisabled(tx, [endpointId], { reason, at: now })
  await cancelDeliveries(tx, disabled, now)
  const [endpoint] = await findEndpoints(tx, [endpointId], now)
  if (endpoint === undefined) throw new Error(`webhook endpoint ${endpointId} has no secret`)
  return { endpoint, changed: disabled.length > 0 }
}
