/** The page of one webhook endpoint: how it does, what was sent to it, and what can be done. */
import { Type } from 'typebox'
import { memberCaller } from '../../operations/callers.ts'
import type { Operation } from '../../operations/operation.ts'
import { perform, performAny } from '../../operations/perform.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { type ErrorName, refuse } from '../../platform/http/errors.ts'
import type { ShownAttempt } from '../../webhooks/delivery/delivery-store.ts'
import {
  type EndpointHealth,
  findAttemptsBy,
  findEndpointHealth,
  findHours,
  type HourOfDeliveries,
} from '../../webhooks/delivery/history-store.ts'
import { attemptResults } from '../../webhooks/delivery/outcome.ts'
import { webhooksTest } from '../../webhooks/delivery-operations.ts'
import type { WebhookPerformer } from '../../webhooks/endpoints/handlers.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import { eventTypeNames } from '../../webhooks/events/event-types.ts'
import type { WebhookServices } from '../../webhooks/operation-parts.ts'
import { webhooksEnable, webhooksPause, webhooksResume } from '../../webhooks/operations.ts'
import { webhooksActivateSecret } from '../../webhooks/secret-operations.ts'
import { barChart, legend, sparkline } from '../chart.ts'
import {
  actionForm,
  type Column,
  card,
  empty,
  facts,
  hidden,
  idValue,
  menu,
  none,
  notice,
  pageHead,
  pagination,
  selectField,
  submit,
  table,
  textField,
  tiles,
} from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import {
  type DashboardPage,
  dashboardPage,
  type PagesContext,
  queryText,
  type Shown,
} from '../page.ts'
import {
  count,
  counted,
  dateTag,
  dueTag,
  duration,
  fullTime,
  percent,
  shortId,
  timeTag,
} from '../text.ts'
import { hintFor } from './webhook-hints.ts'
import {
  answerWord,
  attemptBadge,
  disabledText,
  endpointPath,
  eventPath,
  hostOf,
  isFailing,
  stateBadge,
  urlText,
  webhooksPath,
} from './webhook-words.ts'

const pageLength = 20
const hourMs = 3_600_000
const hoursShown = 24
const testPauseMs = 60_000
const eventIdForm = /^evt_(test_)?[0-9a-f]{32}$/

export interface WebhookPageOptions extends PagesContext {
  performer: WebhookPerformer
}

const doneNotices: Readonly<Record<string, { title: string; text: string }>> = {
  paused: { title: 'The endpoint is paused.', text: 'Events wait until you resume it.' },
  resumed: { title: 'The endpoint receives again.', text: 'What waited is sent now.' },
  enabled: {
    title: 'The endpoint is enabled.',
    text: 'It receives from the next event on. Ask the operator to replay events that it missed.',
  },
  activated: {
    title: 'The new secret signs now.',
    text: 'For one more day each delivery also carries a signature with the old one.',
  },
}

const problemNotices: Readonly<Record<string, { title: string; text: string }>> = {
  rate_limited: {
    title: 'The test event was not sent.',
    text: 'An endpoint takes one test event a minute.',
  },
  webhook_endpoints_maximum: {
    title: 'The endpoint was not enabled.',
    text: 'The account has its maximum of active endpoints. Disable another one first.',
  },
  webhook_endpoint_disabled: {
    title: 'Nothing was changed.',
    text: 'The endpoint is disabled. Enable it first.',
  },
}

const queryParameters = Type.Object({
  done: queryText,
  status: queryText,
  type: queryText,
  event: queryText,
  before: queryText,
})

