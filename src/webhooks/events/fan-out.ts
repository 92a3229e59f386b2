/**
 * Fan-out: gives committed events their positions in the feed and a delivery to each subscribed
 * endpoint. One process does this at a time, in batches. After a crash the events are still
 * undispatched. Positions may have gaps, but a lower position never appears after a higher one was
 * readable.
 */
import type { Db } from '../../platform/db/db.ts'
import { type DispatchedEvent, fanOutBatch, hasUndispatchedEvents } from './fan-out-store.ts'

/** A batch makes at most this many deliveries, however many endpoints subscribe. */
const limits = { events: 500, deliveries: 20_000 }

/** Fans out every undispatched event. Returns the number of events. */
export async function fanOutEvents(
  db: Db,
  onDispatched: (event: DispatchedEvent) => void = () => undefined,
): Promise<number> {
  let count = 0
  while (await hasUndispatchedEvents(db)) {
    const events = await fanOutBatch(db, limits)
    events.forEach(onDispatched)
    count += events.length
  }
  return count
}
