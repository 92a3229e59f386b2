/** The endpoints of webhooks: for API keys, and for signed-in users. */
import {
  type BodyDeclaration,
  type Contract,
  keyedBodyErrors,
  sessionBodyResponses,
  sessionResponses,
  smallJsonBody,
} from '../../edge/http/contract.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { eventFeed, exampleEnvelope, feedQuery } from '../events/schema.ts'
import {
  createRequest,
  deliveriesQuery,
  deliveryList,
  endpointIdPath,
  testQueued,
  testRequest,
  webhookEndpointChanged,
  webhookEndpointCreated,
  webhookEndpointList,
} from './schema.ts'

const secret = 'whsec_2vJ8qXe0dN5tYbR1kLmC7aZs4GhWfPuD9oViT3xEy6Q'

const exampleRequest = {
  url: 'https://hooks.example.com/assay',
  events: ['score.updated', 'score.revised'],
  description: 'Scores to payroll',
}

const endpoint = {
  schemaVersion: schemaVersion('webhook_endpoint'),
  id: '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f',
  userId: '5a1c2d3e-0f1a-4b2c-8d3e-4f5a6b7c8d9e',
  url: exampleRequest.url,
  description: exampleRequest.description,
  eventTypes: exampleRequest.events,
  secretPrefix: secret.slice(0, 18),
  createdAt: '2026-05-14T09:00:00Z',
  updatedAt: '2026-05-14T09:00:00Z',
  disabledAt: null,
}

const exampleList = {
  schemaVersion: schemaVersion('webhook_endpoints'),
  endpoints: [endpoint],
}

const exampleCreated = {
  schemaVersion: schemaVersion('webhook_endpoint_create'),
  endpoint,
  signingSecret: secret,
}

const exampleDisabled = { endpoint: { ...endpoint, disabledAt: '2026-05-15T09:00:00Z' } }

const exampleFeed = {
  schemaVersion: schemaVersion('webhook_events'),
  events: [exampleEnvelope('score.updated')],
  positions: [1],
  next: '1',
  hasMore: false,
}

const exampleTest = {
  schemaVersion: schemaVersion('webhook_test'),
  eventId: 'evt_test_019e25b6d9d870008000000000000001',
  eventType: 'score.updated',
  endpointId: endpoint.id,
  queuedAt: '2026-05-14T09:00:00Z',
}

const exampleDeliveries = {
  schemaVersion: schemaVersion('webhook_deliveries'),
  deliveries: [
    {
      id: '019e25b6-d9d8-7000-8000-000000000002',
      eventId: 'evt_019e25b6d9d870008000000000000001',
      eventType: 'score.updated',
      attempt: 1,
      trigger: 'event',
      status: 'failed',
      requestedAt: '2026-05-14T09:00:01Z',
      durationMs: 212,
      responseStatus: 503,
      responseBody: 'maintenance',
      errorCode: 'http_status',
      errorCause: null,
      requestId: null,
      nextAttemptAt: '2026-05-14T09:00:06Z',
    },
  ],
}

const endpointsPath = '/api/v1/webhooks/endpoints'
const accountPath = '/api/account/webhooks/endpoints'

const keyed = {
  area: 'webhooks',
  policy: { kind: 'keyed', scope: 'webhooks:write', limits: 'keyLimits' },
  priority: 'write',
} as const
const session = { area: 'webhooks', policy: { kind: 'session' }, priority: 'search' } as const

const keyedResponses = {
  401: { description: 'There is no API key, or it is not valid.' },
  403: {
    description: 'The API key lacks the scope webhooks:write.',
    errors: ['insufficient_scope', 'test_key'],
  },
  429: { description: 'Too many calls; retry after Retry-After seconds.' },
  500: { description: 'Unexpected error; nothing was changed.' },
  503: {
    description: 'Keys or the database are not available.',
    errors: ['overloaded', 'unavailable'],
  },
} as const

const notFoundResponse = {
  description: 'The account has no such endpoint.',
  errors: ['webhook_endpoint_not_found'],
} as const

const listedResponse = {
  description: 'The endpoints, the oldest first.',
  schema: webhookEndpointList,
  example: exampleList,
}

const createBody = {
  ...smallJsonBody,
  schema: createRequest,
  examples: { endpoint: exampleRequest },
} satisfies BodyDeclaration

/** The responses of a creation, in addition to those of the caller's kind. */
const createdResponses = {
  201: {
    description: 'The endpoint and its secret.',
    schema: webhookEndpointCreated,
    example: exampleCreated,
  },
  400: {
    description: 'The URL, events, description, JSON or Idempotency-Key is not valid.',
    errors: [
      'unsupported_version',
      'invalid_parameter',
      'invalid_idempotency_key',
      'invalid_json',
      'invalid_field',
    ],
  },
  409: {
    description: 'The account has its maximum of active endpoints, or the key was used.',
    errors: ['webhook_endpoints_maximum', 'idempotency_key_reused'],
  },
  503: {
    description: 'Webhooks, the database, or the check of the caller are not available.',
    errors: ['overloaded', 'unavailable', 'webhooks_not_configured'],
  },
} as const

