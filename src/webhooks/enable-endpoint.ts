/** Whether an endpoint receives: enabled again after it was disabled, paused and resumed. */
import type { Tx } from '../platform/db.ts'
import { type EndpointState, lockEndpoint, setEnabled, setPaused } from './endpoint-store.ts'

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
