/** Pure: the frame of a page of the documentation: navigation, title, contents, next page. */
import { breadcrumb, methodTag } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import type { PublicView, Site } from '../public-page.ts'
import type { DocsLibrary, DocsPage } from './library.ts'

export interface DocsView {
  path: string
  title: string
  /** For search engines and previews. */
  description: string
  /** The page between the start of the documentation and this one. */
  above?: { url: string; title: string }
  lead?: Part
  /** A page of the reference: its call stands beside the rest, and its navigation lists operations. */
  reference?: {
    call: Part
    groups: readonly { title: string; operations: readonly OperationEntry[] }[]
  }
  main: Part
  sections?: readonly { id: string; title: string }[]
  /** Path of the same page in Markdown. */
  markdownPath?: string
  previous?: Pick<DocsPage, 'path' | 'title'> | undefined
  next?: Pick<DocsPage, 'path' | 'title'> | undefined
  /** True unless given: search engines may list the page. */
  isListed?: boolean
}

/** An operation in the navigation. */
export interface OperationEntry {
  path: string
  title: string
  method: string
}

export interface DocsFrame {
  site: Site
  library: DocsLibrary
}

type Entry = Pick<DocsPage, 'path' | 'title'>

/** Made from the contract, so it is no file of `docs/`. */
const apiEntry: Entry = { path: '/docs/api', title: 'API' }

/** Returns the groups of the library, with the reference of the API. */
export function groupsOf({ groups }: DocsLibrary): { title: string; pages: readonly Entry[] }[] {
  return groups.map(({ title, pages }) => ({
    title,
    pages: title === 'Reference' ? [apiEntry, ...pages] : pages,
  }))
}

/** Returns the page in the frame of the documentation. */
export function docsView({ site, library }: DocsFrame, view: DocsView): PublicView {
  const { path, title, description, lead, main, markdownPath, reference, isListed = true } = view
  const head = html`${path !== '/docs' && breadcrumb([{ url: '/docs', title: 'Docs' }, view.above ?? []].flat(), title)}
<h1>${title}</h1>
${lead !== undefined && html`<div class="lead">${lead}</div>`}
${markdownPath !== undefined && html`<p class="small muted"><a href="${markdownPath}">View as Markdown</a></p>`}
`
  const rest = html`${main}
${pager(view)}`
  return {
    title: `${title} · docs`,
    description,
    current: '/docs',
    isIndexed: isListed,
    alternates: markdownPath === undefined ? [] : [{ path: markdownPath, type: 'text/markdown' }],
    head: html`<link rel="canonical" href="${`${site.publicUrl}${path}`}">\n`,
    columns: {
      label: 'Documentation',
      navigation: [
        searchForm('nav-q', 'Search'),
        reference === undefined
          ? navigation(library, view)
          : operationLinks(reference.groups, path),
      ],
      contents: reference === undefined && contents(view),
    },
    main: html`<article class="prose${reference !== undefined && ' operation'}">
${
  reference === undefined
    ? html`${head}${rest}`
    : html`<div class="introduction">${head}</div>
<aside class="call" aria-label="Call this operation">${reference.call}</aside>
<div class="rest">${rest}</div>`
}
</article>`,
  }
}

/** The form of the search. `id` and `label` are unique on their page. */
export function searchForm(id: string, label: string, query = ''): Html {
  return html`<form class="field" action="/docs/find" role="search" aria-label="${label}"><label class="hidden-visually" for="${id}">Search the documentation</label><input class="input" id="${id}" name="q" type="search" value="${query}" placeholder="Search" maxlength="80" required></form>`
}

function navigation(library: DocsLibrary, view: DocsView): Html[] {
  return groupsOf(library).map(({ title, pages }) => {
    const links = pages.map((page) => {
      const isCurrent =
        page.path === view.path ||
        (page.path === apiEntry.path && view.path.startsWith(`${apiEntry.path}/`)) ||
        (page.path === '/docs/errors' && view.path.startsWith('/docs/errors/'))
      const current = attributes({ 'aria-current': isCurrent && 'page' })
      return html`<a href="${page.path}"${current}>${page.title}</a>`
    })
    return html`<div class="nav-group"><p>${title}</p>${links}</div>`
  })
}

function operationLinks(
  groups: NonNullable<DocsView['reference']>['groups'],
  current: string,
): Html[] {
  const back = html`<div class="nav-group"><a href="/docs">Docs</a><a href="${apiEntry.path}">API reference</a></div>`
  const lists = groups.map(({ title, operations }) => {
    const links = operations.map(
      (one) =>
        html`<a href="${one.path}"${attributes({ 'aria-current': one.path === current && 'page' })}><span>${one.title}</span>${methodTag(one.method)}</a>`,
    )
    return html`<div class="nav-group"><p>${title}</p>${links}</div>`
  })
  return [back, ...lists]
}

function contents({ sections = [] }: DocsView): Part {
  return (
    sections.length > 1 &&
    html`<nav class="toc" aria-label="On this page"><p class="strong">On this page</p><ul>${sections.map(({ id, title }) => html`<li><a href="${`#${id}`}">${title}</a></li>`)}</ul></nav>`
  )
}

function pager({ previous, next }: DocsView): Part {
  if (previous === undefined && next === undefined) return null
  return html`<nav class="pager" aria-label="Previous and next page">${previous && html`<a class="card" href="${previous.path}"><span>Previous</span>${previous.title}</a>`}${next && html`<a class="card next" href="${next.path}"><span>Next</span>${next.title}</a>`}</nav>`
}

/** Returns a table that becomes a list of cards on a narrow screen. */
export function table(label: string, heads: readonly Part[], rows: readonly Part[][]): Html {
  return html`<div class="card"><div class="table-box" tabindex="0" role="region" aria-label="${label}"><table class="table stacks" role="table"><thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th scope="col" role="columnheader">${head}</th>`)}</tr></thead><tbody role="rowgroup">${rows.map(
    ([first, ...others]) =>
      html`<tr role="row"><th scope="row" role="rowheader">${first}</th>${others.map((cell) => html`<td role="cell">${cell}</td>`)}</tr>`,
  )}</tbody></table></div></div>\n`
}