export const webhookContract = {
  listWebhookEndpoints: {
    ...keyed,
    method: 'GET',
    path: endpointsPath,
    summary: 'List the active webhook endpoints of the account',
    description: 'Disabled endpoints are not listed. No answer has a signing secret.',
    responses: {
      200: listedResponse,
      ...keyedResponses,
      400: { description: 'The version is not supported, or a parameter is not valid.' },
    },
  },
  createWebhookEndpoint: {
    ...keyed,
    method: 'POST',
    path: endpointsPath,
    summary: 'Create a webhook endpoint',
    description:
      'Only this answer contains the signing secret. A repeat with the same Idempotency-Key and content returns the same endpoint and secret, also if the endpoint was disabled later, and also at the maximum.',
    idempotencyKey: 'required',
    body: createBody,
    responses: {
      ...keyedResponses,
      ...createdResponses,
      400: {
        description:
          'The URL, events, description, JSON, its media type, its size or the Idempotency-Key is not valid.',
        errors: keyedBodyErrors,
      },
    },
  },
  disableWebhookEndpoint: {
    ...keyed,
    method: 'DELETE',
    path: `${endpointsPath}/{endpointId}`,
    summary: 'Disable a webhook endpoint',
    description:
      'After the answer no delivery starts; a delivery that had started ends within 15 seconds. An endpoint that is disabled already is returned unchanged.',
    pathParameters: endpointIdPath,
    responses: {
      200: {
        description: 'The endpoint, disabled.',
        schema: webhookEndpointChanged,
        example: exampleDisabled,
      },
      ...keyedResponses,
      400: { description: 'The id is no UUID, or the version is not supported.' },
      404: notFoundResponse,
    },
  },
  listWebhookEvents: {
    ...keyed,
    method: 'GET',
    path: '/api/v1/webhooks/events',
    summary: 'List events, without an endpoint',
    description:
      'Returns the same envelopes that endpoints receive; a cause comes before its effect. Call again with `after` set to `next`. While events are kept, none is missed or repeated.',
    extension: true,
    queryParameters: feedQuery,
    responses: {
      200: { description: 'The events.', schema: eventFeed, example: exampleFeed },
      ...keyedResponses,
      400: {
        description:
          'The version is not supported, a parameter is not valid, or events after `after` were deleted for their age.',
      },
    },
  },
  listAccountWebhookEndpoints: {
    ...session,
    method: 'GET',
    path: accountPath,
    summary: 'List the active webhook endpoints of the account',
    description: 'Disabled endpoints are not listed. No answer has a signing secret.',
    responses: { 200: listedResponse, ...sessionResponses },
  },
  createAccountWebhookEndpoint: {
    ...session,
    method: 'POST',
    path: accountPath,
    summary: 'Create a webhook endpoint',
    description:
      'Only this answer contains the signing secret. createWebhookEndpoint shares the Idempotency-Keys of the account.',
    idempotencyKey: 'optional',
    body: createBody,
    responses: { ...sessionBodyResponses(smallJsonBody.bytesMax), ...createdResponses },
  },
  sendTestEvent: {
    ...session,
    method: 'POST',
    path: `${accountPath}/{endpointId}/test`,
    summary: 'Queue a test event for a webhook endpoint',
    description:
      'The event has fictional data and is sent once, also if the endpoint does not subscribe to its type. The limit is one test event a minute for each endpoint.',
    pathParameters: endpointIdPath,
    body: {
      ...smallJsonBody,
      schema: testRequest,
      examples: { event: { eventType: 'score.updated' } },
    },
    responses: {
      202: { description: 'The event is queued.', schema: testQueued, example: exampleTest },
      ...sessionBodyResponses(smallJsonBody.bytesMax),
      404: notFoundResponse,
      409: { description: 'The endpoint is disabled.', errors: ['webhook_endpoint_disabled'] },
      429: {
        description:
          'The endpoint had a test event less than a minute ago, or the session makes too many calls; retry after Retry-After seconds.',
      },
    },
  },
  listWebhookDeliveries: {
    ...session,
    method: 'GET',
    path: `${accountPath}/{endpointId}/deliveries`,
    summary: 'List the last delivery attempts at a webhook endpoint',
    description: 'The newest attempt comes first. A disabled endpoint keeps its attempts.',
    pathParameters: endpointIdPath,
    queryParameters: deliveriesQuery,
    responses: {
      200: {
        description: 'The attempts, newest first.',
        schema: deliveryList,
        example: exampleDeliveries,
      },
      ...sessionResponses,
      404: notFoundResponse,
    },
  },
} satisfies Contract
