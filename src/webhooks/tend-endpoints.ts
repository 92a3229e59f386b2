/** What is done about endpoints that fail: the operator is told, and after five days they are disabled. */
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { cancelStrayDeliveries } from './delivery-store.ts'
import { disableEndpoint } from './disable-endpoint.ts'
import { findFailing, setWarned } from './endpoint-store.ts'
import { failingAction } from './failing-rule.ts'

const dayMs = 86_400_000

export async function tendEndpoints(db: Db, log: Log, now: Date): Promise<void> {
  await cancelStrayDeliveries(db, now)
  const failing = await findFailing(db, new Date(now.getTime() - dayMs))
  const warned: { id: string; hours: number }[] = []
  for (const endpoint of failing) {
    const { id } = endpoint
    const decided = failingAction(endpoint, now)
    if (decided.action === 'warn') {
      warned.push({ id, hours: decided.hours })
      log.warn('a webhook endpoint fails', { endpointId: id, hours: decided.hours })
    }
    if (decided.action === 'disable') {
      await db.transaction((tx) =>
        disableEndpoint(tx, { endpointId: id, userId: null, reason: 'failing', now }),
      )
      log.warn('a webhook endpoint is disabled: five days without a success', { endpointId: id })
    }
  }
  if (warned.length > 0) await setWarned(db, warned)
}
