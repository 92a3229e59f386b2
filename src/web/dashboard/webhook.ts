/** The pages of one webhook endpoint: its events, how it does, and its configuration. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import type { OutputOf } from '../../operations/perform.ts'
import { type ErrorName, refuse } from '../../platform/errors.ts'
import {
  type EndpointHealth,
  findEndpointHealth,
  findEvents,
  findHours,
  findLatestFailure,
  findUndelivered,
  type ShownAttempt,
} from '../../webhooks/api.ts'
import { bulkResendMax, replayDaysMax, testPauseMs } from '../../webhooks/delivery/resend.ts'
import {
  resentIdsMax,
  webhooksDns,
  webhooksResendMany,
  webhooksTest,
} from '../../webhooks/delivery-operations.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import { eventTypeNames } from '../../webhooks/events/event-types.ts'
import { webhooksEnable, webhooksPause, webhooksResume } from '../../webhooks/operations.ts'
import { webhooksActivateSecret } from '../../webhooks/secret-operations.ts'
import {
  actionForm,
  badge,
  card,
  chosenBoxes,
  confirmation,
  empty,
  facts,
  hidden,
  idValue,
  menu,
  notice,
  type PageHead,
  type Results,
  result,
  selectField,
  table,
  tabs,
} from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import {
  type DeclaredPage,
  dashboardPage,
  type PagesContext,
  queryText,
  type Shown,
  type View,
  type Visit,
} from '../page.ts'
import { count, counted, dateTag, dueTag, fullTime, timeTag } from '../text.ts'
import { eventsCard, eventsFilterOf, eventsPageLength, sinceOf } from './webhook-events.ts'
import { chartCard, healthSince, summaryTiles } from './webhook-health.ts'
import { hintFor } from './webhook-hints.ts'
import {
  aboveEndpoint,
  disabledText,
  endpointPath,
  eventPath,
  hostOf,
  isFailing,
  stateBadge,
  urlText,
  webhooksPath,
} from './webhook-words.ts'

const outcomes: Results = {
  positive: {
    paused: 'The endpoint is paused. Events wait until you resume it.',
    resumed: 'The endpoint receives again. What waited is sent now.',
    enabled:
      'The endpoint is enabled. It receives from the next event on. Ask the operator to replay events that it missed.',
    activated:
      'The new secret signs now. For one more day each delivery also carries a signature with the old one.',
  },
  warning: {
    rate_limited: 'The test event was not sent. An endpoint takes one test event a minute.',
    webhook_endpoints_maximum:
      'The endpoint was not enabled. The account has its maximum of active endpoints. Disable another one first.',
    webhook_resend_running:
      'No event was sent again. Events of the last bulk resend are still waiting. Try again once they are sent.',
    webhook_event_not_found:
      'No event was sent again. One of the events is no longer kept, or may no longer be sent.',
    unchosen: 'No event was sent again. Choose at least one event.',
    none: 'No event was sent again. Every event of the last 14 days was delivered.',
    dns_asked:
      'The DNS was not asked. It is asked once a minute for an endpoint. Try again in a minute.',
    webhook_endpoint_disabled: 'Nothing was changed. The endpoint is disabled. Enable it first.',
  },
}

const queryParameters = Type.Object({
  done: queryText,
  count: queryText,
  state: queryText,
  answer: queryText,
  type: queryText,
  time: queryText,
  event: queryText,
  before: queryText,
})

const tabsOfEndpoint = [
  { end: '', title: 'Events' },
  { end: '/health', title: 'Health' },
  { end: '/configuration', title: 'Configuration and secret' },
]

export function webhookPage(options: PagesContext): Endpoint[] {
  const { db } = options
  return [
    ...tab(options, {
      end: '',
      results: outcomes,
      actions: endpointActions,
      async read({ session: { accountId: userId }, path: { endpointId }, query, now }) {
        const filter = eventsFilterOf(query)
        const { time: _, ...wanted } = { ...filter, since: sinceOf(filter, now) }
        const limit = eventsPageLength + 1
        const found = await findEvents(db, { endpointId, userId, ...wanted, limit })
        return (endpoint) => {
          const events = eventsCard(endpoint, { ...found, filter, key: randomUUID(), now })
          const test = endpoint.disabledAt === null && testCard(endpoint, now)
          return html`<div class="stack loose">${events}${test}</div>`
        }
      },
    }),
    ...tab(options, {
      end: '/health',
      async read({ session: { accountId: userId }, path: { endpointId }, now }) {
        const since = healthSince(now)
        const hours = await findHours(db, { endpointId, userId, since })
        return (endpoint) =>
          html`${summaryTiles(endpoint, hours, now)}${chartCard(hours, { since, now })}`
      },
    }),
    ...tab(options, {
      end: '/configuration',
      read:
        async ({ now }) =>
        (endpoint) =>
          html`<div class="columns half even">${configuration(endpoint)}${secretCard(endpoint, now)}</div>`,
    }),
    ...bulkResendPage(options),
  ]
}

type PageOfEndpoint = DeclaredPage<typeof endpointIdPath, typeof queryParameters>

interface Tab extends Pick<PageOfEndpoint, 'results' | 'actions'> {
  end: string
  /** Reads what the tab shows, beside the endpoint, and returns how to show it. */
  read(visit: Parameters<PageOfEndpoint['show']>[0]): Promise<(endpoint: EndpointHealth) => Html>
}

