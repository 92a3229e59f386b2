/** The operations on deliveries to webhook endpoints. */
import { Type } from 'typebox'
import {
  afterField,
  afterRow,
  limitField,
  listOwner,
  madeId,
  moreField,
  nextField,
  orNull,
  pageOf,
  time,
  timeField,
  withAccounts,
} from '../operations/fields.ts'
import { changed, unchanged } from '../operations/operation.ts'
import { wireTime } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import { refuse } from '../platform/errors.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { findAttempts, findExhausted } from './delivery/delivery-store.ts'
import { markDnsCheck } from './delivery/endpoint-store.ts'
import { unknownEndpoint } from './delivery/own-endpoint.ts'
import {
  bulkResendMax,
  queueTestEvent,
  replayDaysMax,
  replaySince,
  resendEvent,
  resendEvents,
} from './delivery/resend.ts'
import { delivery } from './endpoints/schema.ts'
import { eventTypeNames } from './events/event-types.ts'
import {
  answerText,
  change,
  endpointId,
  endpointOf,
  entryOf,
  exampleId,
  ofAccount,
  read,
} from './operation-parts.ts'

export const webhooksDeliveries = read({
  name: 'webhooks deliveries',
  http: 'GET /webhooks/{endpointId}/deliveries',
  summary: 'Show the last attempts to deliver to an endpoint, the newest first',
  who: { operator: 'viewer', member: 'member' },
  path: { endpointId },
  input: { limit: { ...limitField, default: 25 }, after: afterField },
  output: closedObject({
    endpointId: Type.String(),
    deliveries: Type.Array(delivery),
    next: nextField,
  }),
  refusals: ['webhook_endpoint_not_found'],
  example: { endpointId: exampleId, limit: 25 },
  none: 'No attempt was made yet.',
  columns: {
    time: 'requestedAt',
    event: 'eventId',
    type: 'eventType',
    attempt: 'attempt',
    status: 'status',
    response: answerText,
    milliseconds: 'durationMs',
    next: 'nextAttemptAt',
  },
  async run(db, { endpointId: id, limit, after = null }, context) {
    const of = endpointOf(id, context)
    const attempts = await findAttempts(db, { ...of, after, limit: limit + 1 })
    if (attempts === null) return unknownEndpoint(of)
    const { rows, next } = pageOf(attempts, limit, (attempt) => attempt.id)
    return { endpointId: id, deliveries: rows, next }
  },
})

const exhausted = closedObject({
  id: Type.String(),
  account: Type.String({ description: 'The name of the account.' }),
  endpointId: Type.String(),
  url: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  attempts: Type.Integer(),
  createdAt: time,
  finishedAt: time,
  responseStatus: orNull(Type.Integer(), 'Of the last attempt.'),
  errorCode: orNull(Type.String(), 'Of the last attempt.'),
})

const webhooksExhausted = read({
  name: 'webhooks exhausted',
  http: 'GET /webhooks/exhausted',
  summary: 'Show deliveries to any endpoint whose every attempt failed, the newest first',
  who: { operator: 'viewer', member: 'member' },
  input: {
    account: ofAccount,
    limit: limitField,
    after: afterRow('^[1-9][0-9]{0,17}$'),
  },
  output: closedObject({ deliveries: Type.Array(exhausted), next: nextField }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd', limit: 200 },
  none: 'Every delivery succeeded or is still tried.',
  columns: {
    ended: 'finishedAt',
    account: 'account',
    url: 'url',
    type: 'eventType',
    attempts: 'attempts',
    response: answerText,
    event: 'eventId',
    endpoint: 'endpointId',
  },
  async run(db, { account, limit, after = null }, context) {
    const owner = await listOwner(db, account, context)
    if (owner !== 'any' && 'refusal' in owner) return owner
    const found = await findExhausted(db, { owner, after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ id }) => id)
    return { deliveries: await withAccounts(db, rows, context.services), next }
  },
})

