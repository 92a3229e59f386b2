/** Renders the events of one webhook endpoint, one row an event with a mark for each attempt. */
import {
  type EndpointHealth,
  type EventAttempt,
  type EventFilter,
  type EventRow,
  eventAnswers,
  eventStates,
} from '../../webhooks/api.ts'
import { eventTypeNames } from '../../webhooks/events/event-types.ts'
import {
  badge,
  card,
  empty,
  hidden,
  none,
  pagination,
  selectField,
  submit,
  table,
  textField,
} from '../components.ts'
import { attributes, type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { rowNumber } from '../page.ts'
import { count, counted, dueTag, duration, shortId, timeTag } from '../text.ts'
import { answerWord, endpointPath, eventPath, triggerTag } from './webhook-words.ts'

export const eventsPageLength = 20

const states = [
  { value: '', label: 'All' },
  { value: 'undelivered', label: 'Not delivered' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'given_up', label: 'Given up' },
]
const answers = [
  { value: '', label: 'All' },
  { value: '5xx', label: '5xx' },
  { value: '4xx', label: '4xx' },
  { value: 'timeout', label: 'Timeout' },
  { value: 'dns', label: 'DNS' },
  { value: 'tls', label: 'TLS' },
]
const times = [
  { value: '', label: 'Any time', hours: null },
  { value: '1h', label: 'Last hour', hours: 1 },
  { value: '24h', label: 'Last 24 hours', hours: 24 },
  { value: '7d', label: 'Last 7 days', hours: 168 },
]
const eventIdForm = /^evt_(test_)?[0-9a-f]{32}$/

export interface EventsFilter
  extends Omit<EventFilter, 'endpointId' | 'userId' | 'since' | 'limit'> {
  /** A value of `times`, or an empty text. */
  time: string
}

/** Reads the filter. Ignores unknown values, so that an old link still shows the page. */
export function eventsFilterOf(query: Readonly<Record<string, string | undefined>>): EventsFilter {
  const { state, answer, type, time } = query
  const event = query.event?.trim() ?? ''
  return {
    state: eventStates.find((known) => known === state) ?? null,
    answer: eventAnswers.find((known) => known === answer) ?? null,
    eventType: eventTypeNames.find((known) => known === type) ?? null,
    eventId: eventIdForm.test(event) ? event : null,
    time: times.find(({ value }) => value === time)?.value ?? '',
    before: rowNumber(query.before),
  }
}

export function sinceOf({ time }: EventsFilter, now: Date): Date | null {
  const hours = times.find(({ value }) => value === time)?.hours ?? null
  return hours === null ? null : new Date(now.getTime() - hours * 3_600_000)
}

/** The filter as members of a query. */
function queryOf({ state, answer, eventType, eventId, time }: EventsFilter) {
  const members = { state, answer, type: eventType, event: eventId, time: time || null }
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  ) as Record<string, string>
}

export interface EventsShown {
  events: readonly EventRow[]
  /** The delivery where the look ended, if older ones are left. */
  lookedTo: number | null
  filter: EventsFilter
  /** Sent by the form of a bulk resend, so that it works once. */
  key: string
  now: Date
}

