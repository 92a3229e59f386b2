/** The page of the account's webhook endpoints. */
import { Type } from 'typebox'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { type EndpointHealth, findEndpointHealth } from '../../webhooks/api.ts'
import { retrySpan } from '../../webhooks/delivery/retry.ts'
import { card, empty, none, pageHead, results, table } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { count, counted, timeTag } from '../text.ts'
import { endpointPath, webhooksPath as path, stateBadge, urlText } from './webhook-words.ts'

const resultOf = results({
  positive: {
    disabled:
      'The endpoint is disabled. Nothing more is sent to it. You can enable it again for 30 days.',
  },
})

export function webhooksPage(context: PagesContext): Endpoint[] {
  const span = retrySpan(context.retryWaitsSeconds)
  return dashboardPage(context, {
    name: 'webhooksPage',
    path,
    entry: path,
    queryParameters: Type.Object({ done: queryText }),
    async show({ session, now, query }) {
      const all = await findEndpointHealth(context.db, { userId: session.accountId }, now)
      const active = all.filter(({ disabledAt }) => disabledAt === null)
      const disabled = all.filter(({ disabledAt }) => disabledAt !== null)
      const add = html`<a class="button primary" href="${path}/new">${icon('plus')}Add endpoint</a>`
      return {
        title: 'Webhooks',
        main: html`${resultOf(query.done)}
${pageHead({
  title: 'Webhooks',
  text: 'Your server gets an event when a score, a credential, a dispute or a consent changes.',
  ...(active.length > 0 ? { actions: add } : {}),
})}
${card({
  title: 'Endpoints',
  isFlush: true,
  body:
    active.length === 0
      ? nothingYet(add, { hasDisabled: disabled.length > 0, span })
      : endpointTable('Endpoints', active, now),
})}
${
  disabled.length > 0 &&
  card({
    title: 'Disabled',
    text: 'A disabled endpoint is deleted after 30 days.',
    isFlush: true,
    body: endpointTable('Disabled', disabled, now),
  })
}`,
      }
    },
  })
}

function nothingYet(
  action: Part,
  { hasDisabled, span }: { hasDisabled: boolean; span: string },
): Html {
  return empty({
    icon: 'hook',
    title: hasDisabled ? 'No active endpoint' : 'No endpoint yet',
    text: `Add the URL of your server. Each event is signed, and is sent again for ${span} until your server takes it.`,
    action,
  })
}

function endpointTable(label: string, rows: readonly EndpointHealth[], now: Date): Html {
  const last = ({ lastSuccessAt, lastFailureAt }: EndpointHealth) => {
    const times = [lastSuccessAt, lastFailureAt].filter((time) => time !== null)
    return times.length === 0 ? null : new Date(Math.max(...times.map(Number)))
  }
  return table<EndpointHealth>({
    label,
    rows,
    columns: [
      {
        head: 'Endpoint',
        cell: (row) =>
          html`<a class="break strong" href="${endpointPath(row.id)}">${urlText(row.url)}</a><span class="sub break" dir="auto">${row.description ?? counted(row.eventTypes.length, 'event type')}</span><span class="sub narrow-only">${stateBadge(row, now)}</span>`,
      },
      { head: 'State', priority: 2, isFit: true, cell: (row) => stateBadge(row, now) },
      {
        head: 'Events',
        priority: 3,
        isNumber: true,
        cell: ({ eventTypes }) => count(eventTypes.length),
      },
      { head: 'Waiting', priority: 3, isNumber: true, cell: ({ waiting }) => count(waiting) },
      {
        head: 'Last attempt',
        isNumber: true,
        priority: 2,
        cell: (row) => {
          const time = last(row)
          return time === null ? none : timeTag(time, now)
        },
      },
    ],
  })
}
