/** The page of one event at one webhook endpoint: its payload, every attempt, and the answers. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { memberCaller } from '../../operations/callers.ts'
import { perform } from '../../operations/perform.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import type { ShownAttempt } from '../../webhooks/delivery/delivery-store.ts'
import {
  type EndpointHealth,
  findAttemptsBy,
  findEndpointHealth,
  findEndpointsOfEvent,
  findSentEvent,
  type SentEvent,
} from '../../webhooks/delivery/history-store.ts'
import { webhooksResend } from '../../webhooks/delivery-operations.ts'
import type { WebhookPerformer } from '../../webhooks/endpoints/handlers.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import {
  actionForm,
  badge,
  card,
  code,
  empty,
  facts,
  idValue,
  notice,
  pageHead,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { count, fullTime, timeTag } from '../text.ts'
import { eventAttemptTable } from './webhook.ts'
import { hintFor } from './webhook-hints.ts'
import {
  answerWord,
  endpointPath,
  eventPath,
  hostOf,
  urlText,
  webhooksPath,
} from './webhook-words.ts'

const attemptsShown = 50

const eventOfEndpoint = Type.Object({
  ...endpointIdPath.properties,
  eventId: Type.String({
    pattern: '^evt_(test_)?[0-9a-f]{32}$',
    description: 'The id of an event.',
  }),
})

/** A UUID, as the page writes it. */
const formValueForm = /^[0-9a-f-]{36}$/
const noEvent = 'This endpoint was sent no such event, or the event is no longer kept.'

export function webhookEventPage(
  context: PagesContext & { performer: WebhookPerformer },
): Endpoint[] {
  return [...eventJump(context), ...eventOfEndpointPage(context)]
}

/** The address of an event whose endpoint the reader does not know. */
function eventJump(context: PagesContext): Endpoint[] {
  return dashboardPage(context, {
    name: 'webhookEventJump',
    path: '/dashboard/events/{eventId}',
    entry: webhooksPath,
    pathParameters: Type.Object({ eventId: eventOfEndpoint.properties.eventId }),
    async show({ session, path: { eventId } }) {
      const own = { userId: session.accountId, eventId }
      const [latest] = await findEndpointsOfEvent(context.db, own)
      return latest === undefined
        ? refuse('not_found', { message: 'No endpoint of this account was sent this event.' })
        : { redirectTo: eventPath(latest, eventId) }
    },
  })
}

function eventOfEndpointPage({
  performer,
  ...context
}: PagesContext & { performer: WebhookPerformer }): Endpoint[] {
  const { db } = context
  return dashboardPage(context, {
    name: 'webhookEventPage',
    path: `${webhooksPath}/{endpointId}/events/{eventId}`,
    entry: webhooksPath,
    pathParameters: eventOfEndpoint,
    queryParameters: Type.Object({ done: queryText }),
    async show({ session, path: { endpointId, eventId }, query, now }) {
      const userId = session.accountId
      const everything = { status: null, eventType: null, before: null, limit: attemptsShown }
      const [[endpoint], event, attempts] = await Promise.all([
        findEndpointHealth(db, { userId, endpointId }, now),
        findSentEvent(db, { endpointId, userId, eventId }),
        findAttemptsBy(db, { endpointId, userId, eventId, ...everything }),
      ])
      if (endpoint === undefined || event === undefined)
        return refuse('not_found', { message: noEvent })
      const isTest = eventId.startsWith('evt_test_')
      const requestIds = [...new Set(attempts.flatMap(({ requestId }) => requestId ?? []))]
      const failed = attempts.find(({ status }) => status === 'failed')
      const hint =
        failed === undefined || attempts[0]?.status === 'succeeded'
          ? null
          : hintFor(failed, hostOf(endpoint.url))
      const answered = attempts.find(({ responseBody }) => responseBody !== null)
      return {
        title: `Event ${eventId}`,
        main: html`${queuedNotice(query.done, { event, endpoint, latest: attempts[0], now })}
${pageHead({
  title: event.type,
  badge: html`${statusBadge(event, isTest)}${isTest && html`<span class="tag">Test</span>`}`,
  text: html`Sent to ${urlText(endpoint.url)}`,
  above: [
    { title: 'Webhooks', url: webhooksPath },
    { title: 'Endpoint', url: endpointPath(endpointId) },
  ],
  ...(isTest || endpoint.disabledAt !== null
    ? {}
    : {
        actions: actionForm(eventPath(endpointId, eventId), 'resend', {
          label: html`${icon('refresh')}Resend now`,
          kind: 'primary',
          fields: { key: randomUUID() },
        }),
      }),
})}
${hint !== null && notice({ tone: 'info', title: hint })}
<div class="columns main-side">
<div class="stack loose">
${card({
  title: 'Attempts',
  text: 'Your status decides. Of the body, the first 2 KiB that arrive within a second are kept.',
  isFlush: true,
  body:
    attempts.length === 0
      ? empty({ icon: 'clock', title: 'Not sent yet', text: waitingText(event, { endpoint, now }) })
      : eventAttemptTable(attempts, now),
})}
${answered !== undefined && answerCard(answered)}
${code({ id: 'payload', label: 'Payload, indented for reading', text: indented(event.body), isJson: true })}
</div>
${card({
  title: 'Event',
  body: facts([
    { label: 'ID', value: idValue('event-id', eventId) },
    { label: 'Type', value: html`<code>${event.type}</code>` },
    {
      label: 'Created',
      value: html`<time datetime="${event.createdAt.toISOString()}">${fullTime(event.createdAt)}</time>`,
    },
    ...requestIds.map((id) => ({
      label: 'Caused by the request',
      value: html`<code class="break">${id}</code>`,
    })),
    { label: 'Size', value: `${count(Buffer.byteLength(event.body))} bytes, as signed` },
  ]),
})}
</div>`,
      }
    },
    actions: {
      async resend({ session, requestId, path: { endpointId, eventId } }, { key = '' }) {
        const idempotencyKey = formValueForm.test(key) ? key : null
        const own = { endpointId, eventId }
        const member = memberCaller(session, requestId)
        const resent = await perform(performer, webhooksResend, member, own, {
          idempotencyKey,
        })
        const refused = 'refusal' in resent ? resent.refusal : null
        if (refused?.endsWith('_not_found')) return refuse('not_found', { message: noEvent })
        if ('refusal' in resent && refused !== 'webhook_endpoint_disabled') return resent
        const done = refused === null ? 'queued' : 'disabled'
        return { redirectTo: `${eventPath(endpointId, eventId)}?done=${done}` }
      },
    },
  })
}

