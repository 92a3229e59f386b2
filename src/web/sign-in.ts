/**
 * The pages of sign-in and sign-out (decisions D44, D45, D48). They work without scripts: the
 * browser posts each form or follows a link, and the server answers with a redirect.
 */
import { Type } from 'typebox'
import { deleteSessionByDigest, deleteSessionsBeside } from '../accounts/api.ts'
import { endedCookie, ownPath, sessionDigest } from '../accounts/cookies.ts'
import { parseEmail } from '../accounts/email.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import { confirmLink, readLink, requestLink } from '../accounts/sign-in.ts'
import type { RateLimits } from '../edge/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import { invitationEndpoints } from './invitations.ts'
import { redirect } from './layout.ts'
import {
  type Fields,
  type SignInOptions,
  type SignInPages,
  signInPages,
  visitorOf,
} from './sign-in-context.ts'
import { providerEndpoints } from './sign-in-provider.ts'
import {
  confirmView,
  linkSentView,
  noMethodView,
  signedOutHereView,
  signInView,
  unusableLinkView,
} from './sign-in-views.ts'
import { waitingTime } from './text.ts'

export function signInEndpoints(options: SignInOptions): Endpoint[] {
  const pages = signInPages(options)
  return [
    signInPage(options, pages),
    ...linkEndpoints(options, pages),
    ...providerEndpoints(options, pages),
    ...(options.operatorSite === undefined ? invitationEndpoints(options, pages) : []),
    signOut(options, pages),
  ]
}

function signInPage(
  { sendsMail, provider }: SignInOptions,
  { view, show, destination }: SignInPages,
): Endpoint {
  return endpoint({
    ...view,
    operationId: 'signInPage',
    path: '/sign-in',
    summary: 'Sign in',
    queryParameters: Type.Object({
      next: Type.Optional(Type.String()),
      left: Type.Optional(Type.String()),
      again: Type.Optional(Type.String()),
    }),
    async answer({ query, caller }) {
      const next = ownPath(query.next)
      const isAgain = query.again === 'yes'
      if (caller.kind === 'session' && !isAgain) return redirect(destination(next))
      const hasLeft = query.left === 'yes'
      const form = { email: '', next, error: null, hasLeft, isAgain }
      return sendsMail || provider !== null
        ? show((methods) => signInView({ ...methods, ...form }))
        : show(() => noMethodView({ hasLeft }))
    },
  })
}

function signOut(
  { db, clock, rules, publicUrl }: SignInOptions,
  { form, viewPolicy, show, sessionValue }: SignInPages,
): Endpoint {
  const ended = { 'Set-Cookie': endedCookie(publicUrl) }
  return endpoint({
    ...form,
    operationId: 'signOut',
    path: '/sign-out',
    summary: 'Sign out here, or everywhere',
    policy: viewPolicy,
    async answer({ body, visitor }) {
      const isEverywhere = (body as Fields).everywhere === 'yes'
      const value = sessionValue(visitor)
      const digest = value === null ? null : sessionDigest(value)
      try {
        if (digest !== null && isEverywhere)
          await deleteSessionsBeside(db, digest, sessionTimes(rules, clock()))
        if (digest !== null) await deleteSessionByDigest(db, digest)
        return redirect('/sign-in', ended)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        // The browser forgets its session in any case.
        const view = signedOutHereView(isEverywhere, rules.idleDays)
        return show(() => view, isEverywhere ? 503 : 200, ended)
      }
    },
  })
}

/** Keeps a flood away from the database, which holds the exact limits of the hour. */
const requestLimits: RateLimits = { perMinute: 20, perDay: 480 }

function linkEndpoints(options: SignInOptions, pages: SignInPages): Endpoint[] {
  return [
    requestForm(options, pages),
    sentPage(pages),
    confirmPage(options, pages),
    confirmForm(options, pages),
  ]
}

function requestForm(
  { db, clock, sendsMail, operatorSite }: SignInOptions,
  { form, show, destination }: SignInPages,
) {
  return endpoint({
    ...form,
    operationId: 'requestSignInLink',
    path: '/sign-in',
    summary: 'Request a sign-in link',
    policy: { kind: 'page', limits: requestLimits },
    async answer({ body, visitor }) {
      if (!sendsMail) return show(() => noMethodView(), 503)
      const { email: typed = '', next: wanted } = body as Fields
      const own = ownPath(wanted)
      // The mail names the origin of this page.
      const next = operatorSite === undefined ? own : destination(own)
      const email = parseEmail(typed)
      if (email === null) {
        const error = 'This is not a mail address. Enter one such as ada@example.com.'
        const again = { email: typed.slice(0, 254), next, error }
        return show((methods) => signInView({ ...methods, ...again }), 400)
      }
      const requested = await requestLink(db, { email, next, visitor: visitorOf(visitor) }, clock())
      return requested.kind === 'limited'
        ? limited(requested.retryAfterSeconds)
        : redirect('/sign-in/sent')
    },
  })
}

function sentPage({ view, show }: SignInPages): Endpoint {
  return endpoint({
    ...view,
    operationId: 'signInSentPage',
    path: '/sign-in/sent',
    summary: 'A sign-in link was requested',
    answer: () => show(linkSentView),
  })
}

function confirmPage({ db, clock }: SignInOptions, { view, show }: SignInPages): Endpoint {
  return endpoint({
    ...view,
    operationId: 'confirmSignInPage',
    path: '/sign-in/confirm',
    summary: 'Confirm a sign-in link',
    queryParameters: Type.Object({ token: Type.Optional(Type.String()) }),
    async answer({ query: { token = '' } }) {
      const email = await readLink(db, token, clock())
      return email === null
        ? show(unusableLinkView, 410)
        : show(() => confirmView({ email, token }))
    },
  })
}

function confirmForm(
  { db, clock, rules }: SignInOptions,
  { form, viewPolicy, show, sessionValue, begun, destination }: SignInPages,
): Endpoint {
  return endpoint({
    ...form,
    operationId: 'confirmSignIn',
    path: '/sign-in/confirm',
    summary: 'Sign in by a link',
    policy: viewPolicy,
    async answer({ body, visitor }) {
      const { token } = body as Fields
      const previousValue = sessionValue(visitor)
      const confirming = { token, visitor: visitorOf(visitor), previousValue }
      const signedIn = await confirmLink(db, confirming, { rules, now: clock() })
      if (signedIn === null) return show(unusableLinkView, 410)
      const { session, next } = signedIn
      return redirect(destination(next), { 'Set-Cookie': begun(session) })
    },
  })
}

function limited(retryAfterSeconds: number): Answer {
  return refuse('rate_limited', {
    message: `Too many sign-in links were requested. Try again in ${waitingTime(retryAfterSeconds)}.`,
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
}
