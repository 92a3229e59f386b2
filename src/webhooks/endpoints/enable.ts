/** Enables, pauses and resumes an endpoint. Writes webhook_endpoints. */
import type { Tx } from '../../platform/db/db.ts'
import {
  type EndpointState,
  lockEndpoint,
  setEnabled,
  setPaused,
} from '../delivery/endpoint-store.ts'
import { countActiveEndpoints, lockCreation } from './store.ts'

export type EnableOutcome = 'enabled' | 'active already' | 'no such endpoint' | 'at maximum'

/**
 * Enables a disabled endpoint from the next event on; `replaySince` sends the events that it
 * missed. The maximum of its user still applies (decision D39).
 */
export async function enableEndpoint(
  tx: Tx,
  { endpointId, activeMax, at }: { endpointId: string; activeMax: number; at: Date },
): Promise<EnableOutcome> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return 'no such endpoint'
  if (endpoint.disabledAt === null) return 'active already'
  await lockCreation(tx, endpoint.userId)
  if ((await countActiveEndpoints(tx, endpoint.userId)) >= activeMax) return 'at maximum'
  await setEnabled(tx, endpointId, at)
  return 'enabled'
}

/** Pauses deliveries since `at`, or resumes them if `at` is null. Returns the previous state. */
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
