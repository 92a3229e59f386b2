/** Pure: the event types as others publish them: the contract, and one JSON Schema file each. */
import { sha256 } from '../../platform/crypto/bytes.ts'
import { deliveryHeaders } from './delivery-headers.ts'
import { envelopeText, eventId } from './envelope.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { envelopeOf } from './schema.ts'

/** What the contract says of each type: the body is `schema`, sent with `headers`. */
export const webhookDeclarations = eventTypeNames.map((name) => {
  const { title, meaning, data } = eventTypes[name]
  return {
    name,
    operationId: `receive${title}`,
    summary: meaning,
    schema: envelopeOf(name, `${title}Event`, data),
    example: exampleEnvelope(name),
    headers: deliveryHeaders,
  }
})

function exampleEnvelope(type: EventType): unknown {
  const at = new Date('2026-05-14T09:00:00Z')
  const id = eventId(at, sha256(type))
  return JSON.parse(envelopeText({ id, type, data: eventTypes[type].example }, at))
}

/** The JSON Schema of a type's data, to be kept by whoever receives it. */
export function dataSchema(type: EventType): object {
  const { meaning, data, example } = eventTypes[type]
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...data,
    title: type,
    description: meaning,
    examples: [example],
  }
}
