/** The routes by which a signed-in user manages webhook endpoints of an account. */
import {
  type BodyDeclaration,
  type Contract,
  crossOriginResponse,
  sessionBodyResponses,
  sessionResponses,
  smallJsonBody,
} from '../../platform/http/contract.ts'
import { exampleDisabled } from '../endpoints/examples.ts'
import { endpointIdPath, webhookEndpointChanged } from '../endpoints/schema.ts'
import {
  exampleReplacement,
  exampleResend,
  exampleSecret,
  exampleSentEvent,
  exampleState,
} from './examples.ts'
import {
  deliveryPath,
  emptyRequest,
  endpointState,
  newSecret,
  replacementRequest,
  resendQueued,
  sentEvent,
  sentEventPath,
} from './schema.ts'

const path = '/api/account/webhooks/endpoints/{endpointId}'

const shared = {
  area: 'webhooks',
  extension: true,
  policy: { kind: 'session' },
  priority: 'search',
} as const

const change = {
  ...shared,
  method: 'POST',
  pathParameters: endpointIdPath,
  body: {
    ...smallJsonBody,
    schema: emptyRequest,
    examples: { change: {} },
  } satisfies BodyDeclaration,
} as const

const unknownEndpoint = {
  description: 'The account has no such endpoint.',
  errors: ['webhook_endpoint_not_found'],
} as const

const changeResponses = {
  ...sessionBodyResponses(smallJsonBody.bytesMax),
  404: unknownEndpoint,
} as const

const disabledResponse = {
  description: 'The endpoint is disabled.',
  errors: ['webhook_endpoint_disabled'],
} as const

const stateResponse = {
  description: 'The state of the endpoint now.',
  schema: endpointState,
  example: exampleState,
} as const

const secretResponse = {
  description: 'The new secret.',
  schema: newSecret,
  example: exampleSecret,
} as const

const unconfiguredResponse = {
  description: 'Webhook secrets, sessions or the database are not available.',
  errors: ['overloaded', 'unavailable', 'webhooks_not_configured'],
} as const

export const accountWebhookContract = {
  disableAccountWebhookEndpoint: {
    ...shared,
    method: 'DELETE',
    path,
    pathParameters: endpointIdPath,
    summary: 'Disable a webhook endpoint',
    description:
      'After the answer no delivery starts. An endpoint that is disabled already is returned unchanged.',
    responses: {
      200: {
        description: 'The endpoint, disabled.',
        schema: webhookEndpointChanged,
        example: exampleDisabled,
      },
      ...sessionResponses,
      403: crossOriginResponse,
      404: unknownEndpoint,
    },
  },
  pauseWebhookEndpoint: {
    ...change,
    path: `${path}/pause`,
    summary: 'Pause a webhook endpoint',
    description: 'Events wait until the endpoint is resumed. A paused endpoint stays as it is.',
    responses: {
      200: { ...stateResponse, example: { ...exampleState, pausedAt: '2026-05-14T10:00:00Z' } },
      ...changeResponses,
      409: disabledResponse,
    },
  },
  resumeWebhookEndpoint: {
    ...change,
    path: `${path}/resume`,
    summary: 'Resume a paused webhook endpoint',
    description: 'The events that waited are sent now.',
    responses: { 200: stateResponse, ...changeResponses, 409: disabledResponse },
  },
  rotateWebhookSecret: {
    ...change,
    path: `${path}/rotate-secret`,
    summary: 'Announce a new signing secret',
    description:
      'The old secret signs for 24 hours more, or until `activate-secret`. Meanwhile each delivery has a second signature with the new one.',
    responses: {
      201: secretResponse,
      ...changeResponses,
      409: {
        description: 'The endpoint is disabled, or a rotation is under way.',
        errors: ['webhook_endpoint_disabled', 'webhook_secret_rotating'],
      },
      503: unconfiguredResponse,
    },
  },
  activateWebhookSecret: {
    ...change,
    path: `${path}/activate-secret`,
    summary: 'Let the announced signing secret sign now',
    description: 'The old secret signs beside it for 24 hours.',
    responses: {
      200: stateResponse,
      ...changeResponses,
      409: {
        description: 'No secret is announced.',
        errors: ['webhook_secret_not_announced'],
      },
    },
  },
  replaceWebhookSecretNow: {
    ...change,
    path: `${path}/replace-secret-now`,
    summary: 'Replace a leaked signing secret',
    description:
      'Every older secret signs nothing after the answer. `secretPrefix` names the secret to replace, so that a repeat replaces nothing.',
    body: {
      ...smallJsonBody,
      schema: replacementRequest,
      examples: { secret: exampleReplacement },
    },
    responses: {
      201: secretResponse,
      ...changeResponses,
      409: {
        description: 'Another secret signs: the named one was replaced or rotated before.',
        errors: ['webhook_secret_changed'],
      },
      503: unconfiguredResponse,
    },
  },
  resendWebhookDelivery: {
    ...change,
    path: `${path}/deliveries/{deliveryId}/resend`,
    pathParameters: deliveryPath,
    summary: 'Send the event of a delivery once more',
    description: 'Test events are not sent again.',
    responses: {
      202: {
        description: 'The delivery is queued.',
        schema: resendQueued,
        example: exampleResend,
      },
      ...changeResponses,
      404: {
        description: 'The account has no such delivery, or its event may not be sent any more.',
        errors: ['webhook_delivery_not_found'],
      },
      409: disabledResponse,
    },
  },
  getWebhookSentEvent: {
    ...shared,
    method: 'GET',
    path: `${path}/events/{eventId}`,
    pathParameters: sentEventPath,
    summary: 'Show an event that was sent to a webhook endpoint',
    description:
      'Returns the body as it is signed and sent, with the delivery attempts at this endpoint.',
    responses: {
      200: {
        description: 'The payload, and its last 50 delivery attempts, newest first.',
        schema: sentEvent,
        example: exampleSentEvent,
      },
      ...sessionResponses,
      404: {
        description: 'The endpoint was sent no such event, or the event is no longer kept.',
        errors: ['webhook_event_not_found'],
      },
    },
  },
} as const satisfies Contract
