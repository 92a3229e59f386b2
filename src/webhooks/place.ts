/**
 * From written to readable and on its way: events that were committed get their position in the feed, and a delivery to each endpoint that
 * wants them, in batches and by one process at a time. A crash leaves them waiting. Numbers may be missing between positions; a lower one
 * never appears after a higher one was seen.
 */
import type { Db } from '../platform/db.ts'
import { fanOut } from './delivery-store.ts'
import { isPlacingNeeded, lockPlacing, type PlacedEvent, placeNext } from './store.ts'

/** Places at most `limit` events, and says which; fewer than `limit` when no more waited. */
export function placeEvents(db: Db, limit: number): Promise<PlacedEvent[]> {
  return db.transaction(async (tx) => {
    await lockPlacing(tx)
    const placed = await placeNext(tx, limit)
    if (placed.length > 0)
      await fanOut(
        tx,
        placed.map(({ id }) => id),
      )
    return placed
  })
}

const deliveriesMax = 20_000
const eventsMax = 500

/** Places whatever waits, in batches that make some thousands of deliveries each. Returns how many events. */
export async function placeWaiting(
  db: Db,
  onPlaced: (event: PlacedEvent) => void = () => undefined,
): Promise<number> {
  let count = 0
  for (;;) {
    const { isNeeded, endpointCount } = await isPlacingNeeded(db)
    if (!isNeeded) return count
    const limit = Math.max(1, Math.min(eventsMax, Math.floor(deliveriesMax / (endpointCount + 1))))
    const placed = await placeEvents(db, limit)
    placed.forEach(onPlaced)
    count += placed.length
  }
}
