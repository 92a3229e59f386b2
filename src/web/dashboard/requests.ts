/**
 * The pages of the request log: the list with its filters, one call, and the stream of new calls.
 */

import { Type } from 'typebox'
import { findShownKeys } from '../../access/store.ts'
import { sessionOf } from '../../platform/http/callers.ts'
import { type Endpoint, endpoint } from '../../platform/http/endpoint.ts'
import { errorTable, refuse } from '../../platform/http/errors.ts'
import { uuidForm } from '../../platform/http/fields.ts'
import { readLogFilter } from '../../request-log/log-filter.ts'
import { findEntries, findEntry, type LogEntry } from '../../request-log/store.ts'
import {
  card,
  empty,
  facts,
  idValue,
  none,
  notice,
  pageHead,
  pagination,
  selectField,
  submit,
  table,
  textField,
} from '../components.ts'
import { attributes, Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { dashboardRefusalPage } from '../refusal-page.ts'
import { count, counted, duration, fullTime, timeTag } from '../text.ts'
import { type LiveCallsOptions, liveCalls } from './live-calls.ts'

const path = '/dashboard/requests'
const livePath = `${path}/live`
const pageLength = 50
/** Ended keys that can be chosen and are named. An older one is shown by its id. */
const namedKeysMax = 20
const entry = path

export interface RequestsOptions extends PagesContext, LiveCallsOptions {
  /** Days that calls are kept; 0: no call is logged. */
  requestLogDays: number
}

const requestIdPath = Type.Object({
  requestId: Type.String({
    pattern: '^[A-Za-z0-9_-]{16}$',
    description: 'X-Request-Id of a call.',
  }),
})

export function requestsPages(options: RequestsOptions): Endpoint[] {
  return [...listPage(options), ...callPage(options), liveEndpoint(options)]
}

function listPage(options: RequestsOptions): Endpoint[] {
  const { db, requestLogDays: days } = options
  return dashboardPage(options, {
    name: 'requestsPage',
    path,
    entry,
    queryParameters: Type.Object({
      status: queryText,
      operation: queryText,
      key: queryText,
      error: queryText,
      before: queryText,
    }),
    async show({ session: { accountId }, query, now }) {
      const chosen = chosenOf(query)
      const filter = readLogFilter(chosen)
      if ('fault' in filter) throw new Error(filter.fault)
      const before = /^[1-9][0-9]{0,14}$/.test(query.before ?? '') ? Number(query.before) : null
      const [found, keys] = await Promise.all([
        findEntries(db, { ...filter, accountId, before, limit: pageLength + 1 }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
      ])
      const rows = found.slice(0, pageLength)
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const isFiltered = Object.keys(chosen).length > 0
      const isLive = !isFiltered && before === null && days > 0
      const url = (more: Record<string, string>) =>
        `${path}?${new URLSearchParams({ ...chosen, ...more }).toString()}`
      const last = found.length > pageLength ? rows.at(-1) : undefined
      return {
        title: 'Requests',
        main: html`${pageHead({
          title: 'Requests',
          text: `Every call with your keys and sessions, for ${counted(days, 'day')}. Values, queries and bodies are never kept.`,
          ...(isLive ? { badge: liveBadge, actions: liveButton } : {}),
        })}
${days === 0 && notice({ tone: 'info', title: 'The request log is turned off.', text: 'The operator of this service has set it to keep no calls.' })}
<div${attributes({ 'data-live': isLive && `${livePath}?after=${rows[0]?.seq ?? 0}`, 'data-rows': isLive && String(pageLength) })}>${card(
          {
            title: 'Calls',
            isFlush: true,
            body: html`${(isFiltered || rows.length > 0) && filterForm(chosen, keys)}${
              rows.length === 0
                ? nothing(isFiltered, keys.length > 0)
                : callTable(rows, { names, now })
            }${isLive && html`<template>${callTable([placeholder], { names, now })}</template>`}${
              (last !== undefined || before !== null) &&
              pagination({
                summary: before === null ? counted(rows.length, 'newest call') : 'Older calls',
                newer: before === null ? undefined : url({}),
                older: last === undefined ? undefined : url({ before: String(last.seq) }),
              })
            }`,
          },
        )}</div>`,
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

interface Chosen {
  status?: string
  operation?: string
  key?: string
  error?: string
}

const forms: Readonly<Record<keyof Chosen, RegExp>> = {
  status: /^[1-5](xx|\d\d)$/,
  operation: /^[A-Za-z]{1,64}$/,
  key: uuidForm,
  error: /^[a-z_0-9]{1,64}$/,
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

function filterForm(
  { status = '', operation = '', key = '', error = '' }: Chosen,
  keys: readonly { id: string; name: string }[],
): Html {
  const isFiltered = status + operation + key + error !== ''
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
  const errors = [all, ...Object.keys(errorTable).map((name) => ({ value: name, label: name }))]
  return html`<form class="filters" method="get" action="${path}">
${selectField({ name: 'status', label: 'Status', value: status, choices: statuses })}${selectField({ name: 'key', label: 'Key', value: key, choices: keyChoices })}${selectField({ name: 'error', label: 'Error', value: error, choices: errors })}${textField({ name: 'operation', label: 'Operation', value: operation, placeholder: 'getScore' })}${submit({ label: 'Apply' })}${isFiltered && html`<a class="button quiet" href="${path}">Clear filters</a>`}</form>`
}

function nothing(isFiltered: boolean, hasKeys: boolean): Html {
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

/** Shown by no page: a script copies its row for each new call. */
const placeholder: LogEntry = {
  seq: 0,
  at: new Date(0),
  requestId: '',
  keyId: null,
  operation: '',
  status: 200,
  error: null,
  credits: 0,
  durationUs: 0,
  network: '',
}

/** A part of a row that a script fills. */
function cell(name: string, value: Part): Html {
  return html`<span data-cell="${name}">${value}</span>`
}

export function callTable(
  rows: readonly LogEntry[],
  { names, now }: { names: ReadonlyMap<string, string>; now: Date },
): Html {
  return table<LogEntry>({
    label: 'Calls',
    rows,
    columns: [
      { head: 'Status', isFit: true, cell: ({ status }) => statusBadge(status) },
      {
        head: 'Operation',
        cell: (row) =>
          html`<a class="break" href="${callPath(row)}">${cell('operation', row.operation)}</a><span class="sub mono beside">${cell('error', row.error)}</span><span class="sub narrow-only">${timeTag(row.at, now)} · ${durationOf(row)}</span>`,
      },
      {
        head: 'Key',
        priority: 2,
        cell: (row) => html`<bdi>${cell('key', keyName(row, names))}</bdi>`,
      },
      {
        head: 'Credits',
        priority: 3,
        isNumber: true,
        cell: ({ credits }) => cell('credits', count(credits)),
      },
      {
        head: 'Duration',
        priority: 2,
        isNumber: true,
        cell: (row) => cell('duration', durationOf(row)),
      },
      {
        head: 'Network',
        priority: 3,
        cell: ({ network }) => html`<span class="mono">${cell('network', network)}</span>`,
      },
      {
        head: 'Time',
        priority: 2,
        isNumber: true,
        cell: ({ at }) => cell('time', timeTag(at, now)),
      },
    ],
  })
}

/** The row that a script copies has no call yet. */
function callPath({ requestId }: LogEntry): string {
  return requestId === '' ? path : `${path}/${requestId}`
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
  return html`<span class="badge" data-tone="${toneOf(status)}" data-cell="status">${status}</span>`
}

function callPage(options: RequestsOptions): Endpoint[] {
  const { db, publicUrl, requestLogDays: days } = options
  return dashboardPage(options, {
    name: 'requestPage',
    path: `${path}/{requestId}`,
    entry,
    pathParameters: requestIdPath,
    async show({ session: { accountId }, path: { requestId }, now }) {
      const [call, keys] = await Promise.all([
        findEntry(db, { accountId, requestId }),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
      ])
      if (call === undefined)
        return refuse('not_found', {
          message: `This account made no such call in the last ${counted(days, 'day')}.`,
        })
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const { error, keyId } = call
      return {
        title: `Request ${requestId}`,
        main: html`${pageHead({
          title: call.operation,
          badge: statusBadge(call.status),
          text: html`${fullTime(call.at)}, ${timeTag(call.at, now)}`,
          above: [{ title: 'Requests', url: path }],
        })}
${error !== null && errorNotice(error, publicUrl)}
${card({
  title: 'Call',
  body: facts(
    [
      { label: 'Request ID', value: idValue('request-id', requestId) },
      { label: 'Operation', value: html`<code>${call.operation}</code>` },
      {
        label: 'Status',
        value: call.status === 499 ? '499: the caller left before the answer' : String(call.status),
      },
      { label: 'Error', value: error === null ? none : html`<code>${error}</code>` },
      {
        label: 'Key',
        value:
          keyId === null
            ? 'None: the call was made with a session'
            : html`<a class="break" dir="auto" href="/dashboard/keys/${keyId}">${keyName(call, names)}</a>`,
      },
      { label: 'Credits charged', value: count(call.credits) },
      { label: 'Duration', value: durationOf(call) },
      { label: 'Network', value: html`<span class="mono">${call.network}</span>` },
    ],
    'columns',
  ),
})}
<p class="muted small">The path, query, body and headers of a call are never kept. <a href="${path}?operation=${call.operation}">Show the calls of this operation</a></p>`,
      }
    },
  })
}

function errorNotice(error: string, publicUrl: string): Html {
  const known = errorTable[error as keyof typeof errorTable]
  return notice({
    tone: 'warning',
    title: known?.message ?? error,
    text: html`<a href="${new URL(`/docs/errors/${error}`, publicUrl).pathname}">What <code>${error}</code> means, and what to do</a>`,
  })
}

function liveEndpoint(options: RequestsOptions): Endpoint {
  const { publicUrl, db, clock } = options
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
    queryParameters: Type.Object({ after: Type.String({ pattern: '^[0-9]{1,15}$' }) }),
    responses: {},
    answer({ caller, query }) {
      const session = sessionOf(caller)
      const { sessionId, accountId } = session
      return {
        events: {
          limits: [
            { of: 'session', id: sessionId, max: streamsOfSessionMax },
            { of: 'account', id: accountId, max: streamsOfAccountMax },
          ],
          async follow({ send, ended }) {
            const keys = await findShownKeys(db, {
              accountId,
              now: clock(),
              endedMax: namedKeysMax,
            })
            const names = new Map(keys.map(({ id, name }) => [id, name]))
            await calls.follow({
              session,
              after: Number(query.after),
              ended,
              send: (news) => {
                for (const call of news) send(eventOf(call, names, clock()))
              },
            })
          },
        },
      }
    },
  })
}

function eventOf(call: LogEntry, names: ReadonlyMap<string, string>, now: Date) {
  return {
    id: String(call.seq),
    data: {
      tone: toneOf(call.status),
      link: callPath(call),
      cells: {
        status: String(call.status),
        operation: call.operation,
        error: call.error ?? '',
        key: keyName(call, names),
        credits: count(call.credits),
        duration: durationOf(call),
        network: call.network,
        time: `${call.at.toISOString().slice(11, 19)} UTC`,
      },
      at: now.toISOString(),
    },
  }
}
