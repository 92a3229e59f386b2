/** Wire shapes of webhook events. */
import { type Static, type TSchema, Type } from 'typebox'
import { schemaVersionField } from '../../edge/http/fields.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { eventTypeNames, eventTypes } from './event-types.ts'
import { eventId, time } from './fields.ts'

/** Returns the shape of the envelope around the data of one type. */
export function envelopeOf<Data extends TSchema>(type: string, title: string, data: Data) {
  return closedObject(
    {
      schemaVersion: schemaVersionField('webhook_event'),
      id: eventId('Names the event. Opaque; the same at every delivery of this event.'),
      type: Type.Literal(type, { description: 'The type of the event.' }),
      createdAt: time('When it happened.'),
      data,
    },
    { title, description: 'An event: what is sent to endpoints, and listed in the feed.' },
  )
}

export type Envelope = Omit<Static<ReturnType<typeof envelopeOf>>, 'data'> & { data: object }

export const feedLimitDefault = 50

const typeName = `(${eventTypeNames.map((name) => name.replace('.', '\\.')).join('|')})`

export const feedQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      pattern: '^(0|[1-9][0-9]{0,14})$',
      description:
        'The `next` of the previous answer. By default the feed begins with the oldest event.',
    }),
  ),
  since: Type.Optional(
    Type.String({
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?Z$',
      description:
        'Without `after`: a time in UTC, such as 2026-05-14T09:00:00Z. The feed begins with the events since then; a few older ones can come first.',
    }),
  ),
  types: Type.Optional(
    Type.String({
      pattern: `^${typeName}(,${typeName})*$`,
      description: `Event types, separated by commas; by default all: ${eventTypeNames.join(', ')}.`,
    }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]?|100)$',
      description: `Maximum number of events, 1 to 100, default ${feedLimitDefault}.`,
    }),
  ),
})

export const eventFeed = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_events'),
    events: Type.Array(
      Type.Union(
        eventTypeNames.map((name) => {
          const { title, data } = eventTypes[name]
          return envelopeOf(name, `${title}Event`, data)
        }),
      ),
      { maxItems: 100, description: 'The oldest event comes first.' },
    ),
    positions: Type.Array(Type.Integer({ minimum: 1 }), {
      maxItems: 100,
      description:
        'The position of each event, which deliveries call `Service-Webhook-Sequence`. As text, it is the `after` that continues behind the event.',
    }),
    next: Type.String({
      maxLength: 64,
      description: 'Opaque. The value of `after` for the next call, at any time.',
    }),
    hasMore: Type.Boolean({ description: 'Whether more events may be available now.' }),
  },
  { title: 'WebhookEventFeed' },
)