export function eventsCard(
  { id, disabledAt, pausedAt }: EndpointHealth,
  { events, lookedTo, filter, key, now }: EventsShown,
): Html {
  const path = endpointPath(id)
  const rows = events.slice(0, eventsPageLength)
  const older = events.length > eventsPageLength ? rows.at(-1)?.deliveryId : lookedTo
  const chosen = queryOf(filter)
  const hasFilter = Object.keys(chosen).length > 0
  const url = (more: Record<string, string>) =>
    `${path}?${new URLSearchParams({ ...chosen, ...more }).toString()}`
  const filters = html`<form class="card-body filters" method="get" action="${path}" role="search" aria-label="Events">${selectField({ name: 'state', label: 'State', value: filter.state ?? '', choices: states })}${selectField(
    {
      name: 'type',
      label: 'Type',
      value: filter.eventType ?? '',
      choices: [
        { value: '', label: 'All' },
        ...eventTypeNames.map((name) => ({ value: name, label: name })),
      ],
    },
  )}${selectField({ name: 'answer', label: 'Answer', value: filter.answer ?? '', choices: answers })}${selectField({ name: 'time', label: 'Time', value: filter.time, choices: times })}${textField({ name: 'event', label: 'Event ID', value: filter.eventId ?? '', placeholder: 'evt_…' })}${submit({ label: 'Apply' })}${hasFilter && html`<a class="button quiet" href="${path}">Clear filters</a>`}</form>`
  const clear = html`<a class="button" href="${path}">Clear filters</a>`
  const nothing =
    lookedTo !== null
      ? empty({
          icon: 'search',
          title: 'None of the newest events fits these filters',
          text: 'Go on with the older ones, or choose another filter.',
          action: clear,
        })
      : hasFilter
        ? empty({
            icon: 'search',
            title: 'No event fits these filters',
            text: 'Deliveries are kept for 30 days.',
            action: clear,
          })
        : empty({
            icon: 'send',
            title: 'Nothing was sent yet',
            text: 'Send a test event, or wait for the next event of the chosen types. It appears here with the answer of your server.',
          })
  const canResend = disabledAt === null && rows.some((row) => row.isResendable)
  const list = eventTable(rows, { id, canResend, isPaused: pausedAt !== null, now })
  const body = canResend
    ? html`<form method="post" action="${path}">${hidden('do', 'resend')}${hidden('key', key)}<div class="card-foot row apart small bulk"><span>Choose events, or <a href="${path}/resend">resend all that were not delivered</a></span><button class="button" type="submit">${icon('refresh')}Resend chosen events</button></div>${list}</form>`
    : list
  return card({
    title: 'Events',
    aside: html`<span class="legend"><span>${mark('bad')} failed</span><span>${mark('good')} delivered</span><span>${mark('next')} next</span></span>`,
    isFlush: true,
    body: html`${(hasFilter || events.length > 0) && filters}${rows.length === 0 ? nothing : body}${pagination(
      {
        summary: filter.before === null ? counted(rows.length, 'newest event') : 'Older events',
        newer: filter.before !== null && url({}),
        older: older != null && url({ before: String(older) }),
      },
    )}`,
  })
}

interface Listed {
  id: string
  canResend: boolean
  isPaused: boolean
  now: Date
}

function eventTable(rows: readonly EventRow[], { id, canResend, isPaused, now }: Listed): Html {
  const pick = {
    head: 'Choose',
    isHeadHidden: true,
    isFit: true,
    cell: (row: EventRow) =>
      row.isResendable &&
      html`<input type="checkbox" name="event:${row.eventId}" aria-label="Choose ${row.eventType} ${shortId(row.eventId)}">`,
  }
  return table<EventRow>({
    label: 'Events',
    rows,
    opened: (row) => timeline(row, { id, isPaused, now }),
    columns: [
      ...(canResend ? [pick] : []),
      {
        head: 'State',
        isFit: true,
        cell: (row) =>
          html`<details class="opens"><summary>${icon('chevron')}${eventBadge(row)}<span class="hidden-visually">, attempts</span></summary></details>`,
      },
      {
        head: 'Event',
        cell: (row) =>
          html`<a class="break" href="${eventPath(id, row.eventId)}">${row.eventType}</a>${triggerTag(row)}<span class="sub mono keep" title="${row.eventId}">${shortId(row.eventId)}</span><span class="sub narrow-only">${marks(row)} ${lastAnswer(row)} · ${timeTag(lastTime(row), now)}</span>`,
      },
      { head: 'Attempts', priority: 2, cell: marks },
      { head: 'Last answer', priority: 2, cell: lastAnswer },
      {
        head: 'Last attempt',
        priority: 2,
        isNumber: true,
        cell: (row) => (row.newest.length === 0 ? none : timeTag(lastTime(row), now)),
      },
    ],
  })
}

function lastTime({ newest, createdAt }: EventRow): Date {
  return newest.at(-1)?.startedAt ?? createdAt
}

function lastAnswer({ newest }: EventRow): string {
  const last = newest.at(-1)
  if (last === undefined) return 'Not sent yet'
  return last.durationMs === null
    ? answerWord(last)
    : `${answerWord(last)}, ${duration(last.durationMs)}`
}

type Sign = 'good' | 'bad' | 'off' | 'next'

function ring(radius: number): Html {
  return html`<circle fill="none" stroke="var(--border-strong)" stroke-width="1.5" stroke-dasharray="2 2" cx="7" cy="7" r="${radius}"/>`
}

