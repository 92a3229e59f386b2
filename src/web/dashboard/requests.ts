/**
 * The pages of the request log: the list with its filters, one call, and the stream of new calls.
 */
import { Type } from 'typebox'
import {
  type CountedCalls,
  countByTime,
  findAllEntries,
  findEntries,
  findEntry,
  findShownKeys,
  type LogEntry,
  lookedAtMax,
} from '../../accounts/api.ts'
import {
  fitsFilter,
  type LogFilter,
  type LogQuery,
  readLogFilter,
} from '../../accounts/request-log/log-filter.ts'
import { sessionOf } from '../../edge/http/callers.ts'
import { type Endpoint, endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import { csvLine } from '../../platform/csv.ts'
import { errorTable, publicErrorNames, refuse } from '../../platform/errors.ts'
import { type Bar, barChart, legend, type Series } from '../chart.ts'
import {
  card,
  empty,
  facts,
  idValue,
  methodTag,
  notice,
  pagination,
  pathText,
  selectField,
  submit,
  table,
} from '../components.ts'
import { attributes, type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText, rowNumber } from '../page.ts'
import { dashboardRefusalPage } from '../refusal-page.ts'
import { count, counted, dayAndMonth, duration, fullTime, timeTag } from '../text.ts'
import { causeLine, nextStep } from './cause-words.ts'
import { liveCalls } from './live-calls.ts'

const path = '/dashboard/requests'
const livePath = `${path}/live`
const csvPath = `${path}.csv`
const pageLength = 50
/** Ended keys that can be chosen and are named. An older one is shown by its id. */
const namedKeysMax = 20

/** What the rows of calls are shown with. */
export interface CallContext {
  /** Names of keys by their id. */
  names: ReadonlyMap<string, string>
  routes: PagesContext['routes']
  now: Date
}

const requestIdPath = Type.Object({
  requestId: Type.String({
    pattern: '^[A-Za-z0-9_-]{16}$',
    description: 'X-Request-Id of a call.',
  }),
})

export function requestsPages(options: PagesContext): Endpoint[] {
  return [...listPage(options), ...callPage(options), liveEndpoint(options), csvEndpoint(options)]
}

function listPage(options: PagesContext): Endpoint[] {
  const { db, callsDb, requestLogDays: days, routes } = options
  return dashboardPage(options, {
    path,
    queryParameters: Type.Object({ ...filterQuery, id: queryText, before: queryText }),
    async show({ session: { accountId }, query, now }) {
      // The field takes what was copied beside the id as well.
      const id = /[A-Za-z0-9_-]{16}/.exec(query.id ?? '')?.[0]
      if (id !== undefined) return { redirectTo: `${path}/${id}` }
      const chosen = chosenOf(query)
      const filter = filterAt(chosen, now)
      const before = rowNumber(query.before)
      const span = spanOf(chosen, now)
      const [{ entries: found, lookedTo }, keys, counts] = await Promise.all([
        findEntries(callsDb, { ...filter, accountId, before, limit: pageLength + 1 }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
        isCounted(chosen) ? countByTime(callsDb, { accountId, ...span }) : null,
      ])
      const rows = found.slice(0, pageLength)
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const isFiltered = Object.keys(chosen).length > 0
      const isLive = chosen.range !== 'between' && before === null && days > 0
      const live = `${livePath}?${new URLSearchParams({ ...chosen, after: String(found[0]?.seq ?? 0) }).toString()}`
      const url = (more: Record<string, string>) =>
        `${path}?${new URLSearchParams({ ...chosen, ...more }).toString()}`
      const older = found.length > pageLength ? (rows.at(-1)?.seq ?? null) : lookedTo
      const bars = counts && days > 0 ? barsOf(counts, { chosen, span }) : null
      const time = spanText(chosen, span)
      return {
        title: 'Requests',
        head: {
          text: `Every call with your keys and sessions, for ${counted(days, 'day')}. Values, queries and bodies are never kept.`,
          badge: isLive && liveBadge,
          actions: html`${isLive && liveButton}<a class="button" href="${csvPath}?${new URLSearchParams({ ...chosen }).toString()}" title="The newest ${count(csvRowsMax)} calls that fit, among the newest million" download>${icon('down')}CSV</a>`,
        },
        main: html`${days === 0 && notice({ tone: 'info', title: 'The request log is turned off.', text: 'The operator of this service has set it to keep no calls.' })}
<div${attributes({ 'data-live': isLive && live })}>${card({
          title: 'Calls',
          aside: bars && legend(series, { span: time, bars }),
          isFlush: true,
          body: html`${days > 0 && html`<div class="card-body">${bars === null ? noChart : barChart({ sentence: 'Calls over time', series, bars })}</div>`}${(isFiltered || rows.length > 0) && filterForm(chosen, { keys, routes })}${
            rows.length === 0
              ? nothing({ isFiltered, hasKeys: keys.length > 0, isCut: lookedTo !== null })
              : callTable(rows, { names, routes, now })
          }${pagination({
            summary: before === null ? counted(rows.length, 'newest call') : 'Older calls',
            newer: before !== null && url({}),
            older: older !== null && url({ before: String(older) }),
          })}`,
        })}</div>`,
      }
    },
  })
}

/** Streams that a process keeps open. A browser opens one for all its tabs. */
const streamsOfSessionMax = 2
const streamsOfAccountMax = 4

/** Scripts show one of them: while new calls arrive by themselves, or if the stream is refused. */
const liveBadge = html`<span class="badge live" data-tone="positive" data-live-state hidden>Live</span><span class="badge" data-tone="warning" data-live-full hidden>Live is off: ${streamsOfAccountMax} pages of this account, or ${streamsOfSessionMax} of this browser, are live already</span>`

/** Scripts show the button, and exchange its two words. */
const liveButton = html`<button class="button" type="button" data-live-toggle hidden><span data-live-on>${icon('pause')}Pause</span><span data-live-off hidden>${icon('play')}Resume</span></button>`

/** `from` and `to` are read if the range is `between`, as UTC. */
interface Chosen extends LogQuery {
  range?: string
}

const minuteForm = /^[1-9]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}$/
const forms: Readonly<Record<keyof Chosen, RegExp>> = {
  status: /^[1-5](xx|\d\d)$/,
  operation: /^[A-Za-z]{1,64}$/,
  key: uuidForm,
  error: /^[a-z_0-9]{1,64}$/,
  range: /^(15m|1h|24h|7d|between)$/,
  from: minuteForm,
  to: minuteForm,
}

const filterQuery = Object.fromEntries(
  Object.keys(forms).map((name) => [name, queryText]),
) as Record<keyof Chosen, typeof queryText>

/** Each time with the width of a bar. */
const ranges: Readonly<Record<string, { label: string; seconds: number; bucketS: number }>> = {
  '15m': { label: 'Last 15 min', seconds: 900, bucketS: 60 },
  '1h': { label: 'Last hour', seconds: 3_600, bucketS: 60 },
  '24h': { label: 'Last 24 hours', seconds: 86_400, bucketS: 1_200 },
  '7d': { label: 'Last 7 days', seconds: 604_800, bucketS: 3_600 },
}
const bucketsMax = 168

interface Span {
  from: Date
  to: Date
  bucketS: number
}

/** The time of the chart. A time between two minutes has as many bars as fit. */
function spanOf(chosen: Chosen, now: Date): Span {
  const { from, to } = betweenOf(chosen, now)
  if (from !== null && to !== null) {
    const seconds = (to.getTime() - from.getTime()) / 1_000
    return { from, to, bucketS: Math.max(60, Math.ceil(seconds / bucketsMax / 60) * 60) }
  }
  // Of calls at any time, the chart shows the last hour.
  const { seconds = 3_600, bucketS = 60 } = ranges[chosen.range ?? ''] ?? {}
  const end = Math.ceil((now.getTime() + 1) / (bucketS * 1_000)) * bucketS * 1_000
  return { from: new Date(end - seconds * 1_000), to: new Date(end), bucketS }
}

/** Times in the wrong order are the same span. A date that does not exist is as none. */
function betweenOf({ range, from, to }: Chosen, now: Date): { from: Date | null; to: Date | null } {
  if (range !== 'between' || from === undefined) return { from: null, to: null }
  const [start, end] = [new Date(`${from}Z`), to === undefined ? now : new Date(`${to}Z`)]
  if (end > start) return { from: start, to: end }
  return start >= end ? { from: end, to: start } : { from: null, to: null }
}

function filterAt(chosen: Chosen, now: Date): LogFilter {
  const { from: _, to: __, ...others } = chosen
  const filter = readLogFilter(others)
  if ('fault' in filter) throw new Error(filter.fault)
  const between = betweenOf(chosen, now)
  const seconds = chosen.range === undefined ? undefined : ranges[chosen.range]?.seconds
  const since = seconds === undefined ? null : new Date(now.getTime() - seconds * 1_000)
  return { ...filter, from: between.from ?? since, to: between.to }
}

/** Counts know the account, the minute and the class alone. */
function isCounted({ key, operation, error }: Chosen): boolean {
  return key === undefined && operation === undefined && error === undefined
}

const noChart = html`<p class="small muted">No chart: the counts of each minute do not know the key, the operation or the error of a call.</p>`

/** What the chart shows: the counts of a time do not know the status of a call. */
function spanText({ range = '', status }: Chosen, { from, to }: Span): string {
  const time =
    range === 'between'
      ? `${dayTime(from)} to ${dayTime(to)} UTC`
      : (ranges[range]?.label ?? 'Last hour')
  return status === undefined ? time : `${time}, every status`
}

const series: readonly Series[] = [
  { word: 'answered', tone: 'accent' },
  { word: 'refused', tone: 'warning' },
  { word: 'failed', tone: 'negative' },
]

function barsOf(
  counts: readonly CountedCalls[],
  { chosen, span: { from, to, bucketS } }: { chosen: Chosen; span: Span },
): Bar[] {
  const byTime = new Map(counts.map((one) => [one.from.getTime(), one]))
  const length = Math.ceil((to.getTime() - from.getTime()) / bucketS / 1_000)
  return Array.from({ length }, (_, i) => {
    const start = new Date(from.getTime() + i * bucketS * 1_000)
    const end = new Date(start.getTime() + bucketS * 1_000)
    const { answered = 0, refused = 0, failed = 0 } = byTime.get(start.getTime()) ?? {}
    const query = { ...chosen, range: 'between', from: minuteOf(start), to: minuteOf(end) }
    return {
      label: bucketS < 3_600 ? start.toISOString().slice(11, 16) : dayTime(start),
      url: `${path}?${new URLSearchParams(query).toString()}`,
      values: [answered, refused, failed],
    }
  })
}

function minuteOf(time: Date): string {
  return time.toISOString().slice(0, 16)
}

function dayTime(time: Date): string {
  return `${dayAndMonth(time)}, ${time.toISOString().slice(11, 16)}`
}

/** Returns the filters of the query; a wrong one is as none. */
function chosenOf(query: Readonly<Record<string, string | undefined>>): Chosen {
  const names = Object.keys(forms) as (keyof Chosen)[]
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query[name] ?? ''
      if (!forms[name].test(value)) return []
      return [[name, name === 'key' ? value.toLowerCase() : value]]
    }),
  )
}