export function webhookPage(options: WebhookPageOptions): Endpoint[] {
  const { db } = options
  return dashboardPage(options, {
    name: 'webhookPage',
    path: `${webhooksPath}/{endpointId}`,
    entry: webhooksPath,
    pathParameters: endpointIdPath,
    queryParameters,
    async show({ session, path: { endpointId }, query, now }) {
      const userId = session.accountId
      const filter = filterOf(query)
      const since = new Date(
        Math.floor(now.getTime() / hourMs) * hourMs - (hoursShown - 1) * hourMs,
      )
      const [[endpoint], hours, attempts] = await Promise.all([
        findEndpointHealth(db, { userId, endpointId }, now),
        findHours(db, { endpointId, userId, since }),
        findAttemptsBy(db, { endpointId, userId, ...filter, limit: pageLength + 1 }),
      ])
      if (endpoint === undefined) return refuse('not_found', { message: noEndpoint })
      const isActive = endpoint.disabledAt === null
      const deliveries = deliveriesCard(endpoint, { attempts, filter, now })
      const test = isActive && testCard(endpoint, now)
      const wasUsed =
        attempts.length > 0 || hours.some(({ hour }) => hour !== null) || endpoint.waiting > 0
      const isShort = !wasUsed && !isFiltered(filter)
      return {
        title: `Endpoint ${endpoint.url}`,
        main: html`${resultNotice(query.done)}
${headOf(endpoint, now)}
${query.done !== 'paused' && stateNotice(endpoint, attempts, now)}
${
  isShort
    ? html`<div class="columns even${isActive && ' main-side'}">${deliveries}${test}</div>`
    : html`${summaryTiles(endpoint, hours, now)}
<div class="columns even${isActive && ' main-side'}">${chartCard(hours, { since, now })}${test}</div>
${deliveries}`
}
<div class="columns half even">${configuration(endpoint)}${secretCard(endpoint, now)}</div>`,
      }
    },
    actions: endpointActions(options),
  })
}

type Actions = NonNullable<DashboardPage<typeof endpointIdPath, typeof queryParameters>['actions']>

function endpointActions({ performer }: WebhookPageOptions): Actions {
  const by =
    (operation: Operation<WebhookServices>, done: string): Actions[string] =>
    async ({ session, requestId, path: { endpointId } }) => {
      const member = memberCaller(session, requestId)
      const moved = await performAny(performer, operation, member, { endpointId })
      return 'refusal' in moved ? refused(endpointId, moved.refusal) : back(endpointId, done)
    }
  return {
    async test({ session, requestId, path: { endpointId } }, { eventType: chosen }) {
      const eventType = eventTypeNames.find((name) => name === chosen)
      if (eventType === undefined)
        return refuse('invalid_parameter', { message: 'Choose an event type.' })
      const input = { endpointId, eventType }
      const member = memberCaller(session, requestId)
      const queued = await perform(performer, webhooksTest, member, input)
      if ('refusal' in queued) return refused(endpointId, queued.refusal)
      return { redirectTo: `${eventPath(endpointId, queued.output.eventId)}?done=queued` }
    },
    pause: by(webhooksPause, 'paused'),
    resume: by(webhooksResume, 'resumed'),
    enable: by(webhooksEnable, 'enabled'),
    // Without an announced secret, it was activated before, or became active by itself.
    activate: by(webhooksActivateSecret, 'activated'),
  }
}

function refused(endpointId: string, refusal: ErrorName): Shown {
  if (refusal === 'webhook_endpoint_not_found') return refuse('not_found', { message: noEndpoint })
  return back(endpointId, refusal === 'webhook_secret_not_announced' ? 'activated' : refusal)
}

export const noEndpoint = 'This account has no such webhook endpoint.'

function back(endpointId: string, done: string): { redirectTo: string } {
  return { redirectTo: `${endpointPath(endpointId)}?done=${done}` }
}

function resultNotice(done: string | undefined): Html | false {
  const good = doneNotices[done ?? '']
  const bad = problemNotices[done ?? '']
  if (good !== undefined) return notice({ tone: 'positive', ...good, isResult: true })
  return bad !== undefined && notice({ tone: 'warning', ...bad, isResult: true })
}

