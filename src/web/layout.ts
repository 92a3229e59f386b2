/** Pure: the frame of every page. */
import { Type } from 'typebox'
import { accountsPath, consolePath } from '../accounts/sign-in.ts'
import type { ConsoleRole } from '../edge/http/callers.ts'
import { formType } from '../edge/http/contract.ts'
import type { Answer } from '../edge/http/endpoint.ts'
import { type AssetName, assetPath } from './assets.ts'
import { attributes, Html, html, type Part } from './html.ts'
import { type IconName, icon, iconShapes } from './icons.ts'

export interface Page {
  /** Title of the tab, without the product's name. */
  title: string
  /** The host of this deployment, shown beside the mark. */
  host: string
  main: Part
  /** Absent: a public page, or a page of one narrow column. */
  dashboard?: DashboardFrame
  console?: ConsoleFrame
  /** Absent: a page of one narrow column. */
  site?: SiteFrame
  description?: string
  /** Whether search engines may list the page. */
  isIndexed?: boolean
  /** Origin of the public pages, if this listener does not serve them. */
  siteUrl?: string
  /** Further elements of the head, such as links to other forms of the page. */
  head?: Part
  /** Modules beside those of every page. */
  scripts?: readonly AssetName[]
}

/** The frame of a public page. */
export interface SiteFrame {
  /** Path of the current entry in the navigation, or of none. */
  current: string
  /** Null: the host stands alone in the footer. */
  operatorName?: string | null
  /** Absent: a page of one column. */
  columns?: SiteColumns
}

/** The columns on both sides of the content. On a narrow screen the first one is a drawer. */
export interface SiteColumns {
  /** Name of the navigation, e.g. `Documentation`. */
  label: string
  navigation: Part
  contents: Part
}

export interface DashboardFrame {
  account: string
  /** The other accounts of the user, to which the session can move. */
  otherAccounts: readonly { id: string; name: string }[]
  /** Name of the user, or the mail address. */
  user: string
  /** How many open invitations the user has. */
  invitations: number
  /** Path of the current page in the navigation. */
  current: string
  failingEndpoints: number
}

export interface ConsoleFrame {
  /** Name of the user, or the mail address. */
  user: string
  role: ConsoleRole
  /** Path of the current page in the navigation. */
  current: string
  groups: readonly NavigationGroup[]
}

/** Renders a whole page. */
export function renderPage(page: Page): string {
  const { title, description, isIndexed = false, head, scripts = [] } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description !== undefined && html`<meta name="description" content="${description}">\n`}${!isIndexed && robots}<title>${title} · assay</title>
<link rel="icon" href="${assetPath('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('assay.css')}">
<script src="${assetPath('theme.ts')}"></script>
<script src="${assetPath('islands.ts')}" type="module"></script>
${scripts.map((name) => html`<script src="${assetPath(name)}" type="module"></script>\n`)}${head}</head>
${bodyOf(page)}
</html>
`.text
}

const robots = new Html('<meta name="robots" content="noindex">\n')

function bodyOf({ host, main, dashboard, console, site, siteUrl = '' }: Page): Html {
  if (dashboard !== undefined) return dashboardBody(dashboard, main)
  if (console !== undefined) return consoleBody(console, main)
  return site === undefined ? singleBody({ host, siteUrl }, main) : siteBody(site, host, main)
}

function singleBody({ host, siteUrl }: { host: string; siteUrl: string }, main: Part): Html {
  const content = html`${main}`
  return html`<body>
<a class="skip" href="#main">Skip to content</a>
<header class="site-header"><div>
${brand(host, siteUrl)}
<div class="row">${siteUrl === '' && searchLink}${themeButton}</div>
</div></header>
<main id="main" class="single">
${content}
</main>
<footer class="site-footer small muted"><div class="row wide"><span>Score credentials of ${host}</span><a href="${`${siteUrl}/verify`}">Verify a credential</a><a href="${`${siteUrl}/docs`}">Docs</a></div></footer>
${siteUrl === '' && searchDialog}
${iconShapes(content.text + themeButton.text + searchLink.text)}
</body>`
}

/** The navigation of public pages. */
const siteEntries = [
  { path: '/verify', title: 'Verify' },
  { path: '/standard', title: 'Skill standard' },
  { path: '/docs', title: 'Docs' },
] as const

function siteBody(
  { current, columns, operatorName = null }: SiteFrame,
  host: string,
  main: Part,
): Html {
  const content =
    columns === undefined
      ? html`<main id="main" class="page stack loose">\n${main}\n</main>`
      : columnsOf(columns, main)
  const full = columns !== undefined && ' full'
  return html`<body>
<a class="skip" href="#main">Skip to content</a>
<header class="site-header${full}"><div>
${columns !== undefined && menuButton}${brand(host)}
${siteNavigation(current)}
<div class="row">${searchLink}${themeButton}<a class="button" href="/dashboard">Dashboard</a></div>
</div></header>
${content}
<footer class="site-footer small muted${full}"><div class="row wide"><span>Score credentials of ${operatorName === null ? host : html`<bdi>${operatorName}</bdi> (${host})`}</span><a href="/status">Status</a><a href="/.well-known/did.json">Issuer and keys</a><a href="/docs/api">API reference</a><a href="/changelog">Changelog</a></div></footer>
${searchDialog}
${iconShapes(content.text + themeButton.text + menuButton.text + searchLink.text)}
</body>`
}

function columnsOf({ label, navigation, contents }: SiteColumns, main: Part): Html {
  return html`<div class="shell docs">