const eventId = Type.String({
  pattern: '^evt_(test_)?[0-9a-f]{32}$',
  description: 'must be the id of an event, evt_…',
})

export const webhooksResend = change({
  name: 'webhooks resend',
  http: 'POST /webhooks/{endpointId}/events/{eventId}/resend',
  summary: 'Send one event to an endpoint once more',
  who: { operator: 'support', member: 'member' },
  path: { endpointId, eventId },
  output: closedObject({ endpointId: Type.String(), eventId: Type.String() }),
  refusals: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled', 'webhook_event_not_found'],
  example: { endpointId: exampleId, eventId: 'evt_019e2cbb7a007c1e9f278b5a1c2d3e4f' },
  audit: 'webhooks.resent',
  // The delivery keeps the key, so a form that is sent twice needs no replay.
  keepsKeys: true,
  renderLines: (output) => [`${output.eventId} is sent to ${output.endpointId} once more.`],
  async run(tx, { endpointId: id, eventId }, context) {
    const { idempotencyKey: key, now: at } = context
    const resent = await resendEvent(tx, { ...endpointOf(id, context), eventId, key, at })
    if ('refusal' in resent) return resent
    const output = { endpointId: id, eventId }
    return resent.changed
      ? changed(output, { ...entryOf(resent.endpoint), details: { eventId } })
      : unchanged(output)
  },
})

const dayMs = 86_400_000

/** Events of one bulk resend by their ids. */
export const resentIdsMax = 100

export const webhooksResendMany = change({
  name: 'webhooks resend-many',
  http: 'POST /webhooks/{endpointId}/resend',
  summary: 'Send an endpoint several events once more: chosen ones, or all that it has not taken',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  input: {
    eventIds: Type.Optional(
      Type.Array(eventId, {
        minItems: 1,
        maxItems: resentIdsMax,
        uniqueItems: true,
        description: `must be 1 to ${resentIdsMax} different ids of events`,
        'x-flag': 'event',
        'x-help': `these events, at most ${resentIdsMax}; without it, all that were not delivered`,
      }),
    ),
    eventType: Type.Optional(
      Type.Enum([...eventTypeNames], {
        type: 'string',
        description: eventTypeNames.join(', '),
        'x-flag': 'type',
        'x-help': 'of the events that were not delivered, only this type',
      }),
    ),
    since: Type.Optional(
      timeField('only events that were not delivered since this time; the last 14 days without it'),
    ),
  },
  output: closedObject({ endpointId: Type.String(), queued: Type.Integer() }),
  refusals: [
    'webhook_endpoint_not_found',
    'webhook_endpoint_disabled',
    'webhook_event_not_found',
    'webhook_resend_running',
  ],
  example: { endpointId: exampleId, eventType: 'score.updated' },
  audit: 'webhooks.bulk_resent',
  renderLines: ({ queued }) => [
    `${counted(queued, 'event')} will be sent once more, twenty a second.${queued === bulkResendMax ? ' More may be left: call again once they are sent.' : ''}`,
  ],
  async run(tx, { endpointId: id, eventIds = null, eventType = null, since }, context) {
    const { now: at } = context
    const from = since === undefined ? new Date(+at - replayDaysMax * dayMs) : new Date(since)
    const of = endpointOf(id, context)
    const resent = await resendEvents(tx, { ...of, eventIds, eventType, since: from, at })
    if ('refusal' in resent) return resent
    const { endpoint, count } = resent
    const output = { endpointId: id, queued: count }
    return count > 0
      ? changed(output, { ...entryOf(endpoint), details: { count } })
      : unchanged(output)
  },
})

