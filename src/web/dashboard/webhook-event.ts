/** The page of one event at one webhook endpoint: its payload, every attempt, and the answers. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import { refuse } from '../../platform/errors.ts'
import {
  type EndpointHealth,
  findAttemptsAt,
  findEndpointHealth,
  findEndpointsOfEvent,
  findSentEvent,
  type SentEvent,
  type ShownAttempt,
  type WholeAttempt,
} from '../../webhooks/api.ts'
import { unsignedHeaders } from '../../webhooks/delivery/attempt-request.ts'
import { webhooksResend } from '../../webhooks/delivery-operations.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import { actionForm, card, code, empty, facts, idValue, notice, result } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { count, dueTag, duration, fullTime, timeTag } from '../text.ts'
import { attemptIcon, eventBadge } from './webhook-events.ts'
import { hintFor } from './webhook-hints.ts'
import {
  aboveEndpoint,
  answerWord,
  eventPath,
  hostOf,
  triggerTag,
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

const noEvent = 'This endpoint was sent no such event, or the event is no longer kept.'

export function webhookEventPage(context: PagesContext): Endpoint[] {
  return [...eventJump(context), ...eventOfEndpointPage(context)]
}

/** The address of an event whose endpoint the reader does not know. */
function eventJump(context: PagesContext): Endpoint[] {
  return dashboardPage(context, {
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

function eventOfEndpointPage(context: PagesContext): Endpoint[] {
  const { db } = context
  return dashboardPage(context, {
    path: `${webhooksPath}/{endpointId}/events/{eventId}`,
    entry: webhooksPath,
    pathParameters: eventOfEndpoint,
    queryParameters: Type.Object({ done: queryText }),
    async show({ session, path: { endpointId, eventId }, query, now }) {
      const userId = session.accountId
      const [[endpoint], event, attempts] = await Promise.all([
        findEndpointHealth(db, { userId, endpointId }, now),
        findSentEvent(db, { endpointId, userId, eventId }),
        findAttemptsAt(db, { endpointId, userId, eventId, limit: attemptsShown }),
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
      const answeredId = attempts.find(({ responseBody }) => responseBody !== null)?.id
      return {
        title: `Event ${eventId}`,
        top: queuedNotice(query.done, { event, endpoint, latest: attempts[0], now }),
        head: {
          title: event.type,
          badge: html`${eventBadge({ ...event, trigger: isTest ? 'test' : 'event' })}${isTest && html`<span class="tag">Test</span>`}`,
          text: html`Sent to ${urlText(endpoint.url)}`,
          above: aboveEndpoint(endpointId),
          actions:
            !isTest &&
            endpoint.disabledAt === null &&
            actionForm(eventPath(endpointId, eventId), 'resend', {
              label: html`${icon('refresh')}Resend now`,
              kind: 'primary',
              fields: { key: randomUUID() },
            }),
        },
        main: html`${hint !== null && notice({ tone: 'info', title: hint })}
<div class="columns main-side">
<div class="stack loose">
${card({
  title: 'Attempts',
  text: 'Your status decides. Of the body, the first 2 KiB that arrive within a second are kept.',
  isFlush: true,
  body:
    attempts.length === 0
      ? empty({
          icon: 'clock',
          title: event.status === 'cancelled' ? 'Not sent' : 'Not sent yet',
          text: waitingText(event, { endpoint, now }),
        })
      : html`<div class="card-body"><ol class="timeline stack">${attempts.map((attempt, i) => attemptItem(attempt, { isOpen: i === 0, isAnswer: attempt.id === answeredId, secretPrefix: endpoint.secretPrefix, now }))}</ol></div>`,
})}
${code({ id: 'payload', label: 'Payload, indented for reading', text: indented(event.body), language: 'json' })}
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
      async resend({ perform, path: { endpointId, eventId } }, { key = '' }) {
        const idempotencyKey = uuidForm.test(key) ? key : null
        const own = { endpointId, eventId }
        const resent = await perform(webhooksResend, own, {
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

/** An event that waits longer is late: no process may send it, so the page is not shown again. */
const lateAfterMs = 60_000

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
    return result(
      'warning',
      'The event was not sent again. The endpoint is disabled. Enable it first.',
    )
  if (done !== 'queued') return false
  const { status, dueAt } = event
  const isDue = status === 'pending' && dueAt <= now
  if (isDue && endpoint.pausedAt !== null)
    return result(
      'info',
      'The endpoint is paused. The event waits, and is sent once you resume the endpoint.',
    )
  if (isDue && isLate(event, now))
    return result(
      'warning',
      'The event still waits.',
      html`It was due ${timeTag(dueAt, now)}. The service sends it as soon as it can; load this page again to see the attempt.`,
    )
  if (isDue || status === 'sending')
    return html`<div data-reload="1500">${result('info', 'The event is on its way. The attempt appears here once your server has answered.')}</div>`
  return status === 'succeeded'
    ? result('positive', 'Your server took the event.')
    : result(
        'warning',
        'Your server did not take the event.',
        latest === undefined
          ? 'No attempt was made.'
          : `The latest attempt ended with: ${answerWord(latest)}.`,
      )
}

function isLate({ dueAt }: SentEvent, now: Date): boolean {
  return now.getTime() - dueAt.getTime() > lateAfterMs
}

function waitingText(
  event: SentEvent,
  { endpoint, now }: { endpoint: EndpointHealth; now: Date },
): Html {
  const { dueAt, status } = event
  if (status === 'cancelled')
    return html`It was cancelled before its first attempt: the endpoint was disabled, or the worker withdrew the consent.`
  if (status === 'pending' && endpoint.pausedAt !== null)
    return html`It is sent once you resume the endpoint.`
  if (status !== 'pending') return html`The first attempt is under way.`
  if (dueAt > now) return html`The first attempt is ${timeTag(dueAt, now)}.`
  return isLate(event, now)
    ? html`The first attempt was due ${timeTag(dueAt, now)}.`
    : html`The first attempt begins any moment.`
}

interface Item {
  isOpen: boolean
  /** The latest attempt with an answer. */
  isAnswer: boolean
  secretPrefix: string
  now: Date
}

/**
 * Receivers accept a signature for five minutes. A screen that shows it earlier could be used to
 * send the event once more.
 */
const signatureHiddenMs = 300_000

/** One attempt: what was sent and what came back, behind one line. */
function attemptItem(attempt: WholeAttempt, { isOpen, isAnswer, secretPrefix, now }: Item): Html {
  const { status, durationMs, requestedAt, errorCause, responseBody, responseHeaders } = attempt
  const { nextAttemptAt } = attempt
  const took = durationMs === null ? '' : ` · ${duration(durationMs)}`
  const next =
    nextAttemptAt !== null && nextAttemptAt > now && html` · next ${dueTag(nextAttemptAt, now)}`
  const received =
    attempt.responseStatus !== null &&
    headerList('Received', [
      ['status', String(attempt.responseStatus)],
      ...Object.entries(responseHeaders ?? {}),
    ])
  const body =
    responseBody !== null &&
    code({
      id: isAnswer ? 'answer' : `answer-${attempt.id}`,
      label: 'Body',
      text: responseBody,
      isWrapped: true,
      isShort: true,
    })
  return html`<li>${attemptIcon(status)}<details class="fold inline"${attributes({ open: isOpen })}><summary><strong class="strong">Attempt ${count(attempt.attempt)}: ${answerWord(attempt)}</strong>${triggerTag(attempt)} <span class="muted">· ${timeTag(requestedAt, now)}${took}${next}</span></summary><div class="stack">${errorCause !== null && html`<p class="small break">${errorCause}</p>`}${sentHeaders(attempt, { secretPrefix, now })}${received}${body}</div></details></li>`
}

function withoutHeaders({ status, responseStatus }: WholeAttempt): string {
  if (status === 'interrupted')
    return 'The process ended during this attempt: your server may have got the event.'
  return responseStatus === null
    ? 'No request was sent, so there is no header and no answer.'
    : 'The headers of this attempt were not kept.'
}

function sentHeaders(
  attempt: WholeAttempt,
  { secretPrefix, now }: Pick<Item, 'secretPrefix' | 'now'>,
): Html {
  const { sentAt, signatures, id, eventId, eventType, position, trigger } = attempt
  if (sentAt === null) return html`<p class="small muted">${withoutHeaders(attempt)}</p>`
  const isTest = trigger === 'test'
  const sent = { id, eventId, eventType, attempt: attempt.attempt, position, isTest }
  const isHidden = now.getTime() < sentAt.getTime() + signatureHiddenMs
  const shown = Object.entries(signatures ?? {}).map(([name, value]): [string, string] => [
    name,
    isHidden ? 'shown 5 minutes after it was sent' : value,
  ])
  return headerList(
    'Sent',
    [...Object.entries(unsignedHeaders(sent, sentAt)), ...shown],
    html`<p class="small muted">Signed with the secret of that time. The one of today begins with <code>${secretPrefix}</code>.</p>`,
  )
}

function headerList(title: string, rows: readonly [string, string][], more: Part = false): Html {
  return html`<div class="stack tight"><h3 class="small">${title}</h3><dl class="headers">${rows.map(([name, value]) => html`<dt>${name.toLowerCase()}</dt><dd>${value}</dd>`)}</dl>${more}</div>`
}

function indented(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2)
}
