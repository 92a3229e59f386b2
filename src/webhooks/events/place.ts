/**
 * From written to readable and on its way: events that were committed get their position in the feed, and a delivery to each endpoint that
 * wants them, in batches and by one process at a time. A crash leaves them waiting. Numbers may be missing between positions; a lower one
 * never appears after a higher one was seen.
 */
import type { Db } from '../../platform/db/db.ts'
import { isPlacingNeeded, type PlacedEvent, placeNext } from './placing-store.ts'

const limits = { events: 500, deliveries: 20_000 }

/** Places whatever waits, in batches that make some thousands of deliveries each. Returns how many events. */
export async function placeWaiting(
  db: Db,
  onPlaced: (event: PlacedEvent) => void = () => undefined,
): Promise<number> {
  let count = 0
  while (await isPlacingNeeded(db)) {
    const placed = await placeNext(db, limits)
    placed.forEach(onPlaced)
    count += placed.length
  }
  return count
}
