/** Warns the operator about failing endpoints, and disables them after five days. */
import type { Db } from '../../platform/db/db.ts'
import { cancelStrayDeliveries } from '../delivery/delivery-store.ts'
import { findFailing, setWarned } from '../delivery/endpoint-store.ts'
import { failingAction } from '../delivery/failing-rule.ts'
import type { Notices } from '../delivery/notices.ts'
import { disableEndpoint } from './disable.ts'

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