function headOf(endpoint: EndpointHealth, now: Date): Html {
  const { id, url, description, eventTypes, createdAt, disabledAt, pausedAt } = endpoint
  const path = endpointPath(id)
  const pausing =
    pausedAt === null
      ? actionForm(path, 'pause', { label: html`${icon('pause')}Pause` })
      : actionForm(path, 'resume', { label: html`${icon('play')}Resume` })
  const more = menu({
    label: 'More actions',
    items: html`<a href="${path}/rotate">${icon('refresh')}Rotate secret</a><a href="${path}/replace-secret">${icon('key')}Replace a leaked secret</a><hr><a class="danger" href="${path}/disable">${icon('trash')}Disable endpoint</a>`,
  })
  return pageHead({
    title: urlText(url),
    badge: stateBadge(endpoint, now),
    text: html`${description !== null && html`<bdi>${description}</bdi> · `}${counted(eventTypes.length, 'event type')} · created ${dateTag(createdAt)}`,
    above: [{ title: 'Webhooks', url: webhooksPath }],
    shortTitle: 'Endpoint',
    actions:
      disabledAt === null
        ? html`${pausing}${more}`
        : actionForm(path, 'enable', { label: 'Enable endpoint', kind: 'primary' }),
  })
}

function stateNotice(
  endpoint: EndpointHealth,
  attempts: readonly ShownAttempt[],
  now: Date,
): Html | false {
  const { id, disabledAt, pausedAt, consecutiveFailures, nextDueAt, waiting } = endpoint
  if (disabledAt !== null)
    return notice({
      tone: 'warning',
      title: 'This endpoint is disabled: nothing is sent to it.',
      text: html`${disabledText(endpoint)} It was disabled ${timeTag(disabledAt, now)}.`,
    })
  if (pausedAt !== null)
    return notice({
      tone: 'info',
      title: 'This endpoint is paused.',
      text: html`It was paused ${timeTag(pausedAt, now)}. ${waiting === 0 ? 'Nothing waits.' : `${counted(waiting, 'delivery waits', 'deliveries wait')} until you resume it.`}`,
    })
  if (!isFailing(endpoint)) return false
  const failed = attempts.find(({ status }) => status === 'failed')
  const hint = failed === undefined ? null : hintFor(failed, hostOf(endpoint.url))
  return notice({
    tone: 'warning',
    title: `The last ${count(consecutiveFailures)} attempts failed.`,
    text: html`${hint !== null && html`${hint} `}${nextDueAt !== null && html`The next attempt is ${dueTag(nextDueAt, now)}. `}If nothing but failures follow for 5 days, the endpoint is disabled.${
      failed !== undefined &&
      html` <a href="${eventPath(id, failed.eventId)}">See the answer of your server</a>`
    }`,
  })
}

function summaryTiles(
  { waiting, nextDueAt }: EndpointHealth,
  hours: readonly HourOfDeliveries[],
  now: Date,
): Html {
  const all = hours.find(({ hour }) => hour === null)
  const [succeeded, failed] = [all?.succeeded ?? 0, all?.failed ?? 0]
  return tiles([
    {
      label: 'Delivered, 24 h',
      value: percent(succeeded, succeeded + failed),
      comparison:
        succeeded + failed === 0
          ? 'Nothing sent'
          : `${count(succeeded)} of ${counted(succeeded + failed, 'attempt')}`,
    },
    {
      label: 'Failed, 24 h',
      value: count(failed),
      comparison: failed === 0 ? 'No attempt' : `Of ${counted(succeeded + failed, 'attempt')}`,
    },
    {
      label: 'Median duration, 24 h',
      value: all?.medianMs == null ? '–' : duration(all.medianMs),
      comparison: all?.p95Ms == null ? 'Nothing sent' : `p95 ${duration(all.p95Ms)}`,
    },
    {
      label: 'Waiting',
      value: count(waiting),
      comparison:
        nextDueAt !== null
          ? html`Next ${dueTag(nextDueAt, now)}`
          : waiting === 0
            ? 'Nothing to send'
            : 'Nothing is sent while paused',
    },
  ])
}

