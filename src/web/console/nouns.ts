/** Pure: the pages of the console by noun, from the names and paths of the operations. */
import { consolePath } from '../../accounts/sign-in.ts'
import type { Operation } from '../../operations/operation.ts'
import { type OperationCaller, whyForbidden } from '../../operations/perform.ts'
import type { IconName } from '../icons.ts'
import type { NavigationGroup } from '../layout.ts'

export interface Noun<Services> {
  name: string
  title: string
  /** The path of its first page. */
  path: string
  /** The list of all its records, or the only read that it has, or null. */
  main: Operation<Services> | null
  /** The other reads. */
  views: readonly Operation<Services>[]
  /** Shows one record, which its only path parameter names. */
  show: Operation<Services> | null
  /** The name of that parameter. */
  key: string | null
  changes: readonly Operation<Services>[]
}

export type Nouns<Services> = ReadonlyMap<string, Noun<Services>>

export function nounsOf<Services>(operations: readonly Operation<Services>[]): Nouns<Services> {
  const byNoun = Map.groupBy(operations, nounNameOf)
  const nouns = [...byNoun].map(([name, all]): [string, Noun<Services>] => {
    const reads = all.filter(({ kind }) => kind === 'read')
    const show = reads.find(({ http }) => /^GET \/[\w-]+\/\{\w+\}$/.test(http)) ?? null
    const isOnly = all.length === 1
    const main = reads.find((one) => (one.columns !== undefined || isOnly) && !hasPath(one)) ?? null
    const views = reads.filter((one) => one !== show && one !== main)
    const key = show === null ? null : (Object.keys(show.path)[0] ?? null)
    const changes = all.filter(({ kind }) => kind === 'change')
    const path = `${consolePath}/${name}`
    return [
      name,
      { name, title: titles[name] ?? titled(name), path, main, views, show, key, changes },
    ]
  })
  return new Map(nouns)
}

function hasPath({ path }: { path: object }): boolean {
  return Object.keys(path).length > 0
}

/** `webhooks rotate-secret` is of the noun `webhooks`. */
export function nounNameOf({ name }: { name: string }): string {
  return name.slice(0, name.indexOf(' '))
}

/** `webhooks rotate-secret` is the verb `rotate-secret`. */
export function verbOf({ name }: { name: string }): string {
  return name.slice(name.indexOf(' ') + 1)
}

export function mayCall<Services>({ who }: Operation<Services>, caller: OperationCaller): boolean {
  return whyForbidden(who, caller) === null
}

/** Words with other capitals than their place in a sentence gives. */
const spellings: Readonly<Record<string, string>> = {
  api: 'API',
  id: 'ID',
  kid: 'key ID',
  url: 'URL',
  ip: 'IP',
  dns: 'DNS',
  pid: 'PID',
  sha256: 'SHA-256',
}

/** Titles of nouns whose words another noun has, too. */
const titles: Readonly<Record<string, string>> = { keys: 'Signing keys' }

/** Returns the words of a name: `Endpoint ID` for `endpointId`, `API keys` for `api-keys`. */
export function titled(name: string): string {
  const words = wordsOf(name)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns the words of a name within a sentence: `endpoint ID`, `API keys`. */
export function wordsOf(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[ _-]+/)
    .map((word) => spellings[word] ?? word)
    .join(' ')
}

/** `Webhooks` without its plural, as a title of one record. */
export function singular(title: string): string {
  return title.replace(/s$/, '')
}

/** Returns the noun with a page for the records that a path parameter names. */
export function nounOfKey<Services>(
  nouns: Nouns<Services>,
  key: string,
): Noun<Services> | undefined {
  return nouns.values().find((noun) => noun.key === key)
}

export function recordPath({ path }: { path: string }, id: string): string {
  return `${path}/${encodeURIComponent(id)}`
}

/** Returns the path parameters of an operation from a record of its noun, or null if one is missing. */
export function pathOf<Services>(
  operation: Operation<Services>,
  record: object,
  shownBy?: string,
): Record<string, string> | null {
  const found: Record<string, string> = {}
  for (const [name, schema] of Object.entries(operation.path)) {
    const named: unknown = Reflect.get(record, name)
    // An id without the name of its parameter is that of the list which shows such ids.
    const isOwn = shownBy !== undefined && Reflect.get(schema, 'x-shown-by') === shownBy
    const value = named ?? (isOwn ? Reflect.get(record, 'id') : undefined)
    if (typeof value !== 'string') return null
    found[name] = value
  }
  return found
}

/** Returns the path of the form of an operation. */
export function formPath(operation: { name: string }, given: Record<string, string> = {}): string {
  return withQuery(`${consolePath}/${nounNameOf(operation)}/do/${verbOf(operation)}`, given)
}

/** Returns the path of the page of a read without a record. */
export function viewPath<Services>(
  noun: Noun<Services>,
  operation: Operation<Services>,
  given: Record<string, string> = {},
): string {
  const path = operation === noun.main ? noun.path : `${noun.path}/view/${verbOf(operation)}`
  return withQuery(path, given)
}

function withQuery(path: string, given: Record<string, string>): string {
  const query = new URLSearchParams(given).toString()
  return query === '' ? path : `${path}?${query}`
}

/** The navigation, by the titles of its groups. A noun without a row follows at the end. */
const places: Readonly<Record<string, Readonly<Record<string, IconName>>>> = {
  People: {
    workers: 'people',
    disputes: 'scale',
    evidence: 'file',
    sources: 'shield',
    scores: 'chart',
    credentials: 'check',
  },
  Customers: {
    accounts: 'box',
    users: 'people',
    'api-keys': 'key',
    credits: 'chart',
    payments: 'send',
    webhooks: 'hook',
    reports: 'list',
  },
  Service: { service: 'chart', keys: 'key', engines: 'refresh', operators: 'lock' },
}

/**
 * Returns the entries of the navigation. A noun without a list of its own is reached from the
 * records that its operations belong to.
 */
export function navigation<Services>(nouns: Nouns<Services>): NavigationGroup[] {
  const listed = [...nouns.values()].filter((noun) => isListed(nouns, noun))
  const known = new Set(Object.values(places).flatMap((icons) => Object.keys(icons)))
  const entry = ({ path, title }: Noun<Services>, icon: IconName = 'list') => ({
    path,
    title,
    icon,
  })
  const groups = Object.entries(places).map(([title, icons]) => ({
    title,
    pages: Object.entries(icons).flatMap(([name, icon]) => {
      const noun = listed.find((one) => one.name === name)
      return noun === undefined ? [] : [entry(noun, icon)]
    }),
  }))
  const rest = listed.filter(({ name }) => !known.has(name) && name !== 'audit')
  const service = groups.at(-1)?.pages ?? []
  service.push(...rest.map((noun) => entry(noun)))
  service.push({ path: auditPath, title: 'Audit log', icon: 'book' })
  return [
    { pages: [{ path: consolePath, title: 'Overview', icon: 'home' }] },
    ...groups.filter(({ pages }) => pages.length > 0),
  ]
}

export const auditPath = `${consolePath}/audit`

function isListed<Services>(nouns: Nouns<Services>, noun: Noun<Services>): boolean {
  const { main, views, changes } = noun
  if (main !== null) return true
  const keys = [...views, ...changes].map(({ path }) => Object.keys(path)[0] ?? '')
  return !keys.every((key) => nounOfKey(nouns, key) !== undefined)
}
