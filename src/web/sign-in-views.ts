/** The views of sign-in, from data to HTML. They need no script. */
import { notice } from './components.ts'
import { html } from './html.ts'
import { icon } from './icons.ts'
import type { Page } from './layout.ts'

type View = Omit<Page, 'host'>

export interface SignInForm {
  /** As the user typed it. */
  email: string
  /** A path of this service, or null. */
  next: string | null
  /** The problem with the address, or null. */
  error: string | null
  isSignUpOpen: boolean
}

export function signInView({ email, next, error, isSignUpOpen }: SignInForm): View {
  const described = error === null ? 'email-help' : 'email-error email-help'
  return {
    title: error === null ? 'Sign in' : 'Error: sign in',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title">Sign in</h1>
<form class="stack" method="post" action="/sign-in" novalidate>
${next !== null && html`<input type="hidden" name="next" value="${next}">`}
<div class="field">
<label for="email">Email address</label>
<input class="input" id="email" name="email" type="email" inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false" maxlength="254" required autofocus value="${email}" aria-invalid="${error === null ? 'false' : 'true'}" aria-describedby="${described}">
${error !== null && html`<p class="error" id="email-error">${icon('alert')}<span>${error}</span></p>`}
<p class="help" id="email-help">We send you a link. It works once, for 15 minutes.</p>
</div>
<button class="button primary large" type="submit">Send sign-in link</button>
</form>
</div></section>
<p class="muted small">No account yet? ${
      isSignUpOpen
        ? 'Enter your address: the link makes one for you.'
        : 'Ask the operator of this service, or an owner of your account, to invite you.'
    }</p>`,
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

/** Does not say whether a user has the address. */
export function linkSentView(isSignUpOpen: boolean): View {
  const sent = isSignUpOpen
    ? 'A sign-in link is on its way.'
    : 'If the address was invited, a sign-in link is on its way.'
  return {
    title: 'Check your mail',
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<span class="round">${icon('mail', 'md')}</span>
<h1 id="title">Check your mail</h1>
<p>${sent} Open it within 15 minutes.</p>
<p class="muted small">Nothing after a few minutes? Look into the spam folder, and check the address.</p>
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
