/** Whether an endpoint receives at all: disabled and enabled again, paused and resumed. */
import type { Tx } from '../platform/db.ts'
import { cancelDeliveries } from './delivery-store.ts'
import {
  type DisabledReason,
  type EndpointState,
  lockEndpoint,
  setDisabled,
  setEnabled,
  setPaused,
} from './endpoint-store.ts'

/**
 * Disables the endpoint and cancels what waits for it, in the caller's transaction: once that is committed nothing more is leased for it.
 * An endpoint that is disabled stays as it is. Returns it as it was before, or undefined where there is none.
 */
export async function disableEndpoint(
  tx: Tx,
  id: string,
  { reason, at }: { reason: DisabledReason; at: Date },
): Promise<EndpointState | undefined> {
  const endpoint = await lockEndpoint(tx, id)
  if (endpoint === undefined || endpoint.disabledAt !== null) return endpoint
  await setDisabled(tx, [id], { reason, at })
  await cancelDeliveries(tx, [id], at)
  return endpoint
}

/** Active again, from the next event on; what it missed is sent by `recoverSince`. Returns it as it was before. */
export async function enableEndpoint(
  tx: Tx,
  id: string,
  at: Date,
): Promise<EndpointState | undefined> {
  const endpoint = await lockEndpoint(tx, id)
  if (endpoint !== undefined && endpoint.disabledAt !== null) await setEnabled(tx, id, at)
  return endpoint
}

/** Holds deliveries back (`at`), or lets them go (null). Returns the endpoint as it was before. */
export async function pauseEndpoint(
  tx: Tx,
  id: string,
  at: Date | null,
): Promise<EndpointState | undefined> {
  const endpoint = await lockEndpoint(tx, id)
  if (endpoint !== undefined && (endpoint.pausedAt === null) !== (at === null))
    await setPaused(tx, id, at)
  return endpoint
}