function chartCard(
  hours: readonly HourOfDeliveries[],
  { since, now }: { since: Date; now: Date },
): Html {
  const byHour = new Map(hours.map((hour) => [hour.hour?.getTime(), hour]))
  const shown = Array.from({ length: hoursShown }, (_, i) => {
    const start = since.getTime() + i * hourMs
    const found = byHour.get(start)
    return {
      label: `${new Date(start).toISOString().slice(11, 13)}:00`,
      good: found?.succeeded ?? 0,
      bad: found?.failed ?? 0,
      medianMs: found?.medianMs ?? null,
    }
  })
  const total = shown.reduce((sum, { good, bad }) => sum + good + bad, 0)
  const body =
    total === 0
      ? empty({
          icon: 'chart',
          title: 'Nothing was sent in the last 24 hours',
          text: 'Send a test event to see how your server answers.',
        })
      : html`<figure>${barChart({
          sentence: `Attempts in each of the last 24 hours until ${fullTime(now)}. Table below.`,
          bars: shown,
          goodWord: 'delivered',
          badWord: 'failed',
        })}</figure>
${durationLine(shown.map(({ medianMs }) => medianMs))}
<details class="fold inline"><summary>Show as a table</summary>${table<(typeof shown)[number]>({
          label: 'Deliveries by hour',
          isTall: true,
          rows: shown.toReversed(),
          columns: [
            { head: 'Hour (UTC)', cell: ({ label }) => label },
            { head: 'Delivered', isNumber: true, cell: ({ good }) => count(good) },
            { head: 'Failed', isNumber: true, cell: ({ bad }) => count(bad) },
            {
              head: 'Median',
              isNumber: true,
              cell: ({ medianMs }) => (medianMs === null ? none : duration(medianMs)),
            },
          ],
        })}</details>`
  return card({
    title: 'Deliveries by hour, UTC',
    ...(total === 0 ? {} : { aside: legend('Delivered', 'Failed') }),
    body,
  })
}

/** The median duration of each hour, as a line. */
function durationLine(medians: readonly (number | null)[]): Html | false {
  const known = medians.filter((median) => median !== null)
  if (known.length < 3) return false
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const range = `${duration(low)} to ${duration(high)}`
  const last = duration(known.at(-1) ?? 0)
  return html`<div class="stack tight"><div class="row apart small"><span>Median duration</span><span class="muted number">${range}, now <strong>${last}</strong></span></div>${sparkline({ sentence: `Median duration by hour: ${range}, now ${last}. Table below.`, values: medians })}</div>`
}

function testCard({ id, testedAt, eventTypes }: EndpointHealth, now: Date): Html {
  const waitMs = testedAt === null ? 0 : testedAt.getTime() + testPauseMs - now.getTime()
  const over = 'You can send a test event now.'
  const timer =
    waitMs > 0 &&
    html`<p class="muted small" role="timer" data-seconds="${Math.ceil(waitMs / 1_000)}" data-enables="send-test" data-before="Next test event in" data-over="${over}">Next test event after ${fullTime(new Date(now.getTime() + waitMs)).split(', ')[1]}.</p>`
  return card({
    title: 'Send a test event',
    text: html`It has fictional data and an id that begins with <code>evt_test_</code>.`,
    body: html`<form class="stack" method="post" action="${endpointPath(id)}">${hidden('do', 'test')}${selectField(
      {
        name: 'eventType',
        label: 'Event type',
        value: eventTypes[0] ?? 'score.updated',
        choices: eventTypeNames.map((name) => ({ value: name, label: name })),
      },
    )}<button class="button primary" type="submit" id="send-test">${icon('send')}Send test event</button>${timer}</form>`,
  })
}

interface Filter {
  status: ShownAttempt['status'] | null
  eventType: string | null
  eventId: string | null
  before: { startedAt: Date; id: string } | null
}

function isFiltered({ status, eventType, eventId, before }: Filter): boolean {
  return status !== null || eventType !== null || eventId !== null || before !== null
}

