/** Wire shapes of webhook endpoints (spec §2.2). */
import { type Static, Type } from 'typebox'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { type EventType, eventTypeNames } from '../events/event-types.ts'
import { closed, oneOf, orNull, time, uuid } from '../events/schema.ts'

export const urlLengthMax = 2_048
const descriptionLengthMax = 120
export const urlForm = `must be an https URL of a public host, at most ${urlLengthMax} characters`

const eventTypeList = {
  minItems: 1,
  maxItems: eventTypeNames.length,
  uniqueItems: true,
} as const

/** Each `description` that begins with "must" is also what a caller is told. */
export const createRequest = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      pattern: '^https://',
      maxLength: urlLengthMax,
      description: urlForm,
    }),
    events: Type.Array(Type.Enum([...eventTypeNames], { type: 'string' }), {
      ...eventTypeList,
      description: `must be 1 to ${eventTypeNames.length} event types, each once`,
    }),
    description: Type.Optional(
      Type.String({
        maxLength: descriptionLengthMax,
        description: `must be text of at most ${descriptionLengthMax} characters`,
      }),
    ),
  },
  closed,
)

const webhookEndpoint = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('webhook_endpoint')),
    id: uuid('Of the endpoint.'),
    userId: uuid('The account that owns it.'),
    url: Type.String({ format: 'uri', description: 'Where events are sent.' }),
    description: orNull(Type.String({ maxLength: descriptionLengthMax })),
    eventTypes: Type.Array(oneOf(eventTypeNames, 'A type it is subscribed to.'), eventTypeList),
    secretPrefix: Type.String({
      pattern: '^whsec_[A-Za-z0-9_-]{12}$',
      description: 'The beginning of the signing secret.',
    }),
    createdAt: time('Of its creation.'),
    updatedAt: time('Of its last change.'),
    disabledAt: orNull(time('Since when nothing is sent to it.')),
  },
  { title: 'WebhookEndpoint', ...closed },
)
export type WebhookEndpoint = Static<typeof webhookEndpoint>

export const webhookEndpointList = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('webhook_endpoints')),
    endpoints: Type.Array(webhookEndpoint),
  },
  { title: 'WebhookEndpointList', ...closed },
)

export const webhookEndpointCreated = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('webhook_endpoint_create')),
    endpoint: webhookEndpoint,
    signingSecret: Type.String({
      pattern: '^whsec_[A-Za-z0-9_-]{43}$',
      description: 'Signs every delivery. Keep it: it is not shown again.',
    }),
  },
  { title: 'WebhookEndpointCreated', ...closed },
)

export const webhookEndpointChanged = Type.Object(
  { endpoint: webhookEndpoint },
  { title: 'WebhookEndpointChanged', ...closed },
)

/** What a creation asks for, in its one form. */
export interface EndpointRequest {
  url: string
  /** In the order of the specification. */
  eventTypes: EventType[]
  description: string | null
}
