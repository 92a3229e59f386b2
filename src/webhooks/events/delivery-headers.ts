/** Pure: the headers of every delivery (spec §6), for the contract; an example fits the example of its event. */
import { webhookHeader } from '../../platform/http/identifiers.ts'
import { eventTypeNames } from './event-types.ts'

export const deliveryHeaders = [
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
      'When this attempt was signed: Unix time in seconds. Refuse what is more than 300 seconds from now.',
    schema: { type: 'string', pattern: '^\\d+$' },
  },
  {
    name: webhookHeader('Signature'),
    description:
      'HMAC with SHA-256 in hex, keyed by the signing secret of the endpoint, over the timestamp, a dot and the body as received. Compare it in constant time before the body is used.',
    schema: { type: 'string', pattern: '^t=\\d+,v1=[0-9a-f]{64}$' },
  },
] as const