/** The head of the endpoint, its state, and one of its tabs. */
function tab(context: PagesContext, { end, read, ...more }: Tab): Endpoint[] {
  const { db } = context
  return dashboardPage(context, {
    path: `${webhooksPath}/{endpointId}${end}`,
    entry: webhooksPath,
    pathParameters: endpointIdPath,
    queryParameters,
    ...more,
    async show(visit) {
      const { session, path, query, now } = visit
      const of = { userId: session.accountId, endpointId: path.endpointId }
      const [[endpoint], failure, show] = await Promise.all([
        findEndpointHealth(db, of, now),
        findLatestFailure(db, of),
        read(visit),
      ])
      if (endpoint === undefined) return noEndpoint
      const links = tabsOfEndpoint.map((one) => ({
        url: `${endpointPath(endpoint.id)}${one.end}`,
        title: one.title,
        isCurrent: one.end === end,
      }))
      return {
        title: `Endpoint ${endpoint.url}`,
        top: query.done === 'resent' && resentNotice(query.count),
        head: headOf(endpoint, now),
        main: html`${query.done === undefined && stateNotice(endpoint, failure, now)}
${tabs('Endpoint', links)}
${show(endpoint)}`,
      }
    },
  })
}

const resendDaysMs = replayDaysMax * 86_400_000

/** Confirms the resend of all events that were not delivered, with their number. */
function bulkResendPage(options: PagesContext): Endpoint[] {
  const { db } = options
  return dashboardPage(options, {
    path: `${webhooksPath}/{endpointId}/resend`,
    entry: webhooksPath,
    pathParameters: endpointIdPath,
    show: (visit) =>
      withEndpoint(options, visit, async (endpoint) => {
        const { id: endpointId } = endpoint
        const since = new Date(visit.now.getTime() - resendDaysMs)
        const of = { endpointId, eventType: null, since, limit: bulkResendMax + 1 }
        const found = (await findUndelivered(db, of)).length
        if (found === 0) return back(endpointId, 'none')
        const events =
          found > bulkResendMax
            ? `The oldest ${count(bulkResendMax)} events`
            : counted(found, 'event that was not delivered', 'events that were not delivered')
        return {
          title: 'Resend events',
          main: confirmation({
            title: `Resend ${found > bulkResendMax ? `${count(bulkResendMax)} events` : counted(found, 'event')}?`,
            text: `${events} of the last ${replayDaysMax} days ${found === 1 ? 'is' : 'are'} sent to ${hostOf(endpoint.url)} once more, twenty a second. ${endpoint.pausedAt === null ? 'Your server sees the same event ids again.' : 'Nothing is sent while paused.'}`,
            url: endpointPath(endpointId),
            action: 'resend',
            fields: { all: 'true', key: randomUUID() },
            button: 'Resend events',
            isDestructive: false,
            cancel: { label: 'Resend nothing', url: endpointPath(endpointId) },
            above: aboveEndpoint(endpointId),
          }),
        }
      }),
  })
}

type Actions = NonNullable<PageOfEndpoint['actions']>

const by =
  (operation: Operation<PagesContext['services']>, done: string): Actions[string] =>
  async ({ perform, path: { endpointId } }) => {
    const moved = await perform(operation, { endpointId })
    return 'refusal' in moved ? refused(endpointId, moved.refusal) : back(endpointId, done)
  }

const endpointActions: Actions = {
  async test({ perform, path: { endpointId } }, { eventType: chosen }) {
    const eventType = eventTypeNames.find((name) => name === chosen)
    if (eventType === undefined)
      return refuse('invalid_parameter', { message: 'Choose an event type.' })
    const input = { endpointId, eventType }
    const queued = await perform(webhooksTest, input)
    if ('refusal' in queued) return refused(endpointId, queued.refusal)
    return { redirectTo: `${eventPath(endpointId, queued.output.eventId)}?done=queued` }
  },
  async resend({ perform, path: { endpointId } }, { all, key = '', ...fields }) {
    const eventIds = chosenBoxes(fields, 'event').slice(0, resentIdsMax)
    if (all !== 'true' && eventIds.length === 0) return back(endpointId, 'unchosen')
    const input = { endpointId, ...(all === 'true' ? {} : { eventIds }) }
    const idempotencyKey = uuidForm.test(key) ? key : null
    const resent = await perform(webhooksResendMany, input, { idempotencyKey })
    if ('refusal' in resent) return refused(endpointId, resent.refusal)
    const { queued } = resent.output
    if (queued === 0) return back(endpointId, 'none')
    return { redirectTo: `${endpointPath(endpointId)}?done=resent&count=${queued}` }
  },
  async dns({ perform, path: { endpointId } }) {
    const asked = await perform(webhooksDns, { endpointId })
    return 'refusal' in asked
      ? refused(endpointId, asked.refusal === 'rate_limited' ? 'dns_asked' : asked.refusal)
      : dnsView(endpointId, asked.output)
  },
  pause: by(webhooksPause, 'paused'),
  resume: by(webhooksResume, 'resumed'),
  enable: by(webhooksEnable, 'enabled'),
  // Without an announced secret, it was activated before, or became active by itself.
  activate: by(webhooksActivateSecret, 'activated'),
}

