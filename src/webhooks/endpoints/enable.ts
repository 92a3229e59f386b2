/**
 * Disables, enables, pauses and resumes an endpoint, and disables endpoints that fail. Writes
 * webhook_endpoints and webhook_deliveries.
 */
import type { Db, Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { cancelDeliveries, cancelStrayDeliveries } from '../delivery/delivery-store.ts'
import {
  type DisabledReason,
  type EndpointOf,
  type EndpointState,
  type FailingEndpoint,
  findFailing,
  setDisabled,
  setEnabled,
  setPaused,
  setWarned,
} from '../delivery/endpoint-store.ts'
import type { Notices } from '../delivery/notices.ts'
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

interface DisableInput extends EndpointOf {
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

const dayMs = 86_400_000

/** Warns the operator about failing endpoints, and disables them after five days. */
export async function checkFailingEndpoints(db: Db, notices: Notices, now: Date): Promise<void> {
  await cancelStrayDeliveries(db, now)
  const failing = await findFailing(db, new Date(now.getTime() - dayMs))
  const warnings: { id: string; hours: number }[] = []
  for (const endpoint of failing) {
    const due = failingAction(endpoint, now)
    if (due.action === 'warn') warnings.push({ id: endpoint.id, hours: due.hours })
    if (due.action === 'disable' && (await disableFailing(db, endpoint.id, { notices, now })))
      notices.disabled(endpoint.id, 'failing')
  }
  if (warnings.length === 0) return
  for (const { id, hours } of await setWarned(db, warnings)) notices.failing(id, hours)
}

/** Returns false if the endpoint was disabled in the meantime. */
function disableFailing(
  db: Db,
  endpointId: string,
  { notices, now }: { notices: Notices; now: Date },
): Promise<boolean> {
  const reason = 'failing'
  return db.transaction(async (tx) => {
    const disabled = await disableEndpoint(tx, { endpointId, owner: 'any', reason, now })
    const changed = 'changed' in disabled && disabled.changed
    if (changed) await notices.record(tx, { endpointIds: [endpointId], reason, at: now })
    return changed
  })
}

type FailingAction = { action: 'none' } | { action: 'warn'; hours: number } | { action: 'disable' }

const hourMs = 3_600_000
const warningHours = [72, 24]
const disableAfterHours = 120

/**
 * Returns the action. An endpoint is disabled after five days without a success, unless the
 * failures come from one event, few attempts or a short time: it needs at least 20 failures of 3
 * events with 12 hours between the first and the last. The operator gets a notice after one day and
 * after three.
 */
export function failingAction(failing: Omit<FailingEndpoint, 'id'>, now: Date): FailingAction {
  const { failingSince, lastFailureAt, consecutiveFailures, eventCount, warnedHours } = failing
  const hours = (now.getTime() - failingSince.getTime()) / hourMs
  const spanHours = (lastFailureAt.getTime() - failingSince.getTime()) / hourMs
  const isOver = hours >= disableAfterHours && spanHours >= 12
  if (isOver && consecutiveFailures >= 20 && eventCount >= 3) return { action: 'disable' }
  const due = warningHours.find((limit) => hours >= limit && limit > warnedHours)
  return due === undefined ? { action: 'none' } : { action: 'warn', hours: due }
}