interface FilterChoices {
  keys: readonly { id: string; name: string }[]
  routes: PagesContext['routes']
}

function filterForm(chosen: Chosen, { keys, routes }: FilterChoices): Html {
  const { status = '', operation = '', key = '', error = '', range = '', from, to } = chosen
  const isFiltered = Object.keys(chosen).length > 0
  const all = { value: '', label: 'All' }
  const statuses = [
    all,
    { value: '2xx', label: '2xx: answered' },
    { value: '4xx', label: '4xx: refused' },
    { value: '5xx', label: '5xx: failed' },
  ]
  if (status !== '' && !statuses.some(({ value }) => value === status))
    statuses.push({ value: status, label: status })
  const keyChoices = [all, ...keys.map(({ id, name }) => ({ value: id, label: name }))]
  // Open routes take no key, so their calls are in no log.
  const operations = [...routes].filter(([, { policy }]) => policy.kind !== 'open')
  const errors = publicErrorNames.map((name) => html`<option value="${name}"></option>`)
  const times = [
    { value: '', label: 'Any time' },
    ...Object.entries(ranges).map(([value, { label }]) => ({ value, label })),
    { value: 'between', label: 'From … to …' },
  ]
  const between =
    range === 'between' &&
    html`<div class="field"><label for="from">From (UTC)</label><input class="input" type="datetime-local" id="from" name="from" value="${from ?? ''}"></div><div class="field"><label for="to">To (UTC)</label><input class="input" type="datetime-local" id="to" name="to" value="${to ?? ''}"></div>`
  return html`<form class="card-body filters" method="get" action="${path}" role="search" aria-label="Calls">
<div class="field"><label for="id">Request ID</label><input class="input" id="id" name="id" spellcheck="false" autocomplete="off" placeholder="X-Request-Id"></div>${selectField({ name: 'status', label: 'Status', value: status, choices: statuses })}${selectField({ name: 'key', label: 'Key', value: key, choices: keyChoices })}<div class="field"><label for="operation">Operation</label><input class="input" id="operation" name="operation" value="${operation}" list="operations" autocomplete="off" placeholder="getScore"><datalist id="operations">${operations.map(([id]) => html`<option value="${id}"></option>`)}</datalist></div><div class="field"><label for="error">Error</label><input class="input" id="error" name="error" value="${error}" list="errors" autocomplete="off" placeholder="rate_limited"><datalist id="errors">${errors}</datalist></div>${selectField({ name: 'range', label: 'Time', value: range, choices: times })}${between}${submit({ label: 'Apply' })}${isFiltered && html`<a class="button quiet" href="${path}">Clear filters</a>`}</form>`
}

