/**
 * From written to readable: events that were committed get their position in the feed, in batches and by one process at a time. A crash
 * leaves them waiting. Numbers may be missing between positions; a lower one never appears after a higher one was seen.
 */
import type { Db } from '../platform/db.ts'
import { lockPlacing, type PlacedEvent, placeNext } from './store.ts'

/** Places at most `limit` events, and says which; fewer than `limit` when no more waited. */
export function placeEvents(db: Db, limit: number): Promise<PlacedEvent[]> {
  return db.transaction(async (tx) => {
    await lockPlacing(tx)
    return placeNext(tx, limit)
  })
}
