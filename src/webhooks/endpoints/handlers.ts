/** The handlers of webhook endpoints and of the feed of events. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { actorOf } from '../../audit/account-entry.ts'
import { type Clock, wireTime } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import { nameRequest } from '../../platform/db/name-request.ts'
import type { EgressRules } from '../../platform/egress/rules.ts'
import type { KeyCaller, SessionCaller } from '../../platform/http/callers.ts'
import type { Answer, Handlers } from '../../platform/http/endpoint.ts'
import { type Refusal, refuse } from '../../platform/http/errors.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import { findAttempts, type ShownAttempt } from '../delivery/delivery-store.ts'
import { queueTestEvent, type TestQueued } from '../delivery/resend.ts'
import { readFeed } from '../events/feed.ts'
import { createForAccount, stopDeliveries } from './actions.ts'
import type { webhookContract } from './contract.ts'
import { readEndpointRequest } from './request.ts'
import {
  type delivery,
  type deliveryList,
  testRequest,
  type WebhookEndpoint,
  type webhookEndpointCreated,
  type webhookEndpointList,
} from './schema.ts'
import { type EndpointRow, findActiveIds, findEndpoints } from './store.ts'

export interface WebhooksOptions {
  db: Db
  clock: Clock
  /** Encrypts signing secrets. If null, no endpoint can be created. */
  ring: Keyring | null
  /** The URLs that may receive events. */
  rules: EgressRules
  /** Maximum of active endpoints of one account. */
  activeMax: number
  /** Called if a repeated creation shows a signing secret again. */
  onSecretShown: (endpointId: string) => void
}

const testShape = Compile(testRequest)

export function webhookHandlers(options: WebhooksOptions): Handlers<typeof webhookContract> {
  const { db, clock } = options
  return {
    listWebhookEndpoints: ({ caller }) => listActive(options, caller.accountId),
    listAccountWebhookEndpoints: ({ caller }) => listActive(options, caller.accountId),
    createWebhookEndpoint: ({ caller, ...sent }) => create(options, caller, sent),
    createAccountWebhookEndpoint: ({ caller, ...sent }) => create(options, caller, sent),
    disableWebhookEndpoint: ({ caller, path: { endpointId } }) =>
      disableOwnEndpoint(options, caller, endpointId),
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
      const owner = { userId: caller.accountId }
      const at = clock()
      const queued = await db.transaction(async (tx) => {
        await nameRequest(tx, requestId)
        return queueTestEvent(tx, { endpointId, owner, type: eventType, at })
      })
      if (queued.outcome !== 'queued') return testRefusal(queued)
      const { eventId } = queued
      const queuedAt = wireTime(at)
      const version = schemaVersion('webhook_test')
      return {
        status: 202,
        body: { schemaVersion: version, eventId, eventType, endpointId, queuedAt },
      }
    },
    async listWebhookDeliveries({ caller, path: { endpointId }, query }) {
      const owner = { userId: caller.accountId }
      const limit = Number(query.limit)
      const attempts = await findAttempts(db, { endpointId, owner, limit })
      return attempts === null
        ? refuse('webhook_endpoint_not_found')
        : { status: 200, body: wireDeliveries(attempts) }
    },
  }
}

async function listActive(
  { db, clock }: Pick<WebhooksOptions, 'db' | 'clock'>,
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

/** Disables an endpoint of the caller's account. After the answer no delivery starts. */
async function disableOwnEndpoint(
  { db, clock }: Pick<WebhooksOptions, 'db' | 'clock'>,
  caller: KeyCaller,
  endpointId: string,
): Promise<Answer> {
  const context = { db, clock, actor: actorOf(caller) }
  const own = { endpointId, owner: { userId: caller.accountId } }
  const stopped = await stopDeliveries(context, own, 'owner')
  return stopped.outcome === 'no such endpoint'
    ? refuse('webhook_endpoint_not_found')
    : { status: 200, body: { endpoint: wireEndpoint(stopped.endpoint) } }
}

/** Creates an endpoint for the account. Keys and sessions share one space of Idempotency-Keys. */
async function create(
  { db, clock, ring, rules, activeMax, onSecretShown }: WebhooksOptions,
  caller: KeyCaller | SessionCaller,
  sent: { idempotencyKey: string | null; body: unknown },
): Promise<Answer> {
  if (ring === null) return refuse('webhooks_not_configured')
  const read = readEndpointRequest(sent.body, rules)
  if ('fault' in read) return refuse('invalid_field', { message: read.fault })
  const { idempotencyKey } = sent
  const context = { db, clock, actor: actorOf(caller) }
  const input = { userId: caller.accountId, request: read.request, idempotencyKey }
  const creation = await createForAccount(context, { ring, activeMax }, input)
  if (creation.outcome === 'other_content') return refuse('idempotency_key_reused')
  if (creation.outcome === 'at_maximum') return refuse('webhook_endpoints_maximum')
  const { endpoint, signingSecret } = creation
  if (creation.outcome === 'replayed') onSecretShown(endpoint.id)
  const body: Static<typeof webhookEndpointCreated> = {
    schemaVersion: schemaVersion('webhook_endpoint_create'),
    endpoint: wireEndpoint(endpoint),
    signingSecret,
  }
  return { status: 201, body }
}

function testRefusal(failed: Exclude<TestQueued, { outcome: 'queued' }>): Refusal {
  if (failed.outcome === 'too soon')
    return refuse('rate_limited', {
      message: 'An endpoint takes one test event a minute.',
      headers: { 'Retry-After': String(failed.retryAfterSeconds) },
    })
  return failed.outcome === 'disabled'
    ? refuse('webhook_endpoint_disabled')
    : refuse('webhook_endpoint_not_found')
}

/** Returns an endpoint in the closed shape of the wire. */
export function wireEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    schemaVersion: schemaVersion('webhook_endpoint'),
    id: row.id,
    userId: row.userId,
    url: row.url,
    description: row.description,
    eventTypes: row.eventTypes,
    secretPrefix: row.secretPrefix,
    createdAt: wireTime(row.createdAt),
    updatedAt: wireTime(row.updatedAt),
    disabledAt: row.disabledAt && wireTime(row.disabledAt),
  }
}

/** Returns attempts in the closed shape of the wire. */
function wireDeliveries(attempts: readonly ShownAttempt[]): Static<typeof deliveryList> {
  return {
    schemaVersion: schemaVersion('webhook_deliveries'),
    deliveries: attempts.map(wireDelivery),
  }
}

/** Returns an attempt in the closed shape of the wire. */
function wireDelivery(attempt: ShownAttempt): Static<typeof delivery> {
  return {
    id: attempt.id,
    eventId: attempt.eventId,
    eventType: attempt.eventType,
    attempt: attempt.attempt,
    trigger: attempt.trigger,
    status: attempt.status,
    requestedAt: wireTime(attempt.requestedAt),
    durationMs: attempt.durationMs,
    responseStatus: attempt.responseStatus,
    responseBody: attempt.responseBody,
    errorCode: attempt.errorCode,
    errorCause: attempt.errorCause,
    requestId: attempt.requestId,
    nextAttemptAt: attempt.nextAttemptAt && wireTime(attempt.nextAttemptAt),
  }
}