<nav class="sidebar" id="nav" popover aria-label="${label}"><div class="stack loose">${navigation}</div></nav>
<main id="main">
${main}
</main>
${contents}
</div>`
}

/** Renders the navigation. `current` is the path of its entry for the page, or of none. */
function siteNavigation(current: string): Html {
  const entries = siteEntries.map(
    ({ path, title }) =>
      html`<a href="${path}"${attributes({ 'aria-current': path === current && 'page' })}>${title}</a>`,
  )
  return html`<nav class="site-nav" aria-label="Main">${entries}</nav>`
}

function brand(host: string, siteUrl = ''): Html {
  return html`<a class="brand" href="${`${siteUrl}/`}">${mark}assay <span class="host">${host}</span></a>`
}

export interface Destination {
  path: string
  title: string
  icon: IconName
}

export interface NavigationGroup {
  title?: string
  pages: readonly Destination[]
}

/** The navigation of the dashboard. */
const groups: readonly NavigationGroup[] = [
  {
    pages: [
      { path: '/dashboard', title: 'Home', icon: 'home' },
      { path: '/dashboard/usage', title: 'Usage and credits', icon: 'chart' },
      { path: '/dashboard/requests', title: 'Requests', icon: 'list' },
    ],
  },
  {
    title: 'Build',
    pages: [
      { path: '/dashboard/keys', title: 'API keys', icon: 'key' },
      { path: '/dashboard/webhooks', title: 'Webhooks', icon: 'hook' },
      { path: '/dashboard/sandbox', title: 'Sandbox', icon: 'box' },
      { path: '/dashboard/decisions', title: 'Agent decisions', icon: 'scale' },
    ],
  },
  {
    title: 'Account',
    pages: [
      { path: '/dashboard/team', title: 'Team', icon: 'people' },
      { path: '/dashboard/sessions', title: 'Sessions', icon: 'clock' },
      { path: '/dashboard/audit', title: 'Audit log', icon: 'book' },
    ],
  },
]

/** The pages of the dashboard, for the search. */
export const dashboardEntries = groups.flatMap(({ pages }) =>
  pages.map(({ path, title }) => ({ path, title })),
)

/** Links to the pages beside the dashboard. */
const help: readonly Destination[] = [
  { path: '/docs', title: 'Docs', icon: 'file' },
  { path: '/docs/api', title: 'API reference', icon: 'help' },
]

/** An account that a user made by sign-up has an id for a name. */
export function accountTitle(name: string): string {
  return /^sign-up [0-9a-f-]{36}$/.test(name) ? 'Personal account' : name
}

function dashboardBody(frame: DashboardFrame, main: Part): Html {
  const account = accountTitle(frame.account)
  const invitations =
    frame.invitations > 0 &&
    html`<a href="${accountsPath}">${icon('mail')}${frame.invitations === 1 ? 'An open invitation' : `${frame.invitations} open invitations`}</a>`
  return shellBody(
    {
      start: '/dashboard',
      label: 'Dashboard',
      place: account,
      user: frame.user,
      menu: html`${accountSwitch(frame)}${invitations}<a href="/dashboard/sessions">${icon('clock')}Your sessions</a><a href="/dashboard/leave">${icon('out')}Leave this account</a>`,
      groups: [...groups, { title: 'Help', pages: help }],
      hasSearch: true,
      link: (page) => link(page, frame),
    },
    main,
  )
}

function consoleBody({ user, role, current, groups }: ConsoleFrame, main: Part): Html {
  const place = `Console, ${role}`
  const shell = { start: consolePath, label: 'Console', place, user, groups, hasSearch: false }
  return shellBody({ ...shell, menu: false, link: (page) => navigationLink(page, current) }, main)
}

interface Shell {
  /** The page behind the mark. */
  start: string
  label: string
  /** Beside the mark, and below the name of the user. */
  place: string
  user: string
  /** Entries of the user's menu. */
  menu: Part
  groups: readonly NavigationGroup[]
  /** Whether the search over docs and dashboard is offered. */
  hasSearch: boolean
  link(page: Destination): Html
}

function shellBody(
  { start, label, place, user, menu, groups, hasSearch, link }: Shell,
  main: Part,
): Html {
  const head = html`<a class="skip" href="#main">Skip to content</a>
