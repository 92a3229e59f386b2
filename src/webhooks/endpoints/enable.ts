/**
 * Disables, enables, pauses and resumes an endpoint. Writes webhook_endpoints and
 * webhook_deliveries.
 */
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { cancelDeliveries } from '../delivery/delivery-store.ts'
import {
  type DisabledReason,
  type EndpointOf,
  type EndpointState,
  setDisabled,
  setEnabled,
  setPaused,
} from '../delivery/endpoint-store.ts'
import { lockActive, lockKnown } from '../delivery/own-endpoint.ts'
import { countActiveEndpoints, type EndpointRow, findEndpoints, lockCreation } from './store.ts'

export interface EndpointMove {
  /** The endpoint before the call. */
  endpoint: EndpointState
  changed: boolean
}

/**
 * Enables a disabled endpoint from the next event on; `replaySince` sends the events that it
 * missed. The maximum of its user still applies (decision D39).
 */
export async function enableEndpoint(
  tx: Tx,
  { activeMax, at, ...of }: EndpointOf & { activeMax: number; at: Date },
): Promise<EndpointMove | Refusal<'webhook_endpoint_not_found' | 'webhook_endpoints_maximum'>> {
  const endpoint = await lockKnown(tx, of)
  if ('refusal' in endpoint) return endpoint
  if (endpoint.disabledAt === null) return { endpoint, changed: false }
  await lockCreation(tx, endpoint.userId)
  if ((await countActiveEndpoints(tx, endpoint.userId)) >= activeMax)
    return refuse('webhook_endpoints_maximum')
  await setEnabled(tx, endpoint.id, at)
  return { endpoint, changed: true }
}

/** Pauses deliveries since `pausedAt`, or resumes them if it is null. */
export async function pauseEndpoint(
  tx: Tx,
  { pausedAt, ...of }: EndpointOf & { pausedAt: Date | null },
): Promise<EndpointMove | Refusal<'webhook_endpoint_not_found' | 'webhook_endpoint_disabled'>> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const changed = (endpoint.pausedAt === null) !== (pausedAt === null)
  if (changed) await setPaused(tx, endpoint.id, pausedAt)
  return { endpoint, changed }
}

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
