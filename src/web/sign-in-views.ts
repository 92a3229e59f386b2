/** The views of sign-in, from data to HTML. They need no script. */
import type { IdentityRefusal } from '../accounts/identity-sign-in.ts'
import { isOfConsole } from '../accounts/sign-in.ts'
import { hidden, notice, result } from './components.ts'
import { attributes, type Html, html, type Part } from './html.ts'
import { icon } from './icons.ts'
import type { Page } from './layout.ts'
import { counted } from './text.ts'

export type SignInView = Omit<Page, 'host'>

/** The ways to sign in to this deployment. */
export interface SignInMethods {
  sendsMail: boolean
  /** Name of the OpenID Connect provider, or null. */
  provider: string | null
  isSignUpOpen: boolean
  /** Whether these are the pages of the operator's own listener. */
  isConsole: boolean
}

export interface SignInForm extends SignInMethods {
  /** The address in the user's spelling. */
  email: string
  /** A path of this service, or null. */
  next: string | null
  /** The problem with the address, or null. */
  error: string | null
  /** Whether the user has just left an account. */
  hasLeft?: boolean
  /** Whether the user is signed in already, and must prove it anew. */
  isAgain?: boolean
}

const leftNotice = result('positive', 'You have left the account. Your sessions in it have ended.')

export function signInView(form: SignInForm): SignInView {
  const { error, provider, sendsMail, hasLeft = false, isAgain = false } = form
  const title = isAgain ? 'Sign in again' : 'Sign in'
  return {
    title: error === null ? title : 'Error: sign in',
    main: html`${hasLeft && leftNotice}<section class="card" aria-labelledby="title"><div class="card-body stack">
<div class="stack tight"><h1 id="title">${title}</h1><p class="muted">${purposeOf(form)}</p></div>
${provider !== null && providerLink(provider, form.next, isAgain)}
${provider !== null && sendsMail && html`<p class="or muted small">or by mail</p>`}
${sendsMail && mailForm(form)}
</div></section>
${!form.isConsole && !isAgain && html`<p class="muted small">No account yet? ${signUpAdvice(form)}</p>`}`,
  }
}

function purposeOf({ isAgain, isConsole, next }: SignInForm): string {
  if (isAgain)
    return 'You are about to do something that cannot be taken back. It needs a sign-in of the last 15 minutes.'
  return isConsole || isOfConsole(next)
    ? 'To the console of the operator.'
    : 'To the dashboard for developers: keys, usage, requests and webhooks.'
}

function providerLink(provider: string, next: string | null, isAgain = false): Html {
  const query = new URLSearchParams({
    ...(next !== null && { next }),
    ...(isAgain && { again: 'yes' }),
  }).toString()
  return html`<p><a class="button primary large" href="${`/sign-in/oidc${query && '?'}${query}`}">Sign in with ${provider}</a></p>`
}

function mailForm({ email, next, error, provider }: SignInForm): Html {
  const described = error === null ? 'email-help' : 'email-error email-help'
  const isFirst = provider === null
  return html`<form class="stack" method="post" action="/sign-in" novalidate>
${next !== null && hidden('next', next)}
<div class="field">
<label for="email">Email address</label>
<input class="input" id="email" name="email" type="email" inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false" maxlength="254" required${attributes({ autofocus: isFirst || error !== null })} value="${email}" aria-invalid="${error === null ? 'false' : 'true'}" aria-describedby="${described}">
${error !== null && html`<p class="error" id="email-error">${icon('alert')}<span>${error}</span></p>`}
<p class="help small muted" id="email-help">We send you a link. It works once, for 15 minutes.</p>
</div>
<button class="button ${isFirst && 'primary '}large" type="submit">Send sign-in link</button>
</form>`
}

function signUpAdvice({ isSignUpOpen, sendsMail, provider }: SignInMethods): string {
  if (!isSignUpOpen)
    return 'Ask the operator of this service, or an owner of your account, to invite you.'
  return sendsMail
    ? 'Enter your address: the link makes one for you.'
    : `Sign in with ${provider}: the first sign-in makes one for you.`
}

/** The view of a deployment without a mail server and without a provider. */
export function noMethodView({ hasLeft = false }: { hasLeft?: boolean } = {}): SignInView {
  const text = html`Ask its operator for a sign-in link: <code>assay users sign-in-link EMAIL</code> prints one.`
  const { title, main } = cardView(
    'Sign in',
    notice({ tone: 'info', title: 'This service sends no mail.', text }),
  )
  return { title, main: [hasLeft && leftNotice, main] }
}

