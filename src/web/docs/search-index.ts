/** Pure: what a search of the documentation finds, and in which order. */
import { type ErrorName, type ErrorRow, errorTable } from '../../platform/errors.ts'
import { matcherOf, openTextIndex } from '../text-index.ts'
import { type Listed, type OpenApi, operationsIn } from './api.ts'
import type { DocsLibrary, DocsPage } from './library.ts'
import type { Outline } from './markdown.ts'

const groups = ['Guides', 'Operations', 'Errors', 'Dashboard', 'Background'] as const
type Group = (typeof groups)[number]

/** A text in pieces, of which some matched. */
export type Excerpt = readonly { text: string; isMatch: boolean }[]

export interface Hit {
  path: string
  title: string
  /** Where the hit belongs: its page, or the request of an operation. */
  place: string
  excerpt: Excerpt
}

export interface HitGroup {
  title: Group
  hits: readonly Hit[]
}

type DocsSearch = (query: string) => readonly HitGroup[]

interface Entry {
  group: Group
  weight: number
  path: string
  /** Two hits of one page are one. */
  page: string
  title: string
  place: string
  text: string
  /** A query that equals one of them means this entry. */
  names: readonly string[]
}

/** A page beside the documentation. */
export interface OtherPage {
  path: string
  title: string
}

const hitsMax = 5
const startWeight = 1.3
/** What a query that names an error, a status or an operation adds to it. */
const namedWeight = 6

const aliases: Readonly<Record<string, readonly string[]>> = {
  leaked: ['revoke', 'rotate', 'stolen'],
  compromised: ['revoke', 'rotate', 'stolen'],
  throttled: ['rate', 'limit'],
  delete: ['erase', 'revoke'],
  gdpr: ['privacy', 'erase', 'export'],
  price: ['credits', 'x402'],
  cost: ['credits', 'x402'],
  login: ['sign-in'],
  install: ['deploy', 'start'],
  docker: ['deploy'],
  javascript: ['typescript'],
  complaint: ['dispute'],
}

/** Builds the search. `pages` are the pages of the dashboard. */
export async function openDocsSearch(
  library: DocsLibrary,
  document: OpenApi,
  pages: readonly OtherPage[],
): Promise<DocsSearch> {
  const { outlineOf } = await import('./markdown.ts')
  const entries: Entry[] = [
    // The index names every page: it would be found for all words.
    ...[...library.pages.values()]
      .filter(({ path }) => path !== '/docs')
      .flatMap((page) => sectionsOf(page, outlineOf(page))),
    ...operationsIn(document).map(operationEntry),
    ...(Object.entries(errorTable) as [ErrorName, ErrorRow][]).map(errorEntry),
    ...pages.map(dashboardEntry),
  ]
  const index = await openTextIndex(entries, {
    fields: { title: 4, page: 3, text: 1 },
    textsOf: ({ title, place, text }) => ({ title, page: place, text }),
    weightOf: ({ weight, names }, query) => weight * (names.includes(query) ? namedWeight : 1),
    aliases,
    enough: hitsMax,
  })
  return (query) => {
    const shown = new Map<Group, Hit[]>()
    const seen = new Set<string>()
    for (const { item, terms } of index.find(query)) {
      const { group, path, page, title, place, text } = item
      const hits = shown.get(group) ?? []
      if (seen.has(page) || hits.length === hitsMax) continue
      seen.add(page)
      shown.set(group, [
        ...hits,
        { path, title, place, excerpt: excerptOf(text, matcherOf(terms)) },
      ])
    }
    // A map keeps the order of the best hit of each group.
    return [...shown].map(([title, hits]) => ({ title, hits }))
  }
}

