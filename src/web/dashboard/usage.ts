/** The page of usage and credits: the balance, the calls by day, what they were, and the ledger. */
import { Type } from 'typebox'
import { countByStatus, findShownKeys, type StatusCount } from '../../accounts/api.ts'
import {
  findCreditAccount,
  findLedger,
  findUsage,
  type LedgerEntry,
  type UsageOf,
} from '../../billing/api.ts'
import type { Prices } from '../../billing/credits/meters.ts'
import { lastDays } from '../../billing/credits/months.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { chartWithTable, legend, type Series } from '../chart.ts'
import { card, empty, facts, none, notice, pagination, table, tabs, tiles } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText, rowNumber } from '../page.ts'
import { count, counted, dayAndMonth, timeTag } from '../text.ts'
import { keyLink } from './keys.ts'

const path = '/dashboard/usage'
const pageLength = 20
/** Ended keys that are named. An older one is shown by its id. */
const namedKeysMax = 100
const dayMs = 86_400_000
const spans = [
  { days: 7, title: '7 days' },
  { days: 30, title: '30 days' },
  { days: 90, title: '90 days' },
]

export function usagePage(context: PagesContext): Endpoint[] {
  const { db, callsDb, requestLogDays, prices } = context
  return dashboardPage(context, {
    path,
    queryParameters: Type.Object({ days: queryText, before: queryText }),
    async show({ session: { accountId }, query, now }) {
      const span = spans.find(({ days }) => String(days) === query.days) ?? spans[0]
      const days = span?.days ?? 7
      const before = rowNumber(query.before)
      const period = { accountId, ...lastDays(days, now) }
      const [account, used, byStatus, ledger, keys] = await Promise.all([
        findCreditAccount(db, accountId),
        findUsage(db, period),
        countByStatus(callsDb, { accountId, since: new Date(now.getTime() - dayMs), until: now }),
        findLedger(db, { accountId, before, limit: pageLength + 1 }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
      ])
      const { day: byDay, meter: byMeter, operation: byOperation, key: byKey } = used
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const total = (of: (row: UsageOf) => number) => byDay.reduce((sum, row) => sum + of(row), 0)
      const spent = total(({ credits }) => credits)
      const balance = account?.balance ?? 0
      const code = (group: string) => html`<code>${group}</code>`
      const groups = [
        groupCard('By meter', byMeter, { head: 'Meter', name: code }),
        groupCard('By operation', byOperation, { head: 'Operation', name: code }),
        groupCard('By key', byKey, { head: 'Key', name: (id) => keyLink(id, names) }),
        groupCard('By status, 24 hours', byStatus, {
          head: 'Status',
          name: (group) => html`<a href="/dashboard/requests?status=${group}">${group}</a>`,
        }),
      ].filter((one) => one !== false)
      return {
        title: 'Usage and credits',
        head: {
          text: 'Reads with a live key cost credits. A call that does not answer 200 costs nothing.',
        },
        main: html`${balanceNotice({ balance, spent, days, isSuspended: account?.suspendedAt != null })}
${tabs(
  'Period',
  spans.map((one) => ({ ...one, url: `${path}?days=${one.days}`, isCurrent: one.days === days })),
)}
${tiles([
  { label: 'Balance', value: count(balance), comparison: 'Credits now' },
  { label: `Spent, ${days} days`, value: count(spent), comparison: 'Credits' },
  {
    label: `Calls, ${days} days`,
    value: count(total(({ calls }) => calls)),
    comparison: 'Charged',
  },
  {
    label: `Refunded, ${days} days`,
    value: count(total(({ refunded }) => refunded)),
    comparison: 'Calls without an answer',
  },
])}
${prices !== null && pricesCard(prices)}
${card({
  title: 'Calls by day',
  ...(byDay.length === 0 ? {} : { aside: legend(usageSeries) }),
  body: usageChart(byDay, { since: period.since, days }),
})}
${groups.length > 0 && html`<div class="columns ${groupColumns[groups.length]}">${groups}</div>`}
${ledgerCard(ledger, { before, days, names, now, loggedSince: new Date(now.getTime() - requestLogDays * dayMs) })}`,
      }
    },
  })
}

const meterTitles: Record<keyof Prices, string> = {
  score_lookup: 'A public score or credential',
  candidate_lookup: 'One candidate',
  candidate_search: 'A search, also without a result',
}

function pricesCard(prices: Prices): Html {
  const rows = Object.entries(meterTitles).map(([meter, label]) => {
    const price = prices[meter as keyof Prices]
    return { label, value: price === 0 ? 'Free' : `${counted(price, 'credit')} a call` }
  })
  return card({ title: 'Prices', body: facts(rows, 'columns') })
}

function balanceNotice({
  balance,
  spent,
  days,
  isSuspended,
}: Record<'balance' | 'spent' | 'days', number> & { isSuspended: boolean }): Html | false {
  if (isSuspended)
    return notice({
      tone: 'warning',
      title: 'The credits of this account are being checked.',
      text: 'Paid reads are answered with 503 until the operator has checked the books. Nothing is charged.',
    })
  const perDay = spent / days
  if (perDay === 0 || balance >= perDay * 7) return false
  return notice({
    tone: 'warning',
    title:
      balance === 0
        ? 'No credits are left.'
        : `${counted(balance, 'credit is', 'credits are')} left.`,
    text:
      balance === 0
        ? 'Reads with a live key are answered with 402. Ask the operator for credits.'
        : `At the rate of the last ${days} days they last for ${counted(Math.max(1, Math.floor(balance / perDay)), 'day')}. Ask the operator for credits.`,
  })
}

export const usageSeries: readonly Series[] = [
  { word: 'charged', tone: 'accent' },
  { word: 'refunded', tone: 'negative' },
]

/** Charged calls by day, as a chart and as a table. */
export function usageChart(
  byDay: readonly UsageOf[],
  { since, days }: { since: Date; days: number },
): Html {
  if (byDay.length === 0)
    return empty({
      icon: 'chart',
      title: `No charged call in the last ${days} days`,
      text: 'Reads with a test key, refused calls and calls that find nothing cost nothing.',
    })
  const found = new Map(byDay.map((row) => [row.group, row]))
  const bars = Array.from({ length: days }, (_, i) => {
    const time = new Date(since.getTime() + i * dayMs)
    const {
      calls = 0,
      refunded = 0,
      credits = 0,
    } = found.get(time.toISOString().slice(0, 10)) ?? {}
    return { label: dayAndMonth(time), values: [calls - refunded, refunded], credits }
  })
  const sentence = `Charged calls on each of the last ${days} days`
  const credits = {
    head: 'Credits',
    isNumber: true,
    cell: (bar: (typeof bars)[number]) => count(bar.credits),
  }
  return chartWithTable(
    { sentence, series: usageSeries, bars },
    { label: 'Calls by day', head: 'Day (UTC)', more: [credits] },
  )
}

/** No row holds one card beside an empty place. */
const groupColumns: Readonly<Record<number, string>> = { 3: 'third', 4: 'half' }

interface Group extends StatusCount {
  credits?: number
}

/** Shows calls by group, and their credits if they are known. */
function groupCard(
  title: string,
  rows: readonly Group[],
  { head, name }: { head: string; name: (group: string) => Part },
): Html | false {
  if (rows.length === 0) return false
  return card({
    title,
    isFlush: true,
    body: table<Group>({
      label: title,
      rows: rows.toSorted((a, b) => (b.credits ?? 0) - (a.credits ?? 0) || b.calls - a.calls),
      columns: [
        { head, cell: ({ group }) => name(group) },
        { head: 'Calls', isNumber: true, cell: ({ calls }) => count(calls) },
        ...(rows.some(({ credits }) => credits !== undefined)
          ? [{ head: 'Credits', isNumber: true, cell: ({ credits = 0 }: Group) => count(credits) }]
          : []),
      ],
    }),
  })
}

const kinds = {
  charge: 'Charge',
  void: 'Refund',
  grant: 'Grant',
  adjustment: 'Adjustment',
} as const

function ledgerCard(
  rows: readonly LedgerEntry[],
  {
    before,
    days,
    names,
    now,
    loggedSince,
  }: {
    before: number | null
    days: number
    names: ReadonlyMap<string, string>
    now: Date
    loggedSince: Date
  },
): Html {
  const entries = rows.slice(0, pageLength)
  const last = rows.length > pageLength ? entries.at(-1) : undefined
  const signed = (delta: number) =>
    delta > 0
      ? html`<span class="mark" data-tone="positive">+${count(delta)}</span>`
      : html`−${count(-delta)}`
  const what = ({ operation, reason }: LedgerEntry): Part =>
    operation === null
      ? html`<span class="break" dir="auto">${reason}</span>`
      : html`<code>${operation}</code>`
  return card({
    title: 'Ledger',
    text: 'Every change of the balance. Entries of archived months are with the operator.',
    ...(entries.length === 0
      ? {}
      : {
          aside: html`<a href="/api/account/credits.csv" download="credits.csv">Newest 10,000 entries as CSV</a>`,
        }),
    isFlush: true,
    body: html`${
      entries.length === 0
        ? empty({
            icon: 'list',
            title: 'No entry yet',
            text: 'Ask the operator for credits: the grant is the first entry.',
          })
        : table<LedgerEntry>({
            label: 'Ledger',
            rows: entries,
            columns: [
              { head: 'Entry', isFit: true, cell: ({ kind }) => kinds[kind] },
              {
                head: 'For',
                cell: (row) =>
                  html`${what(row)}<span class="sub narrow-only">${timeTag(row.at, now)}</span>`,
              },
              {
                head: 'Key',
                priority: 3,
                cell: ({ keyId }) => (keyId === null ? none : keyLink(keyId, names)),
              },
              {
                head: 'Request ID',
                priority: 3,
                cell: ({ requestId, at }) => {
                  if (requestId === null) return none
                  return at > loggedSince
                    ? html`<a class="mono" href="/dashboard/requests/${requestId}">${requestId}</a>`
                    : html`<span class="mono">${requestId}</span>`
                },
              },
              { head: 'Credits', isNumber: true, cell: ({ delta }) => signed(delta) },
              { head: 'Time', priority: 2, isNumber: true, cell: ({ at }) => timeTag(at, now) },
            ],
          })
    }${pagination({
      summary:
        before === null
          ? counted(entries.length, 'newest entry', 'newest entries')
          : 'Older entries',
      newer: before !== null && `${path}?days=${days}#ledger`,
      older: last !== undefined && `${path}?days=${days}&before=${last.seq}#ledger`,
    })}`,
  })
}