/** Why a sign-in with the provider ended without a session. */
export type ProviderProblem = 'cancelled' | 'stale' | 'failed' | IdentityRefusal

const problems: Record<ProviderProblem, { title: string; text(provider: string): string }> = {
  cancelled: {
    title: 'You cancelled the sign-in',
    text: (provider) => `${provider} did not sign you in. Nothing has changed.`,
  },
  stale: {
    title: 'This sign-in cannot be completed',
    text: () =>
      'It took too long, was completed before, or began in another browser or tab. Begin again.',
  },
  failed: {
    title: 'The sign-in did not work',
    text: (provider) =>
      `${provider} does not answer as it should. Try again in a minute. If that does not help, tell the operator of this service.`,
  },
  unverified: {
    title: 'Your mail address is not verified',
    text: (provider) =>
      `${provider} does not confirm that you own a mail address. Verify your address there, then sign in again.`,
  },
  unknown: {
    title: 'You are not invited yet',
    text: () =>
      'No user of this service has your mail address. Ask the operator, or an owner of your account, to invite you.',
  },
  disabled: {
    title: 'Your user is disabled',
    text: () => 'Ask the operator of this service to enable you again.',
  },
  'other identity': {
    title: 'Your mail address belongs to another identity',
    text: (provider) =>
      `The user with your address has signed in with another identity of ${provider}. Ask the operator of this service.`,
  },
}

export function providerProblemView(
  { provider, sendsMail }: SignInMethods,
  problem: ProviderProblem,
): SignInView {
  const { title, text } = problems[problem]
  const name = provider ?? ''
  return cardView(
    title,
    html`<p>${text(name)}</p>
${providerLink(name, null)}
${sendsMail && html`<p><a href="/sign-in">Sign in by mail instead</a></p>`}`,
  )
}

/** Does not say whether a user has the address. */
export function linkSentView({ isSignUpOpen }: SignInMethods): SignInView {
  const sent = isSignUpOpen
    ? 'A sign-in link is on its way.'
    : 'If the address was invited, a sign-in link is on its way.'
  return cardView(
    'Check your mail',
    html`<span class="crest">${icon('mail')}</span>
<p>${sent} Open it within 15 minutes.</p>
<p class="muted small">Nothing after a few minutes? Look into the spam folder, and check the address.</p>
<p><a href="/sign-in">Use another address</a></p>`,
  )
}

export function confirmView({ email, token }: { email: string; token: string }): SignInView {
  return cardView(
    'Confirm sign-in',
    html`<p>You sign in as <strong class="break">${email}</strong> in this browser.</p>
<form method="post" action="/sign-in/confirm">${hidden('token', token)}<button class="button primary large" type="submit">Sign in</button></form>
<p class="muted small">Not your address, or not your request? Close this page. Nothing has happened yet.</p>`,
  )
}

/** Shown if the service could not end the session itself, because its database is away. */
export function signedOutHereView(isEverywhere: boolean, idleDays: number): SignInView {
  const title = isEverywhere ? 'Only this browser is signed out' : 'You are signed out here'
  const open = isEverywhere
    ? 'A part of this service is down, so your other sessions are still open.'
    : 'A part of this service is down, so it could not close the session on its side.'
  return cardView(
    title,
    html`<p>This browser has forgotten your session. ${open} A session ends by itself after ${counted(idleDays, 'day')} without use.</p>
<p>To end it at once, sign in again in some minutes and choose “Sign out everywhere” under Sessions.</p>
<p><a class="button" href="/sign-in">Go to sign-in</a></p>`,
  )
}

export function unusableLinkView(): SignInView {
  return cardView(
    'This link cannot be used',
    html`<p>A sign-in link works once, for 15 minutes. This one was used, has expired, or is not complete.</p>
<p><a class="button primary large" href="/sign-in">Send a new link</a></p>`,
  )
}

/** A page of one card. `title` is that of the tab. */
export function cardView(heading: string, content: Part, title = heading): SignInView {
  return {
    title,
    main: html`<section class="card" aria-labelledby="title"><div class="card-body stack">
<h1 id="title" class="break">${heading}</h1>
${content}
</div></section>`,
  }
}
