/** Pure: examples for the contract. */
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { webhookDeclarations } from './declarations.ts'

const secret = 'whsec_2vJ8qXe0dN5tYbR1kLmC7aZs4GhWfPuD9oViT3xEy6Q'

export const exampleRequest = {
  url: 'https://hooks.example.com/assay',
  events: ['score.updated', 'score.revised'],
  description: 'Scores to payroll',
}

export const exampleEndpoint = {
  schemaVersion: schemaVersion('webhook_endpoint'),
  id: '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f',
  userId: '5a1c2d3e-0f1a-4b2c-8d3e-4f5a6b7c8d9e',
  url: exampleRequest.url,
  description: exampleRequest.description,
  eventTypes: ['score.updated' as const, 'score.revised' as const],
  secretPrefix: secret.slice(0, 18),
  createdAt: '2026-05-14T09:00:00Z',
  updatedAt: '2026-05-14T09:00:00Z',
  disabledAt: null,
}

export const exampleCreated = {
  schemaVersion: schemaVersion('webhook_endpoint_create'),
  endpoint: exampleEndpoint,
  signingSecret: secret,
}

export const exampleFeed = {
  schemaVersion: schemaVersion('webhook_events'),
  events: webhookDeclarations.slice(0, 1).map(({ example }) => example),
  next: '1',
  hasMore: false,
}
