/** The views of sign-in, from data to HTML. They need no script. */
import type { OwnSession } from '../accounts/session-store.ts'
import { notice } from './components.ts'
import { html, type Part } from './html.ts'
import { icon } from './icons.ts'
import type { Page } from './layout.ts'
import { relativeTime } from './text.ts'

type View = Omit<Page, 'host'>

export interface SignInForm {
  /** As the user typed it. */
  email: string
  /** A path of this service, or null. */
  next: string | null
  /** The problem with the address, or null. */
  error: string | null
}

export function signInView({ email, next, error }: SignInForm): View {
  const described = error === null ? 'email-help' : 'email-error email-help'
  return {
    title: error === null ? 'Sign in' : 'Error: sign in',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">Sign in</h1>
<form class="stack" method="post" action="/sign-in" novalidate>
${next !== null && html`<input type="hidden" name="next" value="${next}">`}
<div class="field">
<label for="email">Email address</label>
<input class="input" id="email" name="email" type="email" inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false" maxlength="254" required value="${email}" aria-invalid="${error === null ? 'false' : 'true'}" aria-describedby="${described}">
${error !== null && html`<p class="error" id="email-error">${icon('alert')}<span>${error}</span></p>`}
<p class="help" id="email-help">We send you a link. It works once, for 15 minutes.</p>
</div>
<button class="button primary large" type="submit">Send sign-in link</button>
</form>
</div></section>
<p class="muted small">No account yet? Ask the operator of this service, or an owner of your account, to invite you.</p>`,
  }
}

export function mailOffView(): View {
  return {
    title: 'Sign in',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">Sign in</h1>
${notice({
  tone: 'info',
  title: 'This service sends no mail.',
  text: html`Ask its operator for a sign-in link: <code>assay users sign-in-link EMAIL</code> prints one.`,
})}
</div></section>`,
  }
}

export function linkSentView(): View {
  return {
    title: 'Check your mail',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">Check your mail</h1>
<p>If the address belongs to a user, a sign-in link is on its way. Open it within 15 minutes.</p>
<p class="muted small">Nothing after a few minutes? Look into the spam folder, and check that the address is the one that was invited.</p>
<p><a href="/sign-in">Use another address</a></p>
</div></section>`,
  }
}

export function confirmView({ email, token }: { email: string; token: string }): View {
  return {
    title: 'Confirm sign-in',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">Confirm sign-in</h1>
<p>You sign in as <strong class="break">${email}</strong> in this browser.</p>
<form method="post" action="/sign-in/confirm">
<input type="hidden" name="token" value="${token}">
<button class="button primary large" type="submit">Sign in</button>
</form>
<p class="muted small">Not your address, or not your request? Close this page. Nothing has happened yet.</p>
</div></section>`,
  }
}

export function unusableLinkView(): View {
  return {
    title: 'This link cannot be used',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">This link cannot be used</h1>
<p>A sign-in link works once, for 15 minutes. This one was used, has expired, or is not complete.</p>
<p><a class="button primary large" href="/sign-in">Send a new link</a></p>
</div></section>`,
  }
}

export interface SignedIn {
  email: string
  account: string
  currentId: string
  sessions: readonly OwnSession[]
  now: Date
}

export function signedInView({ email, account, currentId, sessions, now }: SignedIn): View {
  return {
    title: 'Signed in',
    main: html`<section class="card wide" aria-labelledby="title">
<div class="card-body row apart">
<div class="stack tight"><h1 id="title">Signed in</h1><p class="muted break">${email}, for the account ${account}</p></div>
<form method="post" action="/sign-out"><button class="button" type="submit">Sign out</button></form>
</div></section>
<section class="card wide" aria-labelledby="sessions">
<div class="card-head"><h2 id="sessions">Your sessions</h2><form method="post" action="/sign-out"><input type="hidden" name="everywhere" value="yes"><button class="button danger small" type="submit">Sign out everywhere</button></form>
<p>A browser that you do not know? Sign it out.</p></div>
<ul class="sessions">
${sessions.map((session) => sessionRow(session, { currentId, now }))}
</ul></section>`,
  }
}

function sessionRow(
  { id, browser, network, lastSeenAt }: OwnSession,
  { currentId, now }: { currentId: string; now: Date },
): Part {
  const isCurrent = id === currentId
  const seen = html`<time datetime="${lastSeenAt.toISOString()}" title="${lastSeenAt.toUTCString()}">${relativeTime(lastSeenAt, now)}</time>`
  return html`<li><div><strong>${browser}</strong>${isCurrent && html` <span class="badge" data-tone="accent">This browser</span>`}
<span class="sub">${network}, last used ${seen}</span></div>
${!isCurrent && html`<form method="post" action="/sign-out"><input type="hidden" name="session" value="${id}"><button class="button small" type="submit">Sign out<span class="hidden-visually"> ${browser}, last used ${relativeTime(lastSeenAt, now)}</span></button></form>`}</li>
`
}

export function refusedView({ status, message }: { status: number; message: string }): View {
  return {
    title: status === 429 ? 'Too many requests' : 'This did not work',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">${status === 429 ? 'Too many requests' : 'This did not work'}</h1>
<p>${message}</p>
<p><a href="/sign-in">Back to sign-in</a></p>
</div></section>`,
  }
}