interface Nothing {
  isFiltered: boolean
  hasKeys: boolean
  /** Older calls were not looked at. */
  isCut: boolean
}

function nothing({ isFiltered, hasKeys, isCut }: Nothing): Html {
  if (isCut)
    return empty({
      icon: 'search',
      title: 'None of the newest calls fits these filters',
      text: `Of calls that follow each other, ${count(lookedAtMax)} were looked at. Go on with the older ones, or choose a time.`,
    })
  return isFiltered
    ? empty({
        icon: 'search',
        title: 'No call fits these filters',
        text: 'Choose fewer filters, or make the call and look again.',
        action: html`<a class="button" href="${path}">Clear filters</a>`,
      })
    : empty({
        icon: 'list',
        title: 'No call yet',
        text: 'Make a call with one of your keys. It appears here within a second.',
        action: hasKeys
          ? html`<a class="button" href="/dashboard">Copy a first call</a>`
          : html`<a class="button primary" href="/dashboard/keys/new">Create key</a>`,
      })
}

export function callTable(rows: readonly LogEntry[], context: CallContext): Html {
  const { names, now } = context
  return table<LogEntry>({
    label: 'Calls',
    rows,
    opened: (row) => callDetail(row, context),
    columns: [
      {
        head: 'Status',
        isFit: true,
        cell: ({ status }) =>
          html`<details class="opens"><summary>${icon('chevron')}${statusBadge(status)}<span class="hidden-visually">, details of the call</span></summary></details>`,
      },
      {
        head: 'Request',
        cell: (row) =>
          html`<span class="row baseline">${routeTag(row, context)}</span><span class="sub">${reasonOf(row, names)}</span><span class="sub narrow-only">${timeTag(row.at, now)} · ${keyName(row, names)} · ${durationOf(row)}</span>`,
      },
      { head: 'Key', priority: 2, cell: (row) => html`<bdi>${keyName(row, names)}</bdi>` },
      { head: 'Credits', priority: 3, isNumber: true, cell: ({ credits }) => count(credits) },
      { head: 'Duration', priority: 2, isNumber: true, cell: durationOf },
      { head: 'Time', priority: 2, isNumber: true, cell: ({ at }) => timeTag(at, now) },
    ],
  })
}

