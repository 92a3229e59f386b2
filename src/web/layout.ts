/** Pure: the frame of every page, and the parts that pages share. */
import type { Answer } from '../platform/http/endpoint.ts'
import { faviconPath, stylesheetPath } from './assets.ts'
import { Html, html, type Part } from './html.ts'

export interface Page {
  /** Title of the tab, without the product's name. */
  title: string
  /** The host of this deployment, shown beside the mark. */
  host: string
  main: Part
}

/** Renders a whole page. */
export function renderPage({ title, host, main }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · assay</title>
<link rel="icon" href="${faviconPath}" type="image/svg+xml">
<link rel="stylesheet" href="${stylesheetPath}">
</head>
<body class="site">
<a class="skip" href="#main">Skip to content</a>
<header class="site-header"><div>
<a class="brand" href="/sign-in">${mark}assay <span class="host">${host}</span></a>
</div></header>
<main id="main" class="single">
${main}
</main>
<footer class="site-footer"><div><span>Score credentials of ${host}</span></div></footer>
</body>
</html>
`.text
}

/** Answers with a page. */
export function pageAnswer(page: Page, status = 200): Answer {
  return {
    status,
    body: null,
    text: renderPage(page),
    contentType: 'text/html; charset=utf-8',
  }
}

/** Sends the browser to another page of this service, by GET. */
export function redirect(path: string, headers: Record<string, string> = {}): Answer {
  return {
    status: 303,
    body: null,
    text: '',
    contentType: 'text/html; charset=utf-8',
    headers: { Location: path, ...headers },
  }
}

const mark = new Html(
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7.500 1.500h9l6 6v9l-6 6h-9l-6-6v-9z" class="mark-ground"/><path class="mark-letter" d="M8 16.500 12 6.500l4 10M9.500 13.200h5" fill="none" stroke-width="2.100" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)

const shapes = {
  info: '<circle cx="12" cy="12" r="9"/><path d="M12 11v5M12 8h.01"/>',
  warning: '<path d="M12 4 2.8 19.500h18.400zM12 10v4M12 17h.01"/>',
  mail: '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m3.500 7 8.500 6 8.500-6"/>',
} as const

export function icon(name: keyof typeof shapes): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${shapes[name]}</svg>`)
}

export interface Notice {
  tone: 'info' | 'warning' | 'negative'
  /** A whole sentence. */
  title: string
  text: Part
}

export function notice({ tone, title, text }: Notice): Html {
  return html`<div class="notice" data-tone="${tone}" role="status">${icon(tone === 'info' ? 'info' : 'warning')}<div><strong>${title}</strong> ${text}</div></div>`
}
