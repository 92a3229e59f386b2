/** The handlers of webhook endpoints and of the feed of events. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { KeyCaller } from '../../edge/http/callers.ts'
import type { Answer, Handlers } from '../../edge/http/endpoint.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { keyCaller, memberCaller } from '../../operations/callers.ts'
import { type OperationCaller, type Performer, perform } from '../../operations/perform.ts'
import { refuse } from '../../platform/errors.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import { webhooksDeliveries, webhooksTest } from '../delivery-operations.ts'
import { readFeed } from '../events/feed.ts'
import type { WebhookServices } from '../operation-parts.ts'
import { webhooksCreate, webhooksDisable } from '../operations.ts'
import type { webhookContract } from './contract.ts'
import { readEndpointRequest } from './create.ts'
import {
  type deliveryList,
  testRequest,
  type webhookEndpointCreated,
  type webhookEndpointList,
  wireEndpoint,
} from './schema.ts'
import { findActiveIds, findEndpoints } from './store.ts'

export type WebhookPerformer = Performer<WebhookServices>

const testShape = Compile(testRequest)

export function webhookHandlers(performer: WebhookPerformer): Handlers<typeof webhookContract> {
  const { db } = performer
  return {
    listWebhookEndpoints: ({ caller }) => listActive(performer, caller.accountId),
    listAccountWebhookEndpoints: ({ caller }) => listActive(performer, caller.accountId),
    createWebhookEndpoint: (request) => create(performer, byKey(request), request),
    createAccountWebhookEndpoint: (request) =>
      create(performer, memberCaller(request.caller, request.requestId), request),
    async disableWebhookEndpoint(request) {
      const { endpointId } = request.path
      const disabled = await perform(performer, webhooksDisable, byKey(request), { endpointId })
      if ('refusal' in disabled) return disabled
      return { status: 200, body: { endpoint: disabled.output.endpoint } }
    },
    async listWebhookEvents({ query }) {
      const feed = await readFeed(db, query)
      return 'fault' in feed
        ? refuse('invalid_parameter', { message: feed.fault })
        : { status: 200, body: feed }
    },
    async sendTestEvent({ caller, path: { endpointId }, body, requestId }) {
      const read = parseBody(testShape, body)
      if ('fault' in read) return refuse('invalid_field', { message: read.fault })
      const { eventType } = read.body
      const input = { endpointId, eventType }
      const queued = await perform(performer, webhooksTest, memberCaller(caller, requestId), input)
      if ('refusal' in queued) return queued
      const { eventId, queuedAt } = queued.output
      const version = schemaVersion('webhook_test')
      return {
        status: 202,
        body: { schemaVersion: version, eventId, eventType, endpointId, queuedAt },
      }
    },
    async listWebhookDeliveries({ caller, path: { endpointId }, query, requestId }) {
      const input = { endpointId, limit: Number(query.limit) }
      const reader = memberCaller(caller, requestId)
      const listed = await perform(performer, webhooksDeliveries, reader, input)
      if ('refusal' in listed) return listed
      const body: Static<typeof deliveryList> = {
        schemaVersion: schemaVersion('webhook_deliveries'),
        deliveries: listed.output.deliveries,
      }
      return { status: 200, body }
    },
  }
}

function byKey({ caller, requestId }: { caller: KeyCaller; requestId: string }) {
  return keyCaller(caller, 'webhooks:write', requestId)
}

async function listActive(
  { db, clock }: Pick<WebhookPerformer, 'db' | 'clock'>,
  userId: string,
): Promise<Answer> {
  const found = await findEndpoints(db, await findActiveIds(db, userId), clock())
  // An endpoint may have been disabled between the two reads.
  const active = found.filter(({ disabledAt }) => disabledAt === null)
  const body: Static<typeof webhookEndpointList> = {
    schemaVersion: schemaVersion('webhook_endpoints'),
    endpoints: active.map(wireEndpoint),
  }
  return { status: 200, body }
}

/**
 * Creates an endpoint for the account. Keys and sessions share one space of Idempotency-Keys. The
 * shape of the wire is checked first: the operation takes an account, too, which the wire has not.
 */
async function create(
  performer: WebhookPerformer,
  caller: OperationCaller & { accountId: string },
  { body, idempotencyKey }: { body: unknown; idempotencyKey: string | null },
): Promise<Answer> {
  const { webhooks } = performer.services
  if ((await webhooks.ring()) === null) return refuse('webhooks_not_configured')
  const read = readEndpointRequest(body, webhooks.rules)
  if ('fault' in read) return refuse('invalid_field', { message: read.fault })
  const { url, eventTypes: events, description } = read.request
  const input = {
    account: caller.accountId,
    url,
    events,
    ...(description !== null && { description }),
  }
  const created = await perform(performer, webhooksCreate, caller, input, { idempotencyKey })
  if ('refusal' in created) return created
  const answer: Static<typeof webhookEndpointCreated> = {
    schemaVersion: schemaVersion('webhook_endpoint_create'),
    ...created.output,
  }
  return { status: 201, body: answer }
}
