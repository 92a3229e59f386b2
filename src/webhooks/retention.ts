/** What is forgotten a month after it ended: deliveries with their attempts, events that nothing refers to any more, disabled endpoints. */
import type { Db } from '../platform/db/db.ts'
import { deleteFinishedDeliveries } from './delivery/delivery-store.ts'
import { deleteDisabledEndpoints } from './endpoints/store.ts'
import { deleteOldEvents } from './events/store.ts'

const keptMs = 30 * 86_400_000
const batch = 1_000

/** What still waits is never deleted. In batches: each is short, and whatever ends it loses nothing. */
export async function forgetOldDeliveries(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs)
  let count = 0
  for (const remove of [deleteFinishedDeliveries, deleteOldEvents, deleteDisabledEndpoints])
    for (let removed = batch; removed === batch; count += removed)
      removed = await remove(db, { before, limit: batch })
  return count
}