<header class="site-header full"><div>
${menuButton}
<a class="brand" href="${start}">${mark}assay</a>
<span class="account collapse" dir="auto">${place}</span>
<div class="row">${hasSearch && searchLink}${themeButton}
<details class="menu"><summary class="button quiet">${avatar(user, 'small')}<span class="collapse user" dir="auto">${user}</span><span class="hidden-visually">, your account</span>${icon('chevron')}</summary><div class="menu-list"><p class="menu-head"><strong class="break" dir="auto">${user}</strong><span class="small muted break" dir="auto">${place}</span></p>${menu}${menu !== false && html`<hr>`}<form method="post" action="/sign-out"><button type="submit">${icon('out')}Sign out</button></form></div></details></div>
</div></header>`
  const navigation = html`<nav class="sidebar" id="nav" popover aria-label="${label}"><div class="stack loose">${groups.map(
    ({ title, pages }) =>
      html`<div class="nav-group">${title !== undefined && html`<p>${title}</p>`}${pages.map(link)}</div>`,
  )}</div></nav>`
  const content = html`${head}
<div class="shell dashboard">
${navigation}
<main id="main" class="stack loose">
${main}
</main>
</div>`
  return html`<body>
${content}
${hasSearch && searchDialog}
${iconShapes(content.text)}
</body>`
}

function accountSwitch({ otherAccounts }: DashboardFrame): Part {
  if (otherAccounts.length === 0) return false
  const buttons = otherAccounts.map(
    ({ id, name }) =>
      html`<button type="submit" name="account" value="${id}">${icon('people')}<span class="break">Switch to <bdi>${accountTitle(name)}</bdi></span></button>`,
  )
  return html`<form method="post" action="${accountsPath}"><input type="hidden" name="do" value="switch">${buttons}</form><hr>`
}

function link({ path, title, icon: name }: Destination, frame: DashboardFrame): Html {
  const failing = path === '/dashboard/webhooks' ? frame.failingEndpoints : 0
  const words = failing === 1 ? 'endpoint is failing' : 'endpoints are failing'
  const trouble =
    failing > 0 &&
    html`<span class="count" data-tone="warning" title="${failing} ${words}">${failing}<span class="hidden-visually"> ${words}</span></span>`
  return navigationLink({ path, title, icon: name }, frame.current, trouble)
}

function navigationLink({ path, title, icon: name }: Destination, current: string, more?: Part) {
  const state = attributes({ 'aria-current': path === current && 'page' })
  return html`<a href="${path}"${state}>${icon(name, 'md')}${title}${more}</a>`
}

export function avatar(user: string, size: 'small' | 'usual' = 'usual'): Html {
  const initials = user
    .split(/[\s@.]+/u)
    .slice(0, 2)
    .map((word) => Array.from(word)[0]?.toUpperCase() ?? '')
    .join('')
  return html`<svg class="avatar ${size}" viewBox="0 0 64 64" aria-hidden="true"><circle fill="var(--accent-soft)" cx="32" cy="32" r="32"/><text fill="var(--on-accent-soft)" x="32" y="40" text-anchor="middle">${initials}</text></svg>`
}

/** The body of a form, whose fields are texts that its page reads by itself. */
export function formBody(bytesMax: number) {
  return {
    mediaTypes: [formType],
    schema: Type.Object({}),
    bytesMax,
    ambiguousReachesHandler: false,
    examples: {},
  }
}

/** Answers with a page. */
export function pageAnswer(
  page: Page,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Answer {
  return { status, body: null, text: renderPage(page), contentType: pageType, headers }
}

export const pageType = 'text/html; charset=utf-8'

/** Sends the browser to another page by GET: a path of this service, or a URL of the provider. */
export function redirect(location: string, headers: Record<string, string> = {}): Answer {
  return {
    status: 303,
    body: null,
    text: '',
    contentType: pageType,
    headers: { Location: location, ...headers },
  }
}

const mark = new Html(
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7.500 1.500h9l6 6v9l-6 6h-9l-6-6v-9z" fill="var(--brand)"/><path stroke="var(--brand-metal)" d="M8 16.500 12 6.500l4 10M9.500 13.200h5" fill="none" stroke-width="2.100" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)

const menuButton = html`<button class="button quiet menu-button" type="button" popovertarget="nav">${icon('menu', 'md')}<span class="hidden-visually">Menu</span></button>`

const themeButton = html`<button class="button quiet" type="button" data-theme-toggle hidden>${icon('theme')}<span class="hidden-visually">Switch between light and dark</span></button>`

/** Without a script it leads to the page of the search. */
const searchLink = html`<a class="button quiet" href="/docs/find" data-find aria-keyshortcuts="Control+K Meta+K">${icon('search')}<span class="hidden-visually">Search</span><kbd class="wide-only" aria-hidden="true" data-find-key>Ctrl K</kbd></a>`

/** The search over every page. A script opens it and fills its list from the template. */
const searchDialog = html`<dialog class="dialog find" id="find" aria-label="Search"><form action="/docs/find" role="search"><input class="input" id="find-input" name="q" type="text" inputmode="search" maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="Search the docs, the API and the dashboard" aria-label="Search the docs, the API and the dashboard" role="combobox" aria-expanded="false" aria-controls="find-list" aria-autocomplete="list"></form><div id="find-list" role="listbox" aria-label="Results" hidden></div><p class="small muted" id="find-count" role="status"></p><template><div role="group"><p class="label small"></p></div><a role="option" tabindex="-1" aria-selected="false"><span class="strong"></span> <span class="small muted"></span><span class="small muted excerpt"></span></a></template></dialog>`
