/** Pure: how pages show a refusal. */
import type { RefusalPage } from '../edge/http/endpoint.ts'
import { html, type Part } from './html.ts'
import { renderPage, type SiteFrame } from './layout.ts'

const titles: Partial<Record<string, string>> = {
  not_found: 'Page not found',
  rate_limited: 'Too many requests',
  cross_origin: 'This form came from another site',
  overloaded: 'The service is busy',
  unavailable: 'A part of the service is down',
}

/** Renders refusals of public pages, and of paths that match nothing. */
export function publicRefusalPage(host: string): RefusalPage {
  return ({ error, message }) => {
    const isUnknown = error === 'not_found'
    return refusalPage(host, {
      error,
      message: isUnknown ? unknownPath : message,
      back: isUnknown ? toEverywhere : toHome,
      site: { current: '' },
    })
  }
}

/** Renders refusals of the sign-in pages. */
export function startRefusalPage(host: string): RefusalPage {
  return ({ error, message }) => refusalPage(host, { error, message, back: toStart })
}

/**
 * Renders refusals of dashboard pages. A visitor without a session signs in first and then comes
 * back to the page: each page takes its forms under its own path.
 */
export function dashboardRefusalPage(host: string): RefusalPage {
  return ({ error, message, target }) =>
    error === 'session_required'
      ? { redirectTo: `/sign-in?next=${encodeURIComponent(target)}` }
      : refusalPage(host, { error, message, back: toDashboard })
}

/**
 * Renders refusals of pages of the console. Without a role, its pages are those of unknown paths.
 */
export function consoleRefusalPage(host: string, unknown: RefusalPage): RefusalPage {
  return (refused) => {
    const { error, message, target } = refused
    if (error === 'session_required')
      return { redirectTo: `/sign-in?next=${encodeURIComponent(target)}` }
    return error === 'not_found'
      ? unknown(refused)
      : refusalPage(host, { error, message, back: toConsole })
  }
}

/** Renders refusals of unknown paths on the operator's own listener. */
export function unknownConsolePage(host: string, siteUrl: string): RefusalPage {
  return ({ error, message }) =>
    refusalPage(host, {
      error,
      message: error === 'not_found' ? unknownPath : message,
      back: toConsole,
      siteUrl,
    })
}

/** Equal for a page that is hidden and for one that never was. */
const unknownPath = 'There is no page at this address. Check the address for typing errors.'
const toEverywhere = html`Go to the <a href="/">start page</a>, <a href="/verify">check a credential</a>, look up a skill in <a href="/standard">the standard</a>, or read <a href="/docs">the docs</a>.`
const toHome = html`<a class="button" href="/">Go to the start page</a>`
const toStart = html`<a class="button" href="/sign-in">Go to sign-in</a>`
const toConsole = html`<a class="button" href="/console">Go to the console</a>`
const toDashboard = html`<a class="button" href="/dashboard">Go to the dashboard</a>`

interface Refused {
  error: string
  message: string
  back: Part
  site?: SiteFrame
  siteUrl?: string
}

function refusalPage(host: string, { error, message, back, site, siteUrl = '' }: Refused): string {
  const title = titles[error] ?? 'This did not work'
  return renderPage({
    title,
    host,
    siteUrl,
    ...(site === undefined ? {} : { site }),
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">${title}</h1>
<p>${message}</p>
<p>${back}</p>
</div></section>`,
  })
}
