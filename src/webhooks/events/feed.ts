/**
 * The feed: events in the order of their positions. A position is given after the commit, and nothing appears below one that was seen
 * (place.ts), so a reader that goes on where it stopped misses nothing and reads nothing twice.
 */
import { type Static, Type } from 'typebox'
import type { Queryable } from '../../platform/db/db.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { eventTypeNames, eventTypes } from './event-types.ts'
import { closed, envelopeOf } from './schema.ts'
import { findEventsAfter, findFeedFloor, findTypesAfter } from './store.ts'

const limitUnlessGiven = 50
/** Events looked at for one answer, however few of them were asked for. */
const lookedAtMax = 1_000

const typeName = `(${eventTypeNames.map((name) => name.replace('.', '\\.')).join('|')})`

export const feedQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      pattern: '^(0|[1-9][0-9]{0,14})$',
      description: 'The `next` of the answer before; from the oldest event on without it.',
    }),
  ),
  types: Type.Optional(
    Type.String({
      pattern: `^${typeName}(,${typeName})*$`,
      description: `Event types, separated by commas; all without it: ${eventTypeNames.join(', ')}.`,
    }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]?|100)$',
      description: `At most so many events, 1 to 100; ${limitUnlessGiven} without it.`,
    }),
  ),
})

export const eventFeed = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('webhook_events')),
    events: Type.Array(
      Type.Union(
        eventTypeNames.map((name) => {
          const { title, data } = eventTypes[name]
          return envelopeOf(name, `${title}Event`, data)
        }),
      ),
    ),
    next: Type.String({ description: 'Opaque: the `after` to ask with next, at any time.' }),
    hasMore: Type.Boolean({ description: 'Whether asking again at once is worth it.' }),
  },
  { title: 'WebhookEventFeed', ...closed },
)

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
  const limit = Number(query.limit ?? limitUnlessGiven)
  const types = query.types?.split(',')
  const lookAt = types === undefined ? limit : lookedAtMax
  const rows =
    types === undefined
      ? await findEventsAfter(db, { after, limit })
      : await findTypesAfter(db, { after, limit: lookAt, types })
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
    hasMore: seen < rows.length || rows.length === lookAt,
  }
}