const shapes: Record<Sign, Html> = {
  good: html`<circle fill="var(--positive-line)" cx="7" cy="7" r="5.500"/>`,
  bad: html`<path fill="none" stroke="var(--negative-line)" stroke-width="2.5" stroke-linecap="round" d="M3 3l8 8M11 3l-8 8"/>`,
  off: ring(3),
  next: ring(5),
}
const signs = { succeeded: 'good', failed: 'bad', interrupted: 'off' } as const
const words: Record<Sign, string> = {
  good: 'delivered',
  bad: 'failed',
  off: 'interrupted',
  next: 'waiting',
}

function mark(sign: Sign): Html {
  return html`<span class="attempts" aria-hidden="true"><svg viewBox="0 0 14 14">${shapes[sign]}</svg></span>`
}

/** A mark for each of the newest ten attempts, oldest first, and one for the next. */
function marks({ newest, attempts, status }: EventRow): Html {
  const isPending = status === 'pending' || status === 'sending'
  const all: Sign[] = [
    ...newest.map(({ result }) => signs[result]),
    ...(isPending ? ['next' as const] : []),
  ]
  const more = attempts - newest.length
  const sentence = `${more > 0 ? `${count(more)} earlier, ` : ''}${all.map((sign) => words[sign]).join(', ') || 'no attempt'}`
  return html`<span class="attempts" role="img" aria-label="${sentence}">${all.map((sign) => html`<svg viewBox="0 0 14 14" aria-hidden="true">${shapes[sign]}</svg>`)}</span>`
}

/** A test event has one attempt, so nothing is given up. */
export function eventBadge(event: Pick<EventRow, 'status' | 'tries' | 'trigger'>): Html {
  const { status, tries, trigger } = event
  if (status === 'succeeded') return badge('positive', 'check', 'Delivered')
  if (status === 'exhausted')
    return badge('negative', 'cross', trigger === 'test' ? 'Failed' : 'Given up')
  if (status === 'cancelled') return badge('neutral', 'cross', 'Cancelled')
  if (status === 'sending') return badge('info', 'clock', 'Sending')
  return tries > 0 ? badge('warning', 'clock', 'Retrying') : badge('info', 'clock', 'Waiting')
}

/** The attempts of an event, the next one first. */
function timeline(row: EventRow, { id, isPaused, now }: Omit<Listed, 'canResend'>): Html {
  const { status, dueAt, attempts, newest, eventId } = row
  const next =
    status === 'pending' &&
    html`<li>${icon('clock')}<div><strong class="strong">${isPaused ? 'Nothing is sent while paused' : html`Next attempt ${dueAt > now ? dueTag(dueAt, now) : 'any moment'}`}</strong></div></li>`
  const more =
    attempts > newest.length &&
    html`<li>${icon('clock')}<div class="muted">${counted(attempts - newest.length, 'earlier attempt')}</div></li>`
  return html`<div class="card card-body stack diagnosis"><ol class="timeline stack">${next}${newest.toReversed().map((attempt) => attemptLine(attempt, now))}${more}</ol><div class="stack tight"><p class="small muted">The page of the event has the payload, the headers of both sides and what your server answered.</p><p><a class="button small" href="${eventPath(id, eventId)}">Open event</a></p></div></div>`
}

const attemptIcons = {
  succeeded: { name: 'check', tone: 'positive' },
  failed: { name: 'cross', tone: 'negative' },
  interrupted: { name: 'refresh', tone: 'neutral' },
} as const

export function attemptIcon(result: EventAttempt['result']): Html {
  const { name, tone } = attemptIcons[result]
  return html`<span class="mark" data-tone="${tone}">${icon(name)}</span>`
}

function attemptLine(attempt: EventAttempt, now: Date): Html {
  const { result, durationMs, startedAt, errorCause } = attempt
  const took = durationMs === null ? '' : ` · ${duration(durationMs)}`
  return html`<li>${attemptIcon(result)}<div><strong class="strong">Attempt ${count(attempt.attempt)}: ${answerWord(attempt)}</strong> <span class="muted">· ${timeTag(startedAt, now)}${took}</span>${errorCause !== null && html`<p${attributes({ class: 'small muted break' })}>${errorCause}</p>`}</div></li>`
}
