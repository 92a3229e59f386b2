/** Pure: examples for the contract. */
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { exampleEnvelope } from '../events/examples.ts'

const secret = 'whsec_2vJ8qXe0dN5tYbR1kLmC7aZs4GhWfPuD9oViT3xEy6Q'

export const exampleRequest = {
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

export const exampleList = {
  schemaVersion: schemaVersion('webhook_endpoints'),
  endpoints: [endpoint],
}

export const exampleCreated = {
  schemaVersion: schemaVersion('webhook_endpoint_create'),
  endpoint,
  signingSecret: secret,
}

export const exampleDisabled = { endpoint: { ...endpoint, disabledAt: '2026-05-15T09:00:00Z' } }

export const exampleFeed = {
  schemaVersion: schemaVersion('webhook_events'),
  events: [exampleEnvelope('score.updated')],
  positions: [1],
  next: '1',
  hasMore: false,
}

export const exampleTest = {
  schemaVersion: schemaVersion('webhook_test'),
  eventId: 'evt_test_019e25b6d9d870008000000000000001',
  eventType: 'score.updated',
  endpointId: endpoint.id,
  queuedAt: '2026-05-14T09:00:00Z',
}

export const exampleDeliveries = {
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