/** Reads the filter. Ignores unknown values, so that an old link still shows the page. */
function filterOf(query: Readonly<Record<string, string | undefined>>): Filter {
  const { status, type, event = '', before = '' } = query
  const [, at = '', id = ''] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(before) ?? []
  return {
    status: attemptResults.find((known) => known === status) ?? null,
    eventType: eventTypeNames.find((known) => known === type) ?? null,
    eventId: eventIdForm.test(event.trim()) ? event.trim() : null,
    before: at === '' ? null : { startedAt: new Date(Number(at)), id },
  }
}

function deliveriesCard(
  { id }: EndpointHealth,
  { attempts, filter, now }: { attempts: readonly ShownAttempt[]; filter: Filter; now: Date },
): Html {
  const path = endpointPath(id)
  const { status, eventType, eventId, before } = filter
  const hasFilter = isFiltered({ ...filter, before: null })
  const rows = attempts.slice(0, pageLength)
  const last = attempts.length > pageLength ? rows.at(-1) : undefined
  const url = (more: Record<string, string>) => {
    const query = new URLSearchParams({
      ...(status === null ? {} : { status }),
      ...(eventType === null ? {} : { type: eventType }),
      ...(eventId === null ? {} : { event: eventId }),
      ...more,
    })
    return `${path}?${query.toString()}#deliveries`
  }
  const filters = html`<form class="filters" method="get" action="${path}#deliveries">
${selectField({
  name: 'status',
  label: 'Status',
  value: status ?? '',
  choices: [
    { value: '', label: 'All' },
    { value: 'succeeded', label: 'Delivered' },
    { value: 'failed', label: 'Failed' },
    { value: 'interrupted', label: 'Interrupted' },
  ],
})}${selectField({
  name: 'type',
  label: 'Type',
  value: eventType ?? '',
  choices: [
    { value: '', label: 'All' },
    ...eventTypeNames.map((name) => ({ value: name, label: name })),
  ],
})}${textField({ name: 'event', label: 'Event ID', value: eventId ?? '' })}${submit({ label: 'Apply' })}${hasFilter && html`<a class="button quiet" href="${path}#deliveries">Clear filters</a>`}</form>`
  const nothing = hasFilter
    ? empty({
        icon: 'search',
        title: 'No delivery fits these filters',
        text: 'Deliveries are kept for 30 days.',
        action: html`<a class="button" href="${path}#deliveries">Clear filters</a>`,
      })
    : empty({
        icon: 'send',
        title: 'Nothing was sent yet',
        text: 'Send a test event, or wait for the next event of the chosen types. It appears here with the answer of your server.',
      })
  return card({
    title: 'Deliveries',
    isFlush: true,
    body: html`${(hasFilter || attempts.length > 0) && filters}${
      rows.length === 0 ? nothing : attemptTable(id, rows, now)
    }${
      (last !== undefined || before !== null) &&
      pagination({
        summary: before === null ? counted(rows.length, 'newest attempt') : 'Older attempts',
        newer: before === null ? undefined : url({}),
        older:
          last === undefined
            ? undefined
            : url({ before: `${last.requestedAt.getTime()}.${last.id}` }),
      })
    }`,
  })
}

const triggerTags: Partial<Record<ShownAttempt['trigger'], string>> = {
  manual: 'Resent',
  recovery: 'Replayed',
  test: 'Test',
}

function triggerTag({ trigger }: ShownAttempt): Html | false {
  const tag = triggerTags[trigger]
  return tag !== undefined && html` <span class="tag">${tag}</span>`
}

/** Attempts of all events of an endpoint. */
function attemptTable(endpointId: string, rows: readonly ShownAttempt[], now: Date): Html {
  const event: Column<ShownAttempt> = {
    head: 'Event',
    cell: (row) =>
      html`<a class="break" href="${eventPath(endpointId, row.eventId)}">${row.eventType}</a>${triggerTag(row)}<span class="sub mono keep" title="${row.eventId}">${shortId(row.eventId)}</span><span class="sub narrow-only">${timeTag(row.requestedAt, now)} · ${answerWord(row)}${row.durationMs !== null && ` · ${duration(row.durationMs)}`}</span>`,
  }
  const attempt: Column<ShownAttempt> = {
    head: 'Attempt',
    priority: 3,
    isNumber: true,
    cell: ({ attempt }) => count(attempt),
  }
  const [status, ...rest] = attemptColumns(now)
  return table({ label: 'Deliveries', rows, columns: [status, event, attempt, ...rest] })
}