function refused(endpointId: string, refusal: ErrorName | 'dns_asked'): Shown {
  if (refusal === 'webhook_endpoint_not_found') return noEndpoint
  return back(endpointId, refusal === 'webhook_secret_not_announced' ? 'activated' : refusal)
}

export const noEndpoint = refuse('not_found', {
  message: 'This account has no such webhook endpoint.',
})

/** Shows an endpoint of the account. */
export async function withEndpoint(
  { db }: PagesContext,
  { session, path: { endpointId }, now }: Visit<{ endpointId: string }, object>,
  work: (endpoint: EndpointHealth) => Shown | Promise<Shown>,
): Promise<Shown> {
  const [endpoint] = await findEndpointHealth(db, { userId: session.accountId, endpointId }, now)
  return endpoint === undefined ? noEndpoint : work(endpoint)
}

function back(endpointId: string, done: string): { redirectTo: string } {
  return { redirectTo: `${endpointPath(endpointId)}?done=${done}` }
}

/** The answer of the DNS, shown once. */
function dnsView(
  endpointId: string,
  { host, addresses, problem }: OutputOf<typeof webhooksDns>,
): View {
  const blocked = addresses.some(({ isAllowed }) => !isAllowed)
  const tone = problem !== null || blocked ? 'warning' : 'positive'
  const title =
    problem !== null
      ? `DNS has no address for ${host}: ${problem}.`
      : blocked
        ? `${host} leads to an address that this service does not call.`
        : `DNS has ${counted(addresses.length, 'address', 'addresses')} for ${host}.`
  return {
    title: 'DNS',
    top: result(tone, title),
    head: {
      text: 'The answer to this service, now. Waiting events use it at their next attempt.',
      above: aboveEndpoint(endpointId),
    },
    main: html`${card({
      title: 'Addresses',
      isFlush: true,
      body:
        addresses.length === 0
          ? empty({
              icon: 'search',
              title: 'No address',
              text: 'Add an A or AAAA record, or correct the host. A private zone is not visible here.',
            })
          : table<(typeof addresses)[number]>({
              label: 'Addresses',
              rows: addresses,
              columns: [
                { head: 'Address', cell: ({ address }) => html`<code>${address}</code>` },
                {
                  head: 'Use',
                  cell: ({ isAllowed }) =>
                    isAllowed
                      ? badge('positive', 'check', 'Public')
                      : badge('negative', 'cross', 'Private, not called'),
                },
              ],
            }),
    })}
<p><a class="button" href="${endpointPath(endpointId)}">Back to the endpoint</a></p>`,
  }
}

function resentNotice(queued = ''): Html | false {
  return (
    /^[1-9]\d{0,3}$/.test(queued) &&
    result(
      'positive',
      `${counted(Number(queued), 'event is', 'events are')} sent once more. They leave at twenty a second. While the endpoint is paused they wait.`,
    )
  )
}

function headOf(endpoint: EndpointHealth, now: Date): PageHead {
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
  return {
    title: urlText(url),
    badge: stateBadge(endpoint, now),
    text: html`${description !== null && html`<bdi>${description}</bdi> · `}${counted(eventTypes.length, 'event type')} · created ${dateTag(createdAt)}`,
    above: [{ title: 'Webhooks', url: webhooksPath }],
    shortTitle: 'Endpoint',
    actions:
      disabledAt === null
        ? html`${pausing}${more}`
        : actionForm(path, 'enable', { label: 'Enable endpoint', kind: 'primary' }),
  }
}

function stateNotice(
  endpoint: EndpointHealth,
  failed: ShownAttempt | undefined,
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
  const hint = failed === undefined ? null : hintFor(failed, hostOf(endpoint.url))
  return notice({
    tone: 'warning',
    title: `The last ${count(consecutiveFailures)} attempts failed.`,
    text: html`${hint !== null && html`${hint} `}${nextDueAt !== null && html`The next attempt is ${dueTag(nextDueAt, now)}. `}If nothing but failures follow for 5 days, the endpoint is disabled.${
      failed !== undefined &&
      html` <a href="${eventPath(id, failed.eventId)}">See the latest attempt</a>`
    }${isOfDns(failed) && html` ${actionForm(endpointPath(id), 'dns', { label: 'Check DNS again', isSmall: true })}`}`,
  })
}

const causesOfDns = new Set(['dns_error', 'blocked_address'])

function isOfDns(failed: ShownAttempt | undefined): boolean {
  return causesOfDns.has(failed?.errorCode ?? '')
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