/** Why a call was refused, in one line. */
function reasonOf(call: LogEntry, names: ReadonlyMap<string, string>): string {
  const known = errorTable[call.error as keyof typeof errorTable]
  return causeLine(call, names) || (known?.message ?? call.error ?? '')
}

/** The method and the path of a call. Of an operation that is no more, its id. */
function routeTag({ operation, requestId }: LogEntry, { routes }: CallContext): Html {
  const { method = '', path: template } = routes.get(operation) ?? {}
  const shown = template === undefined ? operation : pathText(template)
  return html`${methodTag(method)}<a class="path" href="${path}/${requestId}">${shown}</a>`
}

/** The cause of a refusal, what to do, and the facts of the call: in the list and on its own page. */
function callDetail(call: LogEntry, { names, routes }: CallContext): Html {
  const { error, keyId, status, requestId, operation } = call
  const key = keyName(call, names)
  return html`<div class="card card-body stack diagnosis">${error !== null && advice(call, error, names)}${facts(
    [
      {
        label: 'Request ID',
        value: html`<a class="mono" href="${path}/${requestId}">${requestId}</a>`,
      },
      { label: 'Time', value: fullTime(call.at) },
      {
        label: 'Operation',
        value: html`<a class="break" href="/docs/api/${operation}">${routes.get(operation)?.summary ?? operation}</a>`,
      },
      {
        label: 'Status',
        value: status === 499 ? '499: the caller left before the answer' : status,
      },
      {
        label: 'Key',
        value:
          keyId === null
            ? key
            : html`<a class="break" dir="auto" href="/dashboard/keys/${keyId}">${key}</a>`,
      },
      { label: 'Credits charged', value: count(call.credits) },
      { label: 'Duration', value: durationOf(call) },
      { label: 'Network', value: html`<span class="mono">${call.network}</span>` },
    ],
    'columns',
  )}</div>`
}

