/** The routes of webhook endpoints (spec §4.6), and the feed of events for whoever cannot be called. */
import { type Static, Type } from 'typebox'
import { type Clock, wireTime } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import type { EgressRules } from '../../platform/egress/rules.ts'
import type { Caller } from '../../platform/http/callers.ts'
import type {
  BodyDeclaration,
  RateLimits,
  ResponseDeclaration,
} from '../../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { untilNothingStarts } from '../delivery/start-window.ts'
import type { EventType } from '../events/event-types.ts'
import { exampleCreated, exampleEndpoint, exampleFeed, exampleRequest } from '../events/examples.ts'
import { eventFeed, feedQuery, readFeed } from '../events/feed.ts'
import { type Creation, createOrReplayEndpoint } from './create.ts'
import { disableEndpoint } from './disable.ts'
import { readEndpointRequest } from './request.ts'
import {
  createRequest,
  type WebhookEndpoint,
  webhookEndpointChanged,
  webhookEndpointCreated,
  webhookEndpointList,
} from './schema.ts'
import { type EndpointRow, findActiveIds, findEndpoints } from './store.ts'

export interface WebhooksOptions {
  db: Db
  clock: Clock
  /** Null: no secret can be sealed, so no endpoint be created. */
  ring: Keyring | null
  /** Which URLs may receive. */
  rules: EgressRules
  /** Active endpoints of one account. */
  activeMax: number
  /** Of each key. */
  limits: RateLimits
  /** Called when a repeated creation shows a secret once more. */
  onSecretShown: (endpointId: string) => void
}

export const endpointsPath = '/api/v1/webhooks/endpoints'
export const eventsPath = '/api/v1/webhooks/events'
export const bodyBytesMax = 32_768

export function webhookEndpoints(options: WebhooksOptions): Endpoint[] {
  const { db, clock, limits } = options
  const common = {
    area: 'webhooks',
    policy: { kind: 'keyed', scope: 'webhooks:write', limits },
    priority: 'write',
  } as const

  return [
    endpoint({
      ...common,
      operationId: 'listWebhookEndpoints',
      method: 'GET',
      path: endpointsPath,
      summary: 'The active webhook endpoints of the account',
      responses: {
        200: listedResponse,
        ...refusals,
        400: { description: 'The version is not supported, or a parameter is not valid.' },
      },
      answer: ({ caller }) => listActive(options, accountOf(caller)),
    }),
    endpoint({
      ...common,
      operationId: 'createWebhookEndpoint',
      method: 'POST',
      path: endpointsPath,
      summary: 'Create a webhook endpoint',
      description:
        'The signing secret is in this answer alone. A repeat with the same Idempotency-Key and the same content gives the same endpoint and secret, also when it was disabled since and also at the maximum.',
      idempotencyKey: 'required',
      body: createBody,
      responses: { ...refusals, ...createdResponses },
      answer: ({ caller, ...request }) => createFor(options, accountOf(caller), request),
    }),
    endpoint({
      ...common,
      operationId: 'disableWebhookEndpoint',
      method: 'DELETE',
      path: `${endpointsPath}/{endpointId}`,
      summary: 'Disable a webhook endpoint',
      description:
        'Once this has answered, no delivery begins; one that had begun ends within 15 seconds. An endpoint that is disabled already is answered as it is.',
      pathParameters: endpointIdPath,
      responses: {
        200: {
          description: 'The endpoint, disabled.',
          schema: webhookEndpointChanged,
          example: { endpoint: { ...exampleEndpoint, disabledAt: '2026-05-15T09:00:00Z' } },
        },
        ...refusals,
        400: { description: 'The id is no UUID, or the version is not supported.' },
        404: notFoundResponse,
      },
      async answer({ caller, path: { endpointId } }) {
        const owner = { userId: accountOf(caller) }
        const wish = { endpointId, owner, reason: 'owner', now: clock() } as const
        const disabled = await db.transaction((tx) => disableEndpoint(tx, wish))
        if (disabled === null) return refuse('webhook_endpoint_not_found')
        const { endpoint } = disabled
        await untilNothingStarts(endpoint.disabledAt ?? wish.now, wish.now)
        return { status: 200, body: { endpoint: wireEndpoint(endpoint) } }
      },
    }),
    endpoint({
      ...common,
      operationId: 'listWebhookEvents',
      method: 'GET',
      path: eventsPath,
      summary: 'The events, for whoever cannot be called',
      description:
        'The same envelopes that endpoints receive, in an order in which a cause stands before its effect. Ask again with `after` set to `next`: nothing is missed and nothing repeated, for as long as events are kept.',
      extension: true,
      queryParameters: feedQuery,
      responses: {
        200: { description: 'The events.', schema: eventFeed, example: exampleFeed },
        ...refusals,
        400: {
          description:
            'The version is not supported, a parameter is not valid, or events after `after` were deleted for their age.',
        },
      },
      async answer({ query }) {
        const feed = await readFeed(db, query)
        return feed === null
          ? refuse('invalid_parameter', { message: skippedMessage })
          : { status: 200, body: feed }
      },
    }),
  ]
}

