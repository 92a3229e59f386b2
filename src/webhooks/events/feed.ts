/**
 * The feed: events in the order of their positions. An event gets its position after its commit,
 * and none appears below a position that was readable before. A reader that goes on at the position
 * where it stopped therefore misses nothing and reads nothing twice.
 */
import type { Static } from 'typebox'
import type { Queryable } from '../../platform/db/db.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { type eventFeed, feedLimitDefault, type feedQuery } from './schema.ts'
import { findEventsAfter, findFeedFloor, findTypesAfter } from './store.ts'

/** Events that one call reads at most, however few of them have a wanted type. */
const eventsReadMax = 1_000

export interface Feed {
  schemaVersion: Static<typeof eventFeed>['schemaVersion']
  events: unknown[]
  next: string
  hasMore: boolean
}

/**
 * Returns the next page, or null if events after `after` were deleted for their age: the reader
 * would skip them without notice.
 */
export async function readFeed(
  db: Queryable,
  query: Static<typeof feedQuery>,
): Promise<Feed | null> {
  const after = Number(query.after ?? 0)
  const limit = Number(query.limit ?? feedLimitDefault)
  const types = query.types?.split(',')
  const readLimit = types === undefined ? limit : eventsReadMax
  const rows =
    types === undefined
      ? await findEventsAfter(db, { after, limit })
      : await findTypesAfter(db, { after, limit: readLimit, types })
  // Read after the events, so that a deletion between the two reads is noticed.
  if (after > 0 && after < (await findFeedFloor(db))) return null
  const events: unknown[] = []
  let read = 0
  for (; read < rows.length && events.length < limit; read++) {
    const body = rows[read]?.body ?? null
    if (body !== null) events.push(JSON.parse(body))
  }
  return {
    schemaVersion: schemaVersion('webhook_events'),
    events,
    next: String(rows[read - 1]?.position ?? after),
    hasMore: read < rows.length || rows.length === readLimit,
  }
}
