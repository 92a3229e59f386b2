/** Pure: how pages show a refusal. */
import type { RefusalPage, RefusedVisit } from '../edge/http/endpoint.ts'
import { html, type Part } from './html.ts'
import { renderPage, type SiteFrame } from './layout.ts'

const titles: Partial<Record<string, string>> = {
  not_found: 'Page not found',
  method_not_allowed: 'This page takes no form',
  payload_too_large: 'The form holds too much',
  internal_error: 'The service failed',
  rate_limited: 'Too many requests',
  cross_origin: 'This form came from another site',
  overloaded: 'The service is busy',
  unavailable: 'A part of the service is down',
}

/** Instead of messages that speak to a program. */
const messages: Partial<Record<string, string>> = {
  method_not_allowed: 'Nothing was changed. Open the page again from its link.',
  payload_too_large:
    'Nothing was changed. You sent more text than the form takes. Go back and send less.',
}

/** Renders refusals of public pages, and of paths that match nothing. */
export function publicRefusalPage(host: string): RefusalPage {
  return (refused) => {
    const isUnknown = refused.error === 'not_found'
    const message = isUnknown ? unknownPath : refused.message
    const back = isUnknown ? toEverywhere : toHome
    return refusalPage(host, { ...refused, message, back, site: { current: '' } })
  }
}

/** Renders refusals of the sign-in pages. */
export function startRefusalPage(host: string): RefusalPage {
  return (refused) => refusalPage(host, { ...refused, back: toStart })
}

/**
 * Renders refusals of dashboard pages. A visitor without a session signs in first and then comes
 * back to the page: each page takes its forms under its own path.
 */
export function dashboardRefusalPage(host: string): RefusalPage {
  return (refused) =>
    refused.error === 'session_required'
      ? { redirectTo: `/sign-in?next=${encodeURIComponent(refused.target)}` }
      : refusalPage(host, { ...refused, back: toDashboard })
}

/**
 * Renders refusals of pages of the console. Without a role, its pages are those of unknown paths,
 * also for a method that its path does not take: that is refused before the role is known.
 */
export function consoleRefusalPage(host: string, unknown: RefusalPage): RefusalPage {
  return (refused) => {
    const { error, target } = refused
    if (error === 'session_required')
      return { redirectTo: `/sign-in?next=${encodeURIComponent(target)}` }
    return error === 'not_found' || error === 'method_not_allowed'
      ? unknown({ ...refused, error: 'not_found' })
      : refusalPage(host, { ...refused, back: toConsole })
  }
}

/** Renders refusals of unknown paths on the operator's own listener. */
export function unknownConsolePage(host: string, siteUrl: string): RefusalPage {
  return (refused) => {
    const message = refused.error === 'not_found' ? unknownPath : refused.message
    return refusalPage(host, { ...refused, message, back: toConsole, siteUrl })
  }
}

/** Equal for a page that is hidden and for one that never was. */
const unknownPath = 'There is no page at this address. Check the address for typing errors.'
const toEverywhere = html`Go to the <a href="/">start page</a>, <a href="/verify">check a credential</a>, look up a skill in <a href="/standard">the standard</a>, or read <a href="/docs">the docs</a>.`
const toHome = html`<a class="button" href="/">Go to the start page</a>`
const toStart = html`<a class="button" href="/sign-in">Go to sign-in</a>`
const toConsole = html`<a class="button" href="/console">Go to the console</a>`
const toDashboard = html`<a class="button" href="/dashboard">Go to the dashboard</a>`

interface Refused extends RefusedVisit {
  back: Part
  site?: SiteFrame
  siteUrl?: string
}

function refusalPage(host: string, refused: Refused): string {
  const { error, status, message, requestId, back, site, siteUrl = '' } = refused
  const title = titles[error] ?? 'This did not work'
  return renderPage({
    title,
    host,
    siteUrl,
    ...(site === undefined ? {} : { site }),
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">${title}</h1>
<p>${messages[error] ?? message}</p>
${status === 503 && html`<p>Try again in a minute. The <a href="${`${siteUrl}/status`}">status page</a> says what works.</p>\n`}${error === 'internal_error' && html`<p>Try again. If it fails again, give the operator of this service the request ID <code>${requestId}</code>.</p>\n`}<p>${back}</p>
</div></section>`,
  })
}
