/** Pure: wire shapes of webhook events, and an event in the bytes that are sent. */
import { type Static, type TSchema, Type } from 'typebox'
import { schemaVersionField } from '../../edge/http/fields.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { wireTime } from '../../platform/clock.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { eventIdField, time } from './fields.ts'

/** Returns the shape of the envelope around the data of one type. */
export function envelopeOf<Data extends TSchema>(type: string, title: string, data: Data) {
  return closedObject(
    {
      schemaVersion: schemaVersionField('webhook_event'),
      id: eventIdField('Names the event. Opaque; the same at every delivery of this event.'),
      type: Type.Literal(type, { description: 'The type of the event.' }),
      createdAt: time('When it happened.'),
      data,
    },
    { title, description: 'An event: what is sent to endpoints, and listed in the feed.' },
  )
}

type Envelope = Omit<Static<ReturnType<typeof envelopeOf>>, 'data'> & { data: object }

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

interface EnvelopeContent {
  id: string
  type: EventType
  data: object
}

/**
 * Returns the text whose UTF-8 bytes are signed and sent: the canonical JSON of RFC 8785, which is
 * `{"createdAt":…,"data":{…},"id":…,"schemaVersion":…,"type":…}` without white space, with the
 * members of `data` in alphabetical order. It is made once, when the event is written, and is the
 * same at every attempt to every endpoint. `at` is truncated to the second.
 */
export function envelopeText({ id, type, data }: EnvelopeContent, at: Date): string {
  const envelope: Envelope = {
    schemaVersion: schemaVersion('webhook_event'),
    id,
    type,
    createdAt: wireTime(at),
    data,
  }
  return canonicalJson(envelope)
}

/** Random bytes of one id. */
export const eventIdRandomBytes = 10

/**
 * Returns `evt_` and a version 7 UUID (RFC 9562) in hex: the time in milliseconds, then 74 random
 * bits. Receivers treat the id as opaque.
 */
export function eventId(at: Date, random: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at.getTime(), 0, 6)
  bytes.set(random.subarray(0, eventIdRandomBytes), 6)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return `evt_${bytes.toString('hex')}`
}

/** Returns the body of an event as it is sent, with the example of its type as data. */
export function exampleEnvelope(type: EventType): unknown {
  const at = new Date('2026-05-14T09:00:00Z')
  const id = eventId(at, sha256(type))
  return JSON.parse(envelopeText({ id, type, data: eventTypes[type].example }, at))
}