function advice(call: LogEntry, error: string, names: ReadonlyMap<string, string>): Html {
  const next = nextStep(call)
  const known = errorTable[error as keyof typeof errorTable]
  return html`<div class="stack"><div class="stack tight"><h3>${known?.message ?? error}</h3><p>${causeLine(call, names)}</p><p class="small">${known?.advice}</p></div><div class="row">${next !== null && html`<a class="button" href="${next.url}">${next.label}</a>`}<a class="small" href="/docs/errors/${error}">What <code>${error}</code> means</a></div></div>`
}

function keyName({ keyId }: LogEntry, names: ReadonlyMap<string, string>): string {
  return keyId === null ? 'Signed in' : (names.get(keyId) ?? keyId)
}

/** Formats a duration, with one decimal below ten milliseconds. */
function durationOf({ durationUs }: LogEntry): string {
  return durationUs < 10_000
    ? `${(durationUs / 1_000).toFixed(1)} ms`
    : duration(durationUs / 1_000)
}

function toneOf(status: number): 'positive' | 'warning' | 'negative' {
  if (status < 400) return 'positive'
  return status < 500 ? 'warning' : 'negative'
}

function statusBadge(status: number): Html {
  return html`<span class="badge" data-tone="${toneOf(status)}">${status}</span>`
}

