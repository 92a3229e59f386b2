/** Wire shapes of the routes by which a signed-in user manages webhook endpoints. */
import { Type } from 'typebox'
import { schemaVersionField } from '../../platform/http/fields.ts'
import { delivery, endpointIdPath } from '../endpoints/schema.ts'
import { eventTypeNames } from '../events/event-types.ts'
import { closed, eventId, oneOf, orNull, time, uuid } from '../events/fields.ts'

const prefixPattern = '^whsec_[A-Za-z0-9_-]{12}$'

export const deliveryPath = Type.Object({
  ...endpointIdPath.properties,
  deliveryId: Type.String({
    ...endpointIdPath.properties.endpointId,
    description: 'The id of a delivery attempt at the endpoint: a UUID.',
  }),
})

export const sentEventPath = Type.Object({
  ...endpointIdPath.properties,
  eventId: Type.String({
    pattern: '^evt_(test_)?[0-9a-f]{32}$',
    description: 'The id of an event that was sent to the endpoint.',
  }),
})

export const endpointState = Type.Object(
  {
    schemaVersion: schemaVersionField('webhook_endpoint_state'),
    endpointId: uuid('The id of the endpoint.'),
    pausedAt: orNull(time('Since when deliveries wait. Null while the endpoint is not paused.')),
    secretPrefix: Type.String({
      pattern: prefixPattern,
      description: 'The beginning of the secret that signs now.',
    }),
    nextSecretSignsFrom: orNull(
      time('When an announced secret begins to sign. Null if none is announced.'),
    ),
    previousSecretEndsAt: orNull(
      time('Until when the previous secret signs beside the new one. Null if it does not.'),
    ),
  },
  { title: 'WebhookEndpointState', ...closed },
)

export const replacementRequest = Type.Object(
  {
    secretPrefix: Type.String({
      pattern: prefixPattern,
      description: 'must be the `secretPrefix` of the endpoint, 18 characters',
    }),
  },
  { title: 'WebhookSecretReplacementRequest', ...closed },
)

/** Body of a change that needs no more than its path. */
export const emptyRequest = Type.Object({}, { title: 'WebhookChangeRequest', ...closed })

export const newSecret = Type.Object(
  {
    schemaVersion: schemaVersionField('webhook_secret'),
    endpointId: uuid('The id of the endpoint.'),
    signingSecret: Type.String({
      pattern: '^whsec_[A-Za-z0-9_-]{43}$',
      description: 'Keep it: it is not shown again.',
    }),
    signsFrom: time('When it begins to sign.'),
  },
  { title: 'WebhookSecret', ...closed },
)

export const resendQueued = Type.Object(
  {
    schemaVersion: schemaVersionField('webhook_resend'),
    eventId: eventId('The id of the event that is sent again.'),
    endpointId: uuid('The id of the endpoint.'),
    queuedAt: time('When the delivery was queued.'),
  },
  { title: 'WebhookResend', ...closed },
)

export const sentEvent = Type.Object(
  {
    schemaVersion: schemaVersionField('webhook_sent_event'),
    endpointId: uuid('The id of the endpoint.'),
    eventId: eventId('The id of the event.'),
    eventType: oneOf(eventTypeNames, 'The type of the event.'),
    createdAt: time('When the event happened.'),
    status: oneOf(
      ['pending', 'sending', 'succeeded', 'exhausted', 'cancelled'],
      'The status of the latest delivery. `exhausted`: every attempt failed.',
    ),
    payload: Type.String({ description: 'The body as it is signed and sent.' }),
    deliveries: Type.Array(delivery, {
      maxItems: 50,
      description: 'The attempts; the newest comes first.',
    }),
  },
  { title: 'WebhookSentEvent', ...closed },
)
