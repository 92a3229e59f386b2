/**
 * Deletes rows a month after their end: deliveries with their attempts, events without a delivery,
 * and disabled endpoints. Pending deliveries and undispatched events stay.
 */
import type { Db } from '../platform/db/db.ts'
import { deleteFinishedDeliveries } from './delivery/delivery-store.ts'
import { deleteDisabledEndpoints } from './endpoints/store.ts'
import { deleteOldEvents } from './events/store.ts'

const retentionMs = 30 * 86_400_000
const batch = 1_000

/** Returns the number of deleted rows. Deletes in batches, so that locks are short. */
export async function deleteOldRows(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - retentionMs)
  let count = 0
  for (const remove of [deleteFinishedDeliveries, deleteOldEvents, deleteDisabledEndpoints])
    for (let removed = batch; removed === batch; count += removed)
      removed = await remove(db, { before, limit: batch })
  return count
}