function callPage(options: PagesContext): Endpoint[] {
  const { db, callsDb, routes, requestLogDays: days } = options
  return dashboardPage(options, {
    path: `${path}/{requestId}`,
    entry: path,
    pathParameters: requestIdPath,
    async show({ session: { accountId }, path: { requestId }, now }) {
      const [call, keys] = await Promise.all([
        findEntry(callsDb, { accountId, requestId }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
      ])
      if (call === undefined)
        return refuse('not_found', {
          message: `No call of this account has this id within ${counted(days, 'day')}. A call with no key that this service knows is in no log.`,
        })
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const context = { names, routes, now }
      return {
        title: `Request ${requestId}`,
        head: {
          title: routes.get(call.operation)?.summary ?? call.operation,
          badge: statusBadge(call.status),
          text: html`<span class="row baseline">${routeTag(call, context)}</span>`,
          above: [{ title: 'Requests', url: path }],
          shortTitle: 'Request',
        },
        main: html`${card({
          title: 'Call',
          aside: timeTag(call.at, now),
          isFlush: true,
          body: html`<div class="card-body">${idValue('request-id', requestId)}</div>${callDetail(call, context)}`,
        })}
<p class="muted small">The path, query, body and headers of a call are never kept. <a href="${path}?operation=${call.operation}">Show the calls of this operation</a></p>`,
      }
    },
  })
}

/** Rows of a file. A sheet holds more, but a developer narrows the time first. */
const csvRowsMax = 5_000

function csvEndpoint({ publicUrl, db, callsDb, clock }: PagesContext): Endpoint {
  return endpoint({
    operationId: 'requests as CSV',
    method: 'GET',
    path: csvPath,
    area: 'pages',
    summary: 'The calls of a time as CSV',
    priority: 'search',
    policy: { kind: 'session' },
    refusalPage: dashboardRefusalPage(new URL(publicUrl).host),
    queryParameters: Type.Object(filterQuery),
    responses: {},
    async answer({ caller, query }) {
      const { accountId } = sessionOf(caller)
      const now = clock()
      const filter = filterAt(chosenOf(query), now)
      const [rows, keys] = await Promise.all([
        findAllEntries(callsDb, { ...filter, accountId, before: null, limit: csvRowsMax }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
      ])
      return {
        status: 200,
        body: null,
        text: csvOf(rows, new Map(keys.map(({ id, name }) => [id, name]))),
        contentType: 'text/csv; charset=utf-8',
        headers: { 'Content-Disposition': `attachment; filename="requests-${minuteOf(now)}.csv"` },
      }
    },
  })
}

function csvOf(rows: readonly LogEntry[], names: ReadonlyMap<string, string>): string {
  const head = 'time,request_id,operation,status,error,cause,key_id,credits,duration_ms,network'
  const lines = rows.map((row) =>
    csvLine([
      row.at.toISOString(),
      row.requestId,
      row.operation,
      String(row.status),
      row.error ?? '',
      causeLine(row, names),
      row.keyId ?? '',
      String(row.credits),
      String(row.durationUs / 1_000),
      row.network,
    ]),
  )
  return `${[head, ...lines].join('\r\n')}\r\n`
}

function liveEndpoint(options: PagesContext): Endpoint {
  const { publicUrl, clock } = options
  const calls = liveCalls(options)
  return endpoint({
    operationId: 'live requests',
    method: 'GET',
    path: livePath,
    area: 'pages',
    summary: 'New calls as server-sent events',
    priority: 'search',
    policy: { kind: 'session' },
    refusalPage: dashboardRefusalPage(new URL(publicUrl).host),
    queryParameters: Type.Object({
      ...filterQuery,
      after: Type.String({ pattern: '^[0-9]{1,15}$' }),
    }),
    responses: {},
    answer({ caller, query }) {
      const session = sessionOf(caller)
      const { sessionId, accountId } = session
      const fits = fitsFilter(filterAt({ ...chosenOf(query), range: '' }, clock()))
      return {
        events: {
          limits: [
            { of: 'session', id: sessionId, max: streamsOfSessionMax },
            { of: 'account', id: accountId, max: streamsOfAccountMax },
          ],
          follow: ({ send, ended }) =>
            calls.follow({
              session,
              after: Number(query.after),
              ended,
              // The page then asks for itself again, and shows what is new.
              send(news) {
                const shown = news.filter(fits)
                const id = String(shown.at(-1)?.seq)
                const data = shown.map(({ requestId }) => requestId)
                if (data.length > 0) send({ id, data })
              },
            }),
        },
      }
    },
  })
}
