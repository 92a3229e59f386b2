/** Wire shapes of webhook endpoints. */
import { type Static, Type } from 'typebox'
import { schemaVersionField, textOrNull, total, uuidParameter } from '../../edge/http/fields.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { limitParameter } from '../../edge/http/page.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { type Stored, wireObject } from '../../platform/json/wire-object.ts'
import { attemptResults, triggers } from '../delivery/outcome.ts'
import { type EventType, eventTypeNames } from '../events/event-types.ts'
import { eventIdField, oneOf, orNull, time, uuid } from '../events/fields.ts'

export const urlLengthMax = 2_048
const descriptionLengthMax = 120
export const descriptionForm = {
  maxLength: descriptionLengthMax,
  description: `must be text of at most ${descriptionLengthMax} characters`,
} as const
export const urlForm = `must be an https URL of a public host, at most ${urlLengthMax} characters`

const eventTypeForm = {
  minItems: 1,
  maxItems: eventTypeNames.length,
  uniqueItems: true,
} as const

export const eventTypeList = {
  ...eventTypeForm,
  description: `must be 1 to ${eventTypeNames.length} event types, each once`,
} as const

/** Either case of a UUID names the same endpoint. */
export const endpointIdPath = Type.Object({
  endpointId: uuidParameter('The id of an endpoint of the account: a UUID.'),
})

export const deliveriesQuery = Type.Object({ limit: limitParameter })

/** A `description` that begins with "must" is also part of the message to the caller. */
export const createRequest = closedObject(
  {
    url: Type.String({
      format: 'uri',
      pattern: '^https://',
      maxLength: urlLengthMax,
      description: urlForm,
    }),
    events: Type.Array(Type.Enum([...eventTypeNames], { type: 'string' }), eventTypeList),
    description: Type.Optional(Type.String(descriptionForm)),
  },
  { title: 'WebhookEndpointRequest' },
)

export const webhookEndpoint = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_endpoint'),
    id: uuid('The id of the endpoint.'),
    userId: uuid('The account that owns it.'),
    url: Type.String({ format: 'uri', description: 'Events are sent to this URL.' }),
    description: textOrNull(descriptionLengthMax, 'Your description. Null if there is none.'),
    eventTypes: Type.Array(oneOf(eventTypeNames, 'A type it is subscribed to.'), {
      ...eventTypeForm,
      description: 'The types that it is subscribed to.',
    }),
    secretPrefix: Type.String({
      pattern: '^whsec_[A-Za-z0-9_-]{12}$',
      description: 'The beginning of the signing secret.',
    }),
    createdAt: time('The time of its creation.'),
    updatedAt: time('The time of its last change.'),
    disabledAt: orNull(time('Since when nothing is sent to it. Null while it is active.')),
  },
  { title: 'WebhookEndpoint', description: 'A receiver of events.' },
)
export type WebhookEndpoint = Static<typeof webhookEndpoint>

export function wireEndpoint(row: Stored<Omit<WebhookEndpoint, 'schemaVersion'>>): WebhookEndpoint {
  return wireObject(webhookEndpoint, { ...row, schemaVersion: schemaVersion('webhook_endpoint') })
}

export const webhookEndpointList = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_endpoints'),
    endpoints: Type.Array(webhookEndpoint, { description: 'The active endpoints.' }),
  },
  { title: 'WebhookEndpointList' },
)

export const webhookEndpointCreated = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_endpoint_create'),
    endpoint: webhookEndpoint,
    signingSecret: Type.String({
      pattern: '^whsec_[A-Za-z0-9_-]{43}$',
      description: 'Signs every delivery. Keep it: it is not shown again.',
    }),
  },
  { title: 'WebhookEndpointCreated' },
)

export const webhookEndpointChanged = closedObject(
  { endpoint: webhookEndpoint },
  { title: 'WebhookEndpointChanged' },
)

export const testRequest = closedObject(
  {
    eventType: Type.Enum([...eventTypeNames], {
      type: 'string',
      description: `must be one of ${eventTypeNames.join(', ')}`,
    }),
  },
  { title: 'WebhookTestRequest' },
)

export const testQueued = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_test'),
    eventId: eventIdField('The id of the test event. It begins with `evt_test_`.'),
    eventType: oneOf(eventTypeNames, 'The requested type.'),
    endpointId: uuid('The id of the endpoint.'),
    queuedAt: time('When the event was queued.'),
  },
  { title: 'WebhookTestQueued' },
)

export const delivery = closedObject(
  {
    id: uuid('The id of the attempt, which is a header of its request.'),
    eventId: eventIdField('The id of the event.'),
    eventType: oneOf(eventTypeNames, 'The type of the event.'),
    attempt: Type.Integer({ minimum: 1, description: 'The first attempt is 1.' }),
    trigger: oneOf(
      triggers,
      'The cause of the delivery: the event itself, a resend (`manual`), a replay of missed events (`recovery`), or a test.',
    ),
    status: oneOf(attemptResults, '`interrupted`: the attempt is made again.'),
    requestedAt: time('When the attempt began.'),
    durationMs: orNull(total('Milliseconds of the attempt. Null if it was not finished.')),
    responseStatus: orNull(
      Type.Integer({ description: 'The HTTP status of the receiver. Null without a response.' }),
    ),
    responseBody: textOrNull(
      2_048,
      'The first 2 KiB of the response that arrived within a second. Null if none did.',
    ),
    errorCode: textOrNull(64, 'Why the attempt failed. Null if it succeeded.'),
    errorCause: textOrNull(
      128,
      'The cause of `tls_error` or `dns_error` in words, such as `certificate has expired`. Null if none is known.',
    ),
    requestId: textOrNull(
      64,
      'The `X-Request-Id` of the response to the call that caused the delivery, such as a test or a resend. Null if no call did.',
    ),
    nextAttemptAt: orNull(time('When the next attempt follows. Null once the delivery has ended.')),
  },
  { title: 'WebhookDelivery', description: 'One attempt to deliver an event.' },
)

export const deliveryList = closedObject(
  {
    schemaVersion: schemaVersionField('webhook_deliveries'),
    deliveries: Type.Array(delivery, {
      maxItems: 100,
      description: 'The newest attempt comes first.',
    }),
  },
  { title: 'WebhookDeliveryList' },
)

/** A request to create an endpoint, normalised. */
export interface EndpointRequest {
  url: string
  /** In the order of the specification. */
  eventTypes: EventType[]
  description: string | null
}
