/** Pure: the search of the documentation. */
import { html, type Part } from '../html.ts'
import type { PublicView } from '../public-page.ts'
import { type DocsFrame, docsView, searchForm } from './frame.ts'
import type { DocsLibrary } from './library.ts'

interface Hit {
  path: string
  page: string
  section: string | undefined
  text: string
  rank: number
}

const hitsMax = 20

export function searchView(frame: DocsFrame, query: string): PublicView {
  const hits = query === '' ? [] : findSections(frame.library, query)
  return docsView(frame, {
    path: '/docs/find',
    title: 'Search',
    description: 'Search the documentation.',
    trail: [{ path: '/docs', title: 'Docs' }],
    isListed: false,
    main: html`${searchForm('q', 'Search again', query)}${query !== '' && results(hits, query)}`,
  })
}

function results(hits: readonly Hit[], query: string): Part {
  if (hits.length === 0)
    return html`<div class="empty"><p><strong>No page mentions “${query}”</strong></p><p>Search for fewer or other words, or go to <a href="/docs">all pages</a>.</p></div>`
  const count = hits.length === hitsMax ? `The best ${hitsMax} results` : `${hits.length} found`
  return html`<p class="small muted" role="status">${count}</p>
<ol class="stack">${hits.map(
    ({ path, page, section, text }) =>
      html`<li><a class="strong" href="${path}">${page}${section !== undefined && html` · ${section}`}</a><br><span class="small muted">${text}</span></li>`,
  )}</ol>`
}

/**
 * Returns the sections that hold every word: those with a word in their title first, then whole
 * pages, then pages of the navigation.
 */
function findSections({ pages }: DocsLibrary, query: string): Hit[] {
  const words = query.toLowerCase().split(/\s+/u).filter(Boolean)
  const hits: Hit[] = []
  for (const page of pages.values()) {
    // The index names every page: it would be found for all words.
    if (page.path === '/docs') continue
    const [intro = '', ...parts] = page.markdown.split(/^## /m)
    const sections = [{ title: undefined, id: '', text: intro }, ...parts.map(sectionOf)]
    for (const { title, text } of sections) {
      const id = page.sections.find((one) => one.title === title)?.id
      const whole = `${page.title}\n${title ?? ''}\n${text}`.toLowerCase()
      if (!words.every((word) => whole.includes(word))) continue
      const heading = (title ?? page.title).toLowerCase()
      const rank = words.filter((word) => heading.includes(word)).length
      hits.push({
        path: id === undefined ? page.path : `${page.path}#${id}`,
        page: page.title,
        section: title,
        text: excerpt(text, words),
        rank: rank * 4 + (title === undefined ? 2 : 0) + (page.group === undefined ? 0 : 1),
      })
    }
  }
  return hits.sort((a, b) => b.rank - a.rank).slice(0, hitsMax)
}

function sectionOf(part: string) {
  const end = part.indexOf('\n')
  return { title: plainOf(part.slice(0, end)), text: part.slice(end) }
}

/** Returns the line with the first word, without the marks of Markdown. */
function excerpt(text: string, words: readonly string[]): string {
  const lines = text.split('\n').filter((line) => /\w/.test(line) && !/^(#|```|\|-)/.test(line))
  const line =
    lines.find((one) => words.some((word) => one.toLowerCase().includes(word))) ?? lines[0] ?? ''
  const plain = plainOf(line)
  return plain.length > 200 ? `${plain.slice(0, 199)}…` : plain
}

function plainOf(line: string): string {
  return line
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]/g, '')
    .trim()
}
