/**
 * The feed: events in the order of their positions. An event gets its position after its commit,
 * and none appears below a position that was readable before. A reader that goes on at the position
 * where it stopped therefore misses nothing and reads nothing twice.
 */
import type { Static } from 'typebox'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { instantOf } from '../../platform/clock.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { type eventFeed, feedLimitDefault, type feedQuery } from './schema.ts'
import { findEventsAfter, findFeedFloor, findPositionBefore, findTypesAfter } from './store.ts'

/** Events that one call reads at most, however few of them have a wanted type. */
const eventsReadMax = 1_000

const deletedMessage =
  'after: events behind it are too old and were deleted. Leave it out to begin with the oldest that is kept.'
const noTimeMessage = 'since: there is no such time. Send one in UTC, such as 2026-05-14T09:00:00Z.'

interface Feed {
  schemaVersion: Static<typeof eventFeed>['schemaVersion']
  events: unknown[]
  positions: number[]
  next: string
  hasMore: boolean
}

/**
 * Returns the next page. If events after `after` were deleted for their age, it returns a fault,
 * because the reader would skip them without notice.
 */
export async function readFeed(
  db: Queryable,
  query: Static<typeof feedQuery>,
): Promise<Feed | { fault: string }> {
  const since = query.since === undefined ? undefined : instantOf(query.since)
  if (since === null) return { fault: noTimeMessage }
  const begin = since === undefined ? 0 : await findPositionBefore(db, since)
  const after = Number(query.after ?? begin)
  const limit = Number(query.limit ?? feedLimitDefault)
  const types = query.types?.split(',')
  const readLimit = types === undefined ? limit : eventsReadMax
  const rows =
    types === undefined
      ? await findEventsAfter(db, { after, limit })
      : await findTypesAfter(db, { after, limit: readLimit, types })
  // Read after the events, so that a deletion between the two reads is noticed.
  const isContinued = query.after !== undefined && after > 0
  if (isContinued && after < (await findFeedFloor(db))) return { fault: deletedMessage }
  const events: unknown[] = []
  const positions: number[] = []
  let read = 0
  for (; read < rows.length && events.length < limit; read++) {
    const { body = null, position = 0 } = rows[read] ?? {}
    if (body === null) continue
    events.push(JSON.parse(body))
    positions.push(position)
  }
  return {
    schemaVersion: schemaVersion('webhook_events'),
    events,
    positions,
    next: String(rows[read - 1]?.position ?? after),
    hasMore: read < rows.length || rows.length === readLimit,
  }
}
