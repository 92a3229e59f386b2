/** Wire shapes of webhook events. */
import { type Static, type TSchema, Type } from 'typebox'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { eventTypeNames, eventTypes } from './event-types.ts'
import { closed, time } from './fields.ts'

/** Returns the shape of the envelope around the data of one type. */
export function envelopeOf<Data extends TSchema>(type: string, title: string, data: Data) {
  return Type.Object(
    {
      schemaVersion: Type.Literal(schemaVersion('webhook_event')),
      id: Type.String({ description: 'Opaque; the same at every delivery of this event.' }),
      type: Type.Literal(type),
      createdAt: time('When it happened.'),
      data,
    },
    { title, ...closed },
  )
}

export type Envelope = Omit<Static<ReturnType<typeof envelopeOf>>, 'data'> & { data: object }

export const feedLimitDefault = 50

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
      description: `At most so many events, 1 to 100; ${feedLimitDefault} without it.`,
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
