/** Pure: examples for the contract. */
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { exampleCreated, exampleDeliveries } from '../endpoints/examples.ts'
import { exampleEnvelope } from '../events/examples.ts'

const { endpoint, signingSecret } = exampleCreated
const endpointId = endpoint.id
const eventId = 'evt_019e25b6d9d870008000000000000001'

export const exampleState = {
  schemaVersion: schemaVersion('webhook_endpoint_state'),
  endpointId,
  pausedAt: null,
  secretPrefix: endpoint.secretPrefix,
  nextSecretSignsFrom: null,
  previousSecretEndsAt: null,
}

export const exampleReplacement = { secretPrefix: endpoint.secretPrefix }

export const exampleSecret = {
  schemaVersion: schemaVersion('webhook_secret'),
  endpointId,
  signingSecret,
  signsFrom: '2026-05-15T09:00:00Z',
}

export const exampleResend = {
  schemaVersion: schemaVersion('webhook_resend'),
  eventId,
  endpointId,
  queuedAt: '2026-05-14T09:00:00Z',
}

export const exampleSentEvent = {
  schemaVersion: schemaVersion('webhook_sent_event'),
  endpointId,
  eventId,
  eventType: 'score.updated',
  createdAt: '2026-05-14T09:00:00Z',
  status: 'pending',
  payload: JSON.stringify(exampleEnvelope('score.updated')),
  deliveries: exampleDeliveries.deliveries,
}
