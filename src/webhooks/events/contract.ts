/**
 * The requests that the service sends: one for each event type, with its body and headers. Also the
 * published JSON Schema of each type's data.
 */
import { webhookHeader } from '../../edge/http/identifiers.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { envelopeOf, exampleEnvelope } from './schema.ts'

const deliveryHeaders = [
  {
    name: webhookHeader('Id'),
    description: 'The id of the event, the same at every attempt: process each id once.',
    schema: { type: 'string' },
  },
  {
    name: webhookHeader('Event'),
    description: 'The type of the event.',
    schema: { type: 'string', enum: eventTypeNames },
  },
  {
    name: webhookHeader('Delivery'),
    description: 'The id of this attempt.',
    schema: { type: 'string' },
  },
  {
    name: webhookHeader('Timestamp'),
    description:
      'The time of the signature, in Unix seconds. Reject a request whose timestamp differs from the present time by more than 300 seconds.',
    schema: { type: 'string', pattern: '^\\d+$' },
  },
  {
    name: webhookHeader('Signature'),
    description:
      'HMAC with SHA-256 in hex, keyed by the signing secret of the endpoint, over the timestamp, a dot and the body as received. Compare it in constant time before the body is used.',
    schema: { type: 'string', pattern: '^t=\\d+,v1=[0-9a-f]{64}$' },
  },
] as const

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

/** Returns the JSON Schema of a type's data, for receivers to keep. */
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
