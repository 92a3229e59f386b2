/** The page of the account's API keys. */
import { Type } from 'typebox'
import { isActive } from '../../accounts/access/manage.ts'
import { findShownKeys, type StoredKey } from '../../accounts/api.ts'
import { findUsage } from '../../billing/api.ts'
import { lastDays } from '../../billing/credits/usage-period.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { badge, card, empty, none, pageHead, results, table } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { count, counted, dateTag, relativeTime, timeTag } from '../text.ts'

export const keysPath = '/dashboard/keys'
const resultOf = results({
  positive: { revoked: 'The key is revoked. The next request with it is refused.' },
})
const endedShown = 20
const usageDays = 30
/** A key that ends sooner is marked: its program needs another one. */
const endsSoonMs = 7 * 86_400_000

export function keysPage(context: PagesContext): Endpoint[] {
  return dashboardPage(context, {
    name: 'keysPage',
    path: keysPath,
    entry: keysPath,
    queryParameters: Type.Object({ done: queryText }),
    async show({ session, now, query }) {
      const { accountId } = session
      const [keys, { key: usage }] = await Promise.all([
        // One more than shown tells that there are others.
        findShownKeys(context.db, { accountId, now, endedMax: endedShown + 1 }),
        findUsage(context.db, { ...lastDays(usageDays, now), accountId }),
      ])
      const calls = new Map(usage.map(({ group, calls }) => [group, calls]))
      const valid = keys.filter((key) => isActive(key, now))
      const ended = keys.filter((key) => !isActive(key, now))
      const shownEnded = ended.slice(0, endedShown)
      const isOwner = session.role === 'owner'
      const create =
        isOwner &&
        html`<a class="button primary" href="${keysPath}/new">${icon('plus')}Create key</a>`
      return {
        title: 'API keys',
        main: html`${resultOf(query.done)}
${pageHead({
  title: 'API keys',
  text: isOwner
    ? 'Your programs send a key with each request. Give each program its own.'
    : 'Your programs send a key with each request. Owners of the account create and revoke keys.',
  ...(valid.length > 0 ? { actions: create } : {}),
})}
${card({
  title: 'Valid keys',
  isFlush: true,
  body: valid.length === 0 ? nothingYet(create) : keyTable('Valid keys', valid, { calls, now }),
})}
${
  ended.length > 0 &&
  card({
    title: 'Revoked and expired',
    ...(ended.length > endedShown ? { text: `The ${endedShown} newest.` } : {}),
    isFlush: true,
    body: keyTable('Revoked and expired', shownEnded, { calls, now }),
  })
}`,
      }
    },
  })
}

function nothingYet(action: Part): Html {
  return empty({
    icon: 'key',
    title: 'No API key yet',
    text: 'Begin with a test key: it reads fictional candidates, and costs nothing.',
    action,
  })
}

/** The state of a key that is not valid any more, or how it will end. */
export function keyState(key: StoredKey, now: Date): Html {
  if (key.revokedAt !== null) return badge('negative', 'cross', 'Revoked')
  if (!isActive(key, now)) return badge('neutral', 'clock', 'Expired')
  return key.expiresAt !== null && key.expiresAt.getTime() - now.getTime() < endsSoonMs
    ? badge('warning', 'clock', `Ends ${relativeTime(key.expiresAt, now)}`)
    : badge('positive', 'check', 'Valid')
}

export function environmentTag({ environment }: Pick<StoredKey, 'environment'>): Html {
  return html`<span class="tag">${environment === 'test' ? 'Test' : 'Live'}</span>`
}

/** Returns the values of the columns that a narrow screen hides. */
function narrowLine(
  key: StoredKey,
  { calls, now }: { calls: ReadonlyMap<string, number>; now: Date },
): Part {
  const { id, lastUsedAt, environment, revokedAt, expiresAt } = key
  if (revokedAt !== null) return html`Revoked ${timeTag(revokedAt, now)}`
  if (expiresAt !== null && !isActive(key, now)) return html`Expired ${timeTag(expiresAt, now)}`
  if (lastUsedAt === null) return 'Never used'
  const inDays =
    environment === 'live' &&
    ` · ${counted(calls.get(id) ?? 0, 'call', 'calls')} in ${usageDays} days`
  return html`Last used ${timeTag(lastUsedAt, now)}${inDays}`
}

function keyTable(
  label: string,
  rows: readonly StoredKey[],
  { calls, now }: { calls: ReadonlyMap<string, number>; now: Date },
): Html {
  return table<StoredKey>({
    label,
    rows,
    columns: [
      {
        head: 'Name',
        cell: (key) =>
          html`<a class="break strong" dir="auto" href="${keysPath}/${key.id}">${key.name}</a> ${environmentTag(key)}<span class="sub mono keep">${key.shown}</span><span class="sub narrow-only">${narrowLine(key, { calls, now })}</span>`,
      },
      {
        head: 'Scopes',
        priority: 3,
        cell: ({ scopes }) =>
          html`<span class="row">${scopes.map((scope) => html`<span class="tag"><code>${scope}</code></span>`)}</span>`,
      },
      { head: 'State', priority: 2, isFit: true, cell: (key) => keyState(key, now) },
      {
        head: 'Last used',
        priority: 2,
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : timeTag(lastUsedAt, now)),
      },
      {
        head: 'Calls, 30 days',
        priority: 2,
        isNumber: true,
        // Calls with a test key are not counted, because they cost nothing.
        cell: ({ id, environment }) => (environment === 'test' ? none : count(calls.get(id) ?? 0)),
      },
      {
        head: 'Ends',
        priority: 3,
        isNumber: true,
        cell: ({ revokedAt, expiresAt }) => {
          const end = revokedAt ?? expiresAt
          return end === null ? 'Never' : dateTag(end)
        },
      },
    ],
  })
}
