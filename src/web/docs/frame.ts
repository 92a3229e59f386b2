/** Pure: the frame of a page of the documentation: navigation, title, contents, next page. */
import { assetPath } from '../assets.ts'
import { attributes, Html, html, type Part } from '../html.ts'
import { icon, iconShapes } from '../icons.ts'
import { mark, siteNavigation, themeButton } from '../layout.ts'
import type { DocsLibrary, DocsPage } from './library.ts'

export interface DocsView {
  path: string
  title: string
  /** For search engines and previews. */
  description: string
  /** The parts of the path to this page, before its own title. */
  trail: readonly { path: string; title: string }[]
  lead?: Part
  main: Part
  sections?: readonly { id: string; title: string }[]
  /** Path of the same page in Markdown. */
  markdownPath?: string
  previous?: Pick<DocsPage, 'path' | 'title'> | undefined
  next?: Pick<DocsPage, 'path' | 'title'> | undefined
  /** Search engines leave the page out. */
  isUnlisted?: boolean
}

export interface DocsFrame {
  publicUrl: string
  library: DocsLibrary
}

/** Pages that the navigation lists behind those of the library. */
const reference = [
  { path: '/docs/api', title: 'API' },
  { path: '/docs/errors', title: 'Errors' },
  { path: '/changelog', title: 'Changelog' },
] as const

/** Renders a whole page. */
export function renderDocsPage(frame: DocsFrame, view: DocsView): string {
  const { publicUrl } = frame
  const { host } = new URL(publicUrl)
  const body = html`<a class="skip" href="#main">Skip to content</a>
<header class="site-header full"><div>
<button class="button quiet menu-button" type="button" popovertarget="nav">${icon('menu', 'md')}<span class="hidden-visually">Open the table of contents</span></button>
<a class="brand" href="/">${mark}assay <span class="host">${host}</span></a>
${siteNavigation('/docs')}
<div class="row">${themeButton}<a class="button" href="/dashboard">Dashboard</a></div>
</div></header>
<div class="shell docs">
<nav class="sidebar" id="nav" popover aria-label="Documentation"><div class="sections">${searchForm('nav-q', 'Search')}${navigation(frame, view)}</div></nav>
<main id="main">
<article class="prose">
<nav class="breadcrumb" aria-label="Breadcrumb"><ol>${view.trail.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}<li aria-current="page">${view.title}</li></ol></nav>
<h1>${view.title}</h1>
${view.lead !== undefined && html`<div class="lead">${view.lead}</div>`}
${view.markdownPath !== undefined && html`<p class="small muted"><a href="${view.markdownPath}">View as Markdown</a></p>`}
${view.main}
${pager(view)}
</article>
</main>
${contents(view)}
</div>
<footer class="site-footer full"><div><span>Score credentials of ${host}</span><a href="/docs">Documentation</a><a href="/changelog">Changelog</a></div></footer>`
  const robots = view.isUnlisted && new Html('<meta name="robots" content="noindex">\n')
  const alternate =
    view.markdownPath !== undefined &&
    html`<link rel="alternate" type="text/markdown" href="${view.markdownPath}">\n`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${view.description}">
${robots}<title>${view.title} · assay docs</title>
<link rel="canonical" href="${`${publicUrl}${view.path}`}">
${alternate}<link rel="icon" href="${assetPath('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('assay.css')}">
<script src="${assetPath('theme.ts')}"></script>
<script src="${assetPath('islands.ts')}" type="module"></script>
</head>
<body>
${body}
${iconShapes(body.text)}
</body>
</html>
`.text
}

/** The form of the search. `id` and `label` are unique on their page. */
export function searchForm(id: string, label: string, query = ''): Html {
  return html`<form class="field" action="/docs/find" role="search" aria-label="${label}"><label class="hidden-visually" for="${id}">Search the documentation</label><input class="input" id="${id}" name="q" type="search" value="${query}" placeholder="Search" maxlength="80" required></form>`
}

function navigation({ library }: DocsFrame, view: DocsView): Html[] {
  const groups = [...library.groups, { title: 'Reference', pages: reference }]
  const listed = new Set<string>(reference.map(({ path }) => path))
  return groups.map(({ title, pages }) => {
    const links = pages
      .filter(({ path }) => title === 'Reference' || !listed.has(path))
      .map((page) => {
        const isCurrent =
          page.path === view.path ||
          (page.path === '/docs/api' && view.path.startsWith('/docs/api/')) ||
          (page.path === '/docs/errors' && view.path.startsWith('/docs/errors/'))
        const current = attributes({ 'aria-current': isCurrent && 'page' })
        return html`<a href="${page.path}"${current}>${page.title}</a>`
      })
    return html`<div class="nav-group"><p>${title}</p>${links}</div>`
  })
}

function contents({ sections = [] }: DocsView): Part {
  return (
    sections.length > 1 &&
    html`<nav class="toc" aria-label="On this page"><p class="strong">On this page</p><ul>${sections.map(({ id, title }) => html`<li><a href="${`#${id}`}">${title}</a></li>`)}</ul></nav>`
  )
}

function pager({ previous, next }: DocsView): Part {
  if (previous === undefined && next === undefined) return null
  return html`<nav class="pager" aria-label="Previous and next page">${previous && html`<a href="${previous.path}"><span>Previous</span>${previous.title}</a>`}${next && html`<a class="next" href="${next.path}"><span>Next</span>${next.title}</a>`}</nav>`
}