const webhooksReplay = change({
  name: 'webhooks replay',
  http: 'POST /webhooks/{endpointId}/replay',
  summary: 'Send an endpoint the events that it missed since a time',
  who: { operator: 'support' },
  path: { endpointId },
  input: { since: timeField(`a day or a time in UTC, at most ${replayDaysMax} days ago`) },
  output: closedObject({ endpointId: Type.String(), queued: Type.Integer(), more: moreField }),
  refusals: ['invalid_field', 'webhook_endpoint_not_found', 'webhook_endpoint_disabled'],
  example: { endpointId: exampleId, since: '2026-05-14T09:00Z' },
  audit: 'webhooks.replayed',
  renderLines: ({ queued }) => [
    `${counted(queued, 'missed event')} will be sent, twenty a second.`,
  ],
  async run(tx, { endpointId: id, since: text }, context) {
    const { now: at } = context
    const since = new Date(text)
    if (since.getTime() < at.getTime() - replayDaysMax * dayMs)
      return refuse('invalid_field', {
        message: `since is ${wireTime(since)}. Use a time of the last ${replayDaysMax} days.`,
      })
    const replayed = await replaySince(tx, { ...endpointOf(id, context), since, at })
    if ('refusal' in replayed) return replayed
    const { endpoint, count, more } = replayed
    const output = { endpointId: id, queued: count }
    return count > 0
      ? changed(output, { ...entryOf(endpoint), details: { count } }, { more })
      : unchanged(output)
  },
})

export const webhooksTest = change({
  name: 'webhooks test',
  http: 'POST /webhooks/{endpointId}/test',
  summary: 'Send a fictional event to an endpoint, at most one a minute',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  input: {
    eventType: Type.Enum([...eventTypeNames], {
      type: 'string',
      default: 'score.updated',
      description: eventTypeNames.join(', '),
      'x-flag': 'event',
    }),
  },
  output: closedObject({
    endpointId: Type.String(),
    eventId: madeId,
    eventType: Type.Enum([...eventTypeNames]),
    queuedAt: time,
  }),
  refusals: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled', 'rate_limited'],
  example: { endpointId: exampleId, eventType: 'dispute.opened' },
  audit: { none: 'the deliveries of the endpoint show each test event' },
  renderLines: (output) => [
    `${output.eventId} is sent to ${output.endpointId}. \`assay webhooks deliveries\` shows the answer.`,
  ],
  async run(tx, { endpointId: id, eventType }, context) {
    const at = context.now
    const queued = await queueTestEvent(tx, { ...endpointOf(id, context), type: eventType, at })
    if ('refusal' in queued) return queued
    const { eventId } = queued
    return unchanged({ endpointId: id, eventId, eventType, queuedAt: at })
  },
})

export const webhooksDns = read({
  name: 'webhooks dns',
  http: 'GET /webhooks/{endpointId}/dns',
  summary: 'Ask the DNS for the addresses of an endpoint, at most once a minute',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  output: closedObject({
    host: Type.String(),
    addresses: listOf({
      address: Type.String(),
      isAllowed: Type.Boolean({ description: 'Whether events may be sent there.' }),
    }),
    problem: orNull(Type.String(), 'Why there is no address.'),
  }),
  refusals: ['webhook_endpoint_not_found', 'rate_limited'],
  example: { endpointId: exampleId },
  columns: { address: 'address', allowed: 'isAllowed' },
  none: 'There is no address.',
  renderLines: ({ problem }) => (problem === null ? [] : [`No address: ${problem}.`]),
  async run(db, { endpointId: id }, context) {
    const { checkName } = context.services.webhooks
    const of = endpointOf(id, context)
    const marked = await markDnsCheck(db, of, context.now)
    if (marked === undefined) return unknownEndpoint(of)
    if (marked.isEarly)
      return refuse('rate_limited', {
        message: 'The DNS of an endpoint is asked once a minute.',
        headers: { 'Retry-After': '60' },
      })
    const host = new URL(marked.url).hostname
    const found =
      checkName === null
        ? { addresses: [], problem: 'the proxy of this service asks the DNS' }
        : await checkName(host)
    return { host, ...found }
  },
})

export const deliveryOperations = [
  webhooksDeliveries,
  webhooksExhausted,
  webhooksResend,
  webhooksResendMany,
  webhooksReplay,
  webhooksTest,
  webhooksDns,
] as const
