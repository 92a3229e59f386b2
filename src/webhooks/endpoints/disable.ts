/** Disables an endpoint: it stays, nothing is sent to it any more. Writes webhook_endpoints and webhook_deliveries. */
import type { Tx } from '../../platform/db/db.ts'
import { cancelDeliveries } from '../delivery/delivery-store.ts'
import {
  type DisabledReason,
  type EndpointOf,
  lockEndpoint,
  setDisabled,
} from '../delivery/endpoint-store.ts'
import { type EndpointRow, findEndpoints } from './store.ts'

export interface Disabling extends EndpointOf {
  reason: DisabledReason
  now: Date
}

/**
 * The endpoint as it is then, and whether this call disabled it: one that was disabled before stays as it was (decision D42). Null where
 * there is none, or it is somebody else's. What was waiting for it is cancelled in the same transaction. After the commit
 * `untilNothingStarts` says from when on nothing is sent.
 */
export async function disableEndpoint(
  tx: Tx,
  { endpointId, owner, reason, now }: Disabling,
): Promise<{ endpoint: EndpointRow; changed: boolean } | null> {
  if ((await lockEndpoint(tx, { endpointId, owner })) === undefined) return null
  const disabled = await setDisabled(tx, [endpointId], { reason, at: now })
  await cancelDeliveries(tx, disabled, now)
  const [endpoint] = await findEndpoints(tx, [endpointId], now)
  if (endpoint === undefined) throw new Error(`webhook endpoint ${endpointId} has no secret`)
  return { endpoint, changed: disabled.length > 0 }
}