function sectionsOf(page: DocsPage, outline: Outline): Entry[] {
  const [intro = '', ...parts] = page.markdown.split(/^## /m)
  const shared = { ...placeOf(page), page: page.path, names: [] }
  const sections = parts.map((part) => {
    const end = part.indexOf('\n')
    const title = plainOf(part.slice(0, end))
    const id = outline.sections.find((one) => one.title === title)?.id
    const path = id === undefined ? page.path : `${page.path}#${id}`
    return { ...shared, path, title, place: page.title, text: linesOf(part.slice(end)) }
  })
  const start = { path: page.path, title: page.title, place: page.title, text: linesOf(intro) }
  // A page about a thing comes before a section about it.
  return [{ ...shared, ...start, weight: shared.weight * startWeight }, ...sections]
}

function placeOf({ path, group }: DocsPage): { group: Group; weight: number } {
  if (path === '/changelog') return { group: 'Background', weight: 0.25 }
  if (group === 'Contribute' || path.startsWith('/docs/decisions'))
    return { group: 'Background', weight: 0.3 }
  // More readers call the API than run the service.
  return { group: 'Guides', weight: group?.startsWith('Operate') ? 1.5 : 2 }
}

function operationEntry({ method, path, operation }: Listed): Entry {
  const { operationId, summary: title, description = '' } = operation
  const text = `${operationId}\n${description}`
  const of = { path: `/docs/api/${operationId}`, page: operationId, place: `${method} ${path}` }
  return { ...of, group: 'Operations', weight: 1, title, text, names: [operationId.toLowerCase()] }
}

function errorEntry([name, { status, message, advice }]: [ErrorName, ErrorRow]): Entry {
  const text = `${message} ${advice}`
  const of = { path: `/docs/errors/${name}`, page: `error ${name}`, place: `${status}` }
  return { ...of, group: 'Errors', weight: 0.6, title: name, text, names: [name, `${status}`] }
}

function dashboardEntry({ path, title }: OtherPage): Entry {
  const of = { path, page: path, place: 'Dashboard' }
  return { ...of, group: 'Dashboard', weight: 0.6, title, text: '', names: [] }
}

/** Returns the text without the marks of Markdown, its blocks on lines of their own. */
function linesOf(markdown: string): string {
  return markdown
    .split('\n')
    .filter((line) => /\w/.test(line) && !/^(```|\|-|<!--)/.test(line))
    .map((line) => plainOf(line.replace(/^#+ /, '')))
    .join('\n')
}

function plainOf(line: string): string {
  return line
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]/g, '')
    .trim()
}

const excerptLengthMax = 180
/** The changelog has hundreds of lines. */
const excerptLinesMax = 60

/** Returns the line with the most matches, from shortly before the first of them. */
function excerptOf(text: string, isMatch: (word: string) => boolean): Excerpt {
  const lines = text.split('\n').slice(0, excerptLinesMax).map(piecesOf)
  const count = (pieces: Excerpt) =>
    new Set(pieces.flatMap(({ text, isMatch }) => (isMatch ? text.toLowerCase() : []))).size
  const best = lines.reduce(
    (one, other) => (count(other) > count(one) ? other : one),
    lines[0] ?? [],
  )
  const first = Math.max(0, best.findIndex(({ isMatch }) => isMatch) - 16)
  const shown: { text: string; isMatch: boolean }[] =
    first > 0 ? [{ text: '… ', isMatch: false }] : []
  let length = 0
  for (const piece of best.slice(first)) {
    length += piece.text.length
    if (length > excerptLengthMax) {
      shown.push({ text: ' …', isMatch: false })
      break
    }
    const last = shown.at(-1)
    if (last !== undefined && !last.isMatch && !piece.isMatch) last.text += piece.text
    else shown.push({ ...piece })
  }
  return shown

  function piecesOf(line: string): Excerpt {
    return (line.match(/[\p{L}\p{N}][\p{L}\p{N}._:/#+-]*|[^\p{L}\p{N}]+/gu) ?? []).map((piece) => ({
      text: piece,
      isMatch: isMatch(piece),
    }))
  }
}
