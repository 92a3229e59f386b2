/** Pure: the answers of the search of the documentation, as a page and for the dialog. */
import { html, type Part } from '../html.ts'
import type { PublicView } from '../public-page.ts'
import { type DocsFrame, docsView, searchForm } from './frame.ts'
import type { Excerpt, Hit, HitGroup } from './search-index.ts'

export const searchPath = '/docs/find'

export function searchView(
  frame: DocsFrame,
  query: string,
  groups: readonly HitGroup[],
): PublicView {
  return docsView(frame, {
    path: searchPath,
    title: 'Search',
    description: 'Search the documentation.',
    isListed: false,
    main: html`${searchForm('q', 'Search again', query)}${jumpLine(query)}${query !== '' && results(groups, query)}`,
  })
}

function jumpLine(query: string): Part {
  const jump = jumpOf(query)
  return jump !== null && html`<p><a class="strong" href="${jump.path}">${jump.title}</a></p>`
}

function results(groups: readonly HitGroup[], query: string): Part {
  const found = groups.reduce((sum, { hits }) => sum + hits.length, 0)
  if (found === 0)
    return html`<div class="empty"><p><strong>No page mentions “${query}”</strong></p><p>Search for fewer or other words, or go to <a href="/docs">all pages</a>.</p></div>`
  return html`<p class="small muted" role="status">${foundWords(found)}</p>
${groups.map(({ title, hits }) => html`<h2 id="${title.toLowerCase()}">${title}</h2><ol class="stack">${hits.map(hitItem)}</ol>`)}`
}

/** The best of each group are shown, so this is no count of all. */
function foundWords(found: number): string {
  return found === 1 ? 'The best result' : `The best ${found} results`
}

function hitItem({ path, title, place, excerpt }: Hit): Part {
  return html`<li><a class="strong" href="${path}">${title}</a>${place !== title && html` <span class="small muted">${place}</span>`}<br><span class="small muted">${marked(excerpt)}</span></li>`
}

function marked(excerpt: Excerpt): Part {
  return excerpt.map(({ text, isMatch }) => (isMatch ? html`<mark>${text}</mark>` : text))
}

/** What the dialog shows. */
export function searchAnswer(query: string, groups: readonly HitGroup[]) {
  const found = groups.reduce((sum, { hits }) => sum + hits.length, 0)
  return {
    jump: jumpOf(query),
    groups,
    summary: found === 0 ? `No page mentions “${query}”` : foundWords(found),
  }
}

/** The page that an id leads to. */
function jumpOf(query: string): { path: string; title: string } | null {
  if (/^evt_(test_)?[0-9a-f]{32}$/.test(query))
    return { path: `/dashboard/events/${query}`, title: `Open the event ${query}` }
  // Sixteen letters in lower case are a word.
  if (/^[\w-]{16}$/.test(query) && /[A-Z0-9]/.test(query))
    return { path: `/dashboard/requests/${query}`, title: `Open the request ${query}` }
  return null
}
