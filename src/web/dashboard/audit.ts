/** The page of the audit log: what members and the operator did to the account. */
import { Type } from 'typebox'
import { findMembers, findShownKeys } from '../../accounts/api.ts'
import { type ReadEntry, readEntry } from '../../audit/account-entry.ts'
import { findAccountEntries } from '../../audit/api.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { findIdsOf } from '../../webhooks/api.ts'
import { card, empty, none, pagination, table } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText, rowNumber } from '../page.ts'
import { count, counted, detailText, shortId, timeTag } from '../text.ts'
import { keyLink } from './keys.ts'
import { endpointPath } from './webhook-words.ts'

const path = '/dashboard/audit'
const pageLength = 25
/** Ended keys that are named. An older one is shown by its id. */
const namedKeysMax = 100

export function auditPage(context: PagesContext): Endpoint[] {
  const { db } = context
  return dashboardPage(context, {
    path,
    queryParameters: Type.Object({ before: queryText }),
    async show({ session: { accountId, userId: ownId }, query, now }) {
      const before = rowNumber(query.before)
      const [rows, members, keys, endpointIds] = await Promise.all([
        findAccountEntries(db, { accountId, before, limit: pageLength + 1 }),
        findMembers(db, accountId),
        findShownKeys(db, { accountId, now, endedMax: namedKeysMax }),
        findIdsOf(db, accountId),
      ])
      const shown = rows.slice(0, pageLength)
      const last = rows.length > pageLength ? shown.at(-1) : undefined
      const entries = shown.map((row) => readEntry(row, accountId))
      const names: Names = {
        ownId,
        users: new Map(members.map(({ userId, name, email }) => [userId, name ?? email])),
        keys: new Map(keys.map(({ id, name }) => [id, name])),
        endpoints: new Set(endpointIds),
      }
      return {
        title: 'Audit log',
        head: {
          text: 'What members, API keys, the operator and the service itself did to this account. No entry can be changed or removed.',
        },
        main: card({
          title: 'Entries',
          isFlush: true,
          body: html`${entries.length === 0 ? (before === null ? nothingYet : nothingOlder) : entryTable(entries, { names, now })}${pagination(
            {
              summary:
                before === null
                  ? counted(entries.length, 'newest entry', 'newest entries')
                  : 'Older entries',
              newer: before !== null && path,
              older: last !== undefined && `${path}?before=${last.seq}`,
            },
          )}`,
        }),
      }
    },
  })
}

const nothingYet = empty({
  icon: 'book',
  title: 'Nothing has happened yet',
  text: 'Create an API key or add a webhook endpoint: each change appears here at once.',
  action: html`<a class="button" href="/dashboard/keys/new">Create key</a>`,
})

const nothingOlder = empty({
  icon: 'book',
  title: 'No older entry',
  text: 'The page before was the last one.',
})

interface Names {
  ownId: string
  users: ReadonlyMap<string, string>
  keys: ReadonlyMap<string, string>
  /** The endpoints that have a page. */
  endpoints: ReadonlySet<string>
}

function entryTable(
  entries: readonly ReadEntry[],
  { names, now }: { names: Names; now: Date },
): Html {
  return table<ReadEntry>({
    label: 'Entries of the audit log',
    rows: entries,
    columns: [
      {
        head: 'Action',
        cell: (entry) =>
          html`<strong>${titleOf(entry)}</strong>${detailsOf(entry, names)}<span class="sub narrow-only break">${actorOf(entry, names)} · ${timeTag(entry.at, now)}</span>`,
      },
      { head: 'On', cell: (entry) => subjectsOf(entry, names) },
      { head: 'By', priority: 2, cell: (entry) => actorOf(entry, names) },
      { head: 'Time', priority: 2, isNumber: true, cell: ({ at }) => timeTag(at, now) },
    ],
  })
}

/** Names of the kinds of actions. The verb follows the name, as in `API key rotated`. */
const kinds: Readonly<Record<string, string>> = {
  accounts: 'Account',
  api_keys: 'API key',
  credits: 'Credits',
  webhooks: 'Webhook endpoint',
  agent_reporting: 'Agent reporting',
  users: 'Member',
}

/** Returns the title of an entry: `API key rotated` for the action `api_keys.rotated`. */
function titleOf({ action }: ReadEntry): string {
  const [kind = '', verb = ''] = action.split('.')
  const words = verb.replaceAll('_', ' ')
  return `${kinds[kind] ?? kind}${words.includes(' ') ? ': ' : ' '}${words}`
}

function detailsOf({ details }: ReadEntry, names: Names): Part {
  const shown = Object.entries(details).filter(([name]) => name !== 'account')
  return (
    shown.length > 0 &&
    html`<span class="sub break">${shown
      .map(([name, value]) => `${wordsOf(name)}: ${valueOf(value, names)}`)
      .join(' · ')}</span>`
  )
}

/** Returns the words of a name: `overlap hours` for `overlapHours`. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function valueOf(value: unknown, names: Names): string {
  if (typeof value === 'number') return count(value)
  return names.keys.get(String(value)) ?? detailText(value)
}

function subjectsOf(entry: ReadEntry, names: Names): Part {
  const [kind] = entry.action.split('.')
  if (kind === 'accounts' || kind === 'credits' || kind === 'agent_reporting')
    return html`<span class="muted">This account</span>`
  if (entry.subjects.length === 0) return none
  return entry.subjects.map((id) => html`<div>${subjectOf(entry.action, id, names)}</div>`)
}

function subjectOf(action: string, id: string, names: Names): Part {
  const [kind] = action.split('.')
  if (kind === 'api_keys') return keyLink(id, names.keys, shortId(id))
  if (action.startsWith('users.invit')) return html`<span class="mono">${shortId(id)}</span>`
  if (kind === 'users')
    return html`<span class="break" dir="auto">${names.users.get(id) ?? shortId(id)}</span>`
  return names.endpoints.has(id)
    ? html`<a class="mono" href="${endpointPath(id)}">${shortId(id)}</a>`
    : html`<span class="mono">${shortId(id)}</span>`
}

const otherActors = {
  operator: 'The operator',
  service: 'The service',
  invited: 'The invited person',
} as const

function actorOf({ actor: { kind, userId, apiKeyId } }: ReadEntry, names: Names): Part {
  if (apiKeyId !== null) return html`API key ${keyLink(apiKeyId, names.keys, shortId(apiKeyId))}`
  if (userId === null) return otherActors[kind]
  const name = names.users.get(userId)
  if (name === undefined) return html`<span title="${userId}">A former member</span>`
  return html`<span class="break" dir="auto">${name}</span>${userId === names.ownId && html` <span class="tag">You</span>`}`
}
