/** Whether an endpoint receives: enabled again after it was disabled, paused and resumed. */
import type { Tx } from '../../platform/db/db.ts'
import {
  type EndpointState,
  lockEndpoint,
  setEnabled,
  setPaused,
} from '../delivery/endpoint-store.ts'
import { countActiveEndpoints, lockCreating } from './store.ts'

export type Enabled = 'enabled' | 'active already' | 'no such endpoint' | 'at maximum'

/** Active again, from the next event on; what it missed is sent by `replaySince`. No way around the maximum of its user (decision D39). */
export async function enableEndpoint(
  tx: Tx,
  { endpointId, activeMax, at }: { endpointId: string; activeMax: number; at: Date },
): Promise<Enabled> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return 'no such endpoint'
  if (endpoint.disabledAt === null) return 'active already'
  await lockCreating(tx, endpoint.userId)
  if ((await countActiveEndpoints(tx, endpoint.userId)) >= activeMax) return 'at maximum'
  await setEnabled(tx, endpointId, at)
  return 'enabled'
}

/** Holds deliveries back (`at`), or lets them go (null). Returns the endpoint as it was before. */
export async function pauseEndpoint(
  tx: Tx,
  id: string,
  at: Date | null,
): Promise<EndpointState | undefined> {
  const endpoint = await lockEndpoint(tx, { endpointId: id, owner: 'any' })
  if (endpoint !== undefined && (endpoint.pausedAt === null) !== (at === null))
    await setPaused(tx, id, at)
  return endpoint
}