/** While the event is under way, a script shows the page again. */
function queuedNotice(
  done: string | undefined,
  {
    event,
    endpoint,
    latest,
    now,
  }: { event: SentEvent; endpoint: EndpointHealth; latest: ShownAttempt | undefined; now: Date },
): Html | false {
  if (done === 'disabled')
    return notice({
      tone: 'warning',
      title: 'The event was not sent again.',
      text: 'The endpoint is disabled. Enable it first.',
      isResult: true,
    })
  if (done !== 'queued') return false
  const { status, dueAt } = event
  const isDue = status === 'pending' && dueAt <= now
  if (isDue && endpoint.pausedAt !== null)
    return notice({
      tone: 'info',
      title: 'The endpoint is paused.',
      text: 'The event waits, and is sent once you resume the endpoint.',
      isResult: true,
    })
  if (isDue || status === 'sending')
    return html`<div data-reload="1500">${notice({ tone: 'info', title: 'The event is on its way.', text: 'The attempt appears here once your server has answered.', isResult: true })}</div>`
  return status === 'succeeded'
    ? notice({ tone: 'positive', title: 'Your server took the event.', isResult: true })
    : notice({
        tone: 'warning',
        title: 'Your server did not take the event.',
        text:
          latest === undefined
            ? 'No attempt was made.'
            : html`The latest attempt ended with: ${answerWord(latest)}.`,
        isResult: true,
      })
}

/** A test event has one attempt, so nothing is given up. */
function statusBadge({ status }: SentEvent, isTest: boolean): Html {
  if (status === 'succeeded') return badge('positive', 'check', 'Delivered')
  if (status === 'exhausted') return badge('negative', 'cross', isTest ? 'Failed' : 'Given up')
  if (status === 'cancelled') return badge('neutral', 'cross', 'Cancelled')
  return badge('info', 'clock', status === 'sending' ? 'Sending' : 'Waiting')
}

function waitingText(
  { dueAt, status }: SentEvent,
  { endpoint, now }: { endpoint: EndpointHealth; now: Date },
): Html {
  if (status === 'pending' && endpoint.pausedAt !== null)
    return html`It is sent once you resume the endpoint.`
  if (status !== 'pending') return html`The first attempt is under way.`
  return dueAt > now
    ? html`The first attempt is ${timeTag(dueAt, now)}.`
    : html`The first attempt begins any moment.`
}

function answerCard(attempt: ShownAttempt): Html {
  return code({
    id: 'answer',
    label: `Latest answer of your server: ${answerWord(attempt)}`,
    text: attempt.responseBody ?? '',
    isWrapped: true,
    isShort: true,
  })
}

function indented(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2)
}
