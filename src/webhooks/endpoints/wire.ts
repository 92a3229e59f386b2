/** Webhook endpoints and attempts in the closed shapes of the wire. */
import type { Static } from 'typebox'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { wireTime } from '../../platform/clock.ts'
import type { ShownAttempt } from '../delivery/delivery-store.ts'
import type { delivery, WebhookEndpoint } from './schema.ts'
import type { EndpointRow } from './store.ts'

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

/** Returns an attempt in the closed shape of the wire. */
export function wireDelivery(attempt: ShownAttempt): Static<typeof delivery> {
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
