/** The routes by which a signed-in user manages and diagnoses the webhook endpoints of an account (spec §4.7). */
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { wireTime } from '../../platform/clock.ts'
import { sessionOf } from '../../platform/http/callers.ts'
import { sessionBodyResponses, sessionResponses } from '../../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { limitParameter } from '../../platform/http/page.ts'
import { firstFault } from '../../platform/json/shape-fault.ts'
import { findAttempts, type ShownAttempt } from '../delivery/delivery-store.ts'
import { queueTestEvent, type TestQueued } from '../delivery/resend.ts'
import type { EventType } from '../events/event-types.ts'
import { exampleEndpoint } from '../events/examples.ts'
import {
  bodyBytesMax,
  createBody,
  createdResponses,
  createFor,
  endpointIdPath,
  listActive,
  listedResponse,
  notFoundResponse,
  type WebhooksOptions,
} from './routes.ts'
import { deliveryList, testQueued, testRequest } from './schema.ts'

export type AccountWebhooksOptions = Omit<WebhooksOptions, 'limits'>

const path = '/api/account/webhooks/endpoints'
const shape = Compile(testRequest)

export function accountWebhookEndpoints(options: AccountWebhooksOptions): Endpoint[] {
  const { db, clock } = options
  const common = { area: 'webhooks', policy: { kind: 'session' }, priority: 'search' } as const
  return [
    endpoint({
      ...common,
      operationId: 'listAccountWebhookEndpoints',
      method: 'GET',
      path,
      summary: 'List the active webhook endpoints of the account',
      responses: { 200: listedResponse, ...sessionResponses },
      answer: ({ caller }) => listActive(options, sessionOf(caller).accountId),
    }),
    endpoint({
      ...common,
      operationId: 'createAccountWebhookEndpoint',
      method: 'POST',
      path,
      summary: 'Create a webhook endpoint',
      description:
        'The signing secret is in this answer alone. The Idempotency-Keys are those of createWebhookEndpoint: a key that was used there is used here.',
      idempotencyKey: 'optional',
      body: createBody,
      responses: { ...sessionBodyResponses(bodyBytesMax), ...createdResponses },
      answer: ({ caller, ...request }) => createFor(options, sessionOf(caller).accountId, request),
    }),
    endpoint({
      ...common,
      operationId: 'sendTestEvent',
      method: 'POST',
      path: `${path}/{endpointId}/test`,
      summary: 'Queue a test event for a webhook endpoint',
      description:
        'The event has fictional data and is sent once, whatever event types the endpoint receives. An endpoint takes one test event a minute.',
      pathParameters: endpointIdPath,
      body: {
        mediaTypes: ['application/json'],
        schema: testRequest,
        bytesMax: bodyBytesMax,
        ambiguousReachesHandler: false,
        examples: { event: { eventType: 'score.updated' } },
      },
      responses: {
        202: { description: 'The event is queued.', schema: testQueued, example: exampleTest },
        ...sessionBodyResponses(bodyBytesMax),
        404: notFoundResponse,
        409: { description: 'The endpoint is disabled.', errors: ['webhook_endpoint_disabled'] },
        429: {
          description:
            'The endpoint had a test event less than a minute ago, or the session makes too many calls; retry after Retry-After seconds.',
        },
      },
      async answer({ caller, path: { endpointId }, body }) {
        const read = readTestRequest(body)
        if ('fault' in read) return refuse('invalid_field', { message: read.fault })
        const owner = { userId: sessionOf(caller).accountId }
        const { eventType } = read
        const at = clock()
        const queued = await db.transaction((tx) =>
          queueTestEvent(tx, { endpointId, owner, type: eventType, at }),
        )
        return testAnswer(queued, { endpointId, eventType, at })
      },
    }),
    endpoint({
      ...common,
      operationId: 'listWebhookDeliveries',
      method: 'GET',
      path: `${path}/{endpointId}/deliveries`,
      summary: 'List the last delivery attempts at a webhook endpoint',
      pathParameters: endpointIdPath,
      queryParameters: Type.Object({ limit: limitParameter }),
      responses: {
        200: {
          description: 'The attempts, newest first.',
          schema: deliveryList,
          example: wireList([exampleAttempt]),
        },
        ...sessionResponses,
        404: notFoundResponse,
      },
      async answer({ caller, path: { endpointId }, query }) {
        const owner = { userId: sessionOf(caller).accountId }
        const limit = Number(query.limit)
        const attempts = await findAttempts(db, { endpointId, owner, limit })
        return attempts === null
          ? refuse('webhook_endpoint_not_found')
          : { status: 200, body: wireList(attempts) }
      },
    }),
  ]
}

/** Returns the event type, or what is wrong with the body in words for the caller. */
function readTestRequest(body: unknown): { eventType: EventType } | { fault: string } {
  if (shape.Check(body)) return { eventType: body.eventType }
  const { field, reason } = firstFault(shape, body)
  return { fault: `${field ?? 'The body'} ${reason}.` }
}

interface TestWish {
  endpointId: string
  eventType: EventType
  at: Date
}

function testAnswer(queued: TestQueued, wish: TestWish): Answer {
  if (queued.outcome === 'queued') return { status: 202, body: wireTest(queued.eventId, wish) }
  if (queued.outcome === 'too soon')
    return refuse('rate_limited', {
      message: 'An endpoint takes one test event a minute.',
      headers: { 'Retry-After': String(queued.retryAfterSeconds) },
    })
  return queued.outcome === 'disabled'
    ? refuse('webhook_endpoint_disabled')
    : refuse('webhook_endpoint_not_found')
}

function wireTest(
  eventId: string,
  { endpointId, eventType, at }: TestWish,
): Static<typeof testQueued> {
  const queuedAt = wireTime(at)
  return { schemaVersion: schemaVersion('webhook_test'), eventId, eventType, endpointId, queuedAt }
}

/** Attempts as the wire wants them: exactly the closed shape. */
function wireList(attempts: readonly ShownAttempt[]): Static<typeof deliveryList> {
  return {
    schemaVersion: schemaVersion('webhook_deliveries'),
    deliveries: attempts.map((attempt) => ({
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
      nextAttemptAt: attempt.nextAttemptAt && wireTime(attempt.nextAttemptAt),
    })),
  }
}

const exampleTest = wireTest('evt_test_019e25b6d9d870008000000000000001', {
  endpointId: exampleEndpoint.id,
  eventType: 'score.updated',
  at: new Date('2026-05-14T09:00:00Z'),
})

const exampleAttempt: ShownAttempt = {
  id: '019e25b6-d9d8-7000-8000-000000000002',
  eventId: 'evt_019e25b6d9d870008000000000000001',
  eventType: 'score.updated',
  attempt: 1,
  trigger: 'event',
  status: 'failed',
  requestedAt: new Date('2026-05-14T09:00:01Z'),
  durationMs: 212,
  responseStatus: 503,
  responseBody: 'maintenance',
  errorCode: 'http_status',
  nextAttemptAt: new Date('2026-05-14T09:00:06Z'),
}