const skippedMessage =
  'after: events behind it are too old and were deleted. Leave it out to begin with the oldest that is kept.'

/** Either case of a UUID names the same endpoint. */
export const endpointIdPath = Type.Object({
  endpointId: Type.String({
    format: 'uuid',
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    description: 'The id of an endpoint of the account: a UUID.',
    oneSpelling: (id: string) => id.toLowerCase(),
  }),
})

export const notFoundResponse = {
  description: 'The account has no such endpoint.',
  errors: ['webhook_endpoint_not_found'],
} as const

export const listedResponse = {
  description: 'The endpoints, the oldest first.',
  schema: webhookEndpointList,
  example: listOf([exampleEndpoint]),
}

export const createBody: BodyDeclaration = {
  mediaTypes: ['application/json'],
  schema: createRequest,
  bytesMax: bodyBytesMax,
  ambiguousReachesHandler: false,
  examples: { endpoint: exampleRequest },
}

/** What a creation can answer with, beside what every route of its kind can. */
export const createdResponses = {
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
  413: { description: `The body is larger than ${bodyBytesMax} bytes.` },
  415: { description: 'The content type is not JSON.' },
  503: {
    description: 'Webhooks, the database, or the check of the caller are not available.',
    errors: ['overloaded', 'unavailable', 'webhooks_not_configured'],
  },
} as const satisfies Record<number, ResponseDeclaration>

export async function listActive(
  { db, clock }: Pick<WebhooksOptions, 'db' | 'clock'>,
  userId: string,
): Promise<Answer> {
  const ids = await findActiveIds(db, userId)
  const found = await findEndpoints(db, ids, clock())
  // One may have been disabled between the two.
  const active = found.filter(({ disabledAt }) => disabledAt === null)
  return { status: 200, body: listOf(active.map(wireEndpoint)) }
}

/** Creates an endpoint for the account. Keys and sessions share one space of Idempotency-Keys. */
export async function createFor(
  { db, clock, ring, rules, activeMax, onSecretShown }: Omit<WebhooksOptions, 'limits'>,
  userId: string,
  { idempotencyKey, body }: { idempotencyKey: string | null; body: unknown },
): Promise<Answer> {
  if (ring === null) return refuse('webhooks_not_configured')
  const read = readEndpointRequest(body, rules)
  if ('fault' in read) return refuse('invalid_field', { message: read.fault })
  const wish = { userId, request: read.request, idempotencyKey, now: clock() }
  const creation = await createOrReplayEndpoint(db, { ring, activeMax }, wish)
  if (creation.outcome === 'replayed') onSecretShown(creation.endpoint.id)
  return creationAnswer(creation)
}

/** What every route here can answer with; the rest is declared beside it. */
const refusals = {
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

function creationAnswer(creation: Creation): Answer {
  if (creation.outcome === 'other_content') return refuse('idempotency_key_reused')
  if (creation.outcome === 'at_maximum') return refuse('webhook_endpoints_maximum')
  const { endpoint, signingSecret } = creation
  const body: Static<typeof webhookEndpointCreated> = {
    schemaVersion: schemaVersion('webhook_endpoint_create'),
    endpoint: wireEndpoint(endpoint),
    signingSecret,
  }
  return { status: 201, body }
}

function listOf(endpoints: WebhookEndpoint[]): Static<typeof webhookEndpointList> {
  return { schemaVersion: schemaVersion('webhook_endpoints'), endpoints }
}

/** An endpoint as the wire wants it: exactly the closed shape. */
export function wireEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    schemaVersion: schemaVersion('webhook_endpoint'),
    id: row.id,
    userId: row.userId,
    url: row.url,
    description: row.description,
    eventTypes: row.eventTypes satisfies EventType[],
    secretPrefix: row.secretPrefix,
    createdAt: wireTime(row.createdAt),
    updatedAt: wireTime(row.updatedAt),
    disabledAt: row.disabledAt && wireTime(row.disabledAt),
  }
}

/** The edge lets nobody else in. */
function accountOf(caller: Caller): string {
  if (caller.kind !== 'key') throw new Error('a keyed route was called without a key')
  return caller.accountId
}