/** Attempts of one event. */
export function eventAttemptTable(rows: readonly ShownAttempt[], now: Date): Html {
  const attempt: Column<ShownAttempt> = {
    head: 'Attempt',
    cell: (row) =>
      html`${count(row.attempt)}${triggerTag(row)}<span class="sub narrow-only">${timeTag(row.requestedAt, now)}${row.durationMs !== null && ` · ${duration(row.durationMs)}`}</span>`,
  }
  const [status, answer, ...rest] = attemptColumns(now)
  const shown = {
    ...answer,
    cell: (row: ShownAttempt) =>
      html`<span class="break">${answerWord(row)}</span>${row.errorCause !== null && html`<span class="sub break">${row.errorCause}</span>`}`,
  }
  delete shown.priority
  return table({ label: 'Attempts', rows, columns: [status, attempt, shown, ...rest] })
}

function attemptColumns(
  now: Date,
): [Column<ShownAttempt>, Column<ShownAttempt>, ...Column<ShownAttempt>[]] {
  return [
    { head: 'Status', isFit: true, cell: ({ status }) => attemptBadge(status) },
    { head: 'Answer', priority: 2, cell: answerWord },
    {
      head: 'Duration',
      priority: 2,
      isNumber: true,
      cell: ({ durationMs }) => (durationMs === null ? none : duration(durationMs)),
    },
    {
      head: 'Next attempt',
      priority: 3,
      // A time that has passed belongs to an attempt with a row of its own.
      cell: ({ nextAttemptAt }) =>
        nextAttemptAt !== null && nextAttemptAt > now ? timeTag(nextAttemptAt, now) : none,
    },
    { head: 'Sent', priority: 2, isNumber: true, cell: (row) => timeTag(row.requestedAt, now) },
  ]
}

function configuration({ id, url, eventTypes }: EndpointHealth): Html {
  return card({
    title: 'Configuration',
    body: facts([
      { label: 'URL', value: html`<span class="mono">${url}</span>` },
      {
        label: 'Events',
        value: html`<span class="row">${eventTypes.map((name) => html`<span class="tag"><code>${name}</code></span>`)}</span>`,
      },
      { label: 'Endpoint ID', value: idValue('endpoint-id', id) },
    ]),
  })
}

function secretCard(endpoint: EndpointHealth, now: Date): Html {
  const { id, secretPrefix, nextSecretSignsFrom, previousSecretEndsAt, disabledAt } = endpoint
  const path = endpointPath(id)
  const state: Part =
    nextSecretSignsFrom !== null
      ? html`<p>A new secret is announced. It signs ${timeTag(nextSecretSignsFrom, now)}; until then a second header carries its signature.</p>`
      : previousSecretEndsAt !== null
        ? html`<p>The previous secret signs beside this one, until ${timeTag(previousSecretEndsAt, now)}.</p>`
        : html`<p class="muted">A rotation leaves no gap: both secrets sign for a day. If the secret has leaked, replace it: the old one then signs nothing more.</p>`
  const rotate =
    nextSecretSignsFrom === null
      ? html`<a class="button" href="${path}/rotate">Rotate secret</a>`
      : actionForm(path, 'activate', { label: 'Activate it now' })
  return card({
    title: 'Signing secret',
    body: html`${facts([{ label: 'Begins with', value: html`<code>${secretPrefix}…</code>` }])}${state}<div class="row"${attributes({ hidden: disabledAt !== null })}>${rotate}<a class="button danger" href="${path}/replace-secret">Replace a leaked secret</a></div>`,
  })
}
