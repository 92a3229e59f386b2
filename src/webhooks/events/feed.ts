/**
 * The feed: events in the order of their positions. An event gets its position after its commit, and
 * none appears below a position that was readable before. A reader that goes on at the position
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

/** Null where events after `after` were deleted for their age: going on would skip them in silence. */
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
  // After the events: what is deleted between the two is noticed.
  if (after > 0 && after < (await findFeedFloor(db))) return null
  const events: unknown[] = []
  let seen = 0
  for (; seen < rows.length && events.length < limit; seen++) {
    const body = rows[seen]?.body ?? null
    if (body !== null) events.push(JSON.parse(body))
  }
  return {
    schemaVersion: schemaVersion('webhook_events'),
    events,
    next: String(rows[seen - 1]?.position ?? after),
    hasMore: seen < rows.length || rows.length === readLimit,
  }
}
