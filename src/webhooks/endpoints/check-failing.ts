/** Warns the operator about failing endpoints, and disables them after five days. */
import type { Db } from '../../platform/db/db.ts'
import { cancelStrayDeliveries } from '../delivery/delivery-store.ts'
import { type FailingEndpoint, findFailing, setWarned } from '../delivery/endpoint-store.ts'
import type { Notices } from '../delivery/notices.ts'
import { disableEndpoint } from './enable.ts'

const dayMs = 86_400_000

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
