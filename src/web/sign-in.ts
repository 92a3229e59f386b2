/**
 * The pages of sign-in and sign-out (decisions D45, D48). They work without scripts: the browser
 * posts each form, and the server answers with a redirect.
 */
import { Type } from 'typebox'
import { parseEmail } from '../accounts/email.ts'
import { ownPath } from '../accounts/own-path.ts'
import {
  endedCookie,
  sessionCookie,
  sessionCookieName,
  sessionDigest,
  sessionValueOf,
} from '../accounts/session-cookie.ts'
import { deleteSessionByDigest, deleteSessionsOf } from '../accounts/session-store.ts'
import type { SessionRules } from '../accounts/sessions.ts'
import { confirmLink, readLink, requestLink } from '../accounts/sign-in.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { formType, type RateLimits } from '../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint, type Visitor } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { type Page, pageAnswer, redirect } from './layout.ts'
import { startRefusalPage } from './refusal-page.ts'
import {
  confirmView,
  linkSentView,
  mailOffView,
  type SignInForm,
  signInView,
  unusableLinkView,
} from './sign-in-views.ts'

export interface SignInOptions {
  db: Db
  clock: Clock
  publicUrl: string
  rules: SessionRules
  /** False: operators print links instead. */
  sendsMail: boolean
  /** Whether an unknown address gets an account of its own. */
  isSignUpOpen: boolean
}

/** Requests of one network address to one page. */
const viewLimits: RateLimits = { perMinute: 120, perDay: 20_000 }
/** Keeps a flood away from the database, which holds the exact limits of the hour. */
const requestLimits: RateLimits = { perMinute: 20, perDay: 480 }

const secondsPerDay = 86_400
/** The page after sign-in, if the user requested no other. */
const startPath = '/dashboard'

type Fields = Readonly<Record<string, string>>

export function signInEndpoints(options: SignInOptions): Endpoint[] {
  const { db, clock, publicUrl, rules, sendsMail, isSignUpOpen } = options
  const host = new URL(publicUrl).host
  const cookieName = sessionCookieName(publicUrl)
  const show = (view: Omit<Page, 'host'>, status = 200) => pageAnswer({ ...view, host }, { status })
  const showForm = (form: Omit<SignInForm, 'isSignUpOpen'>, status?: number) =>
    show(signInView({ ...form, isSignUpOpen }), status)
  const valueOf = ({ cookies }: Visitor) => sessionValueOf(cookies, cookieName)
  const refusalPage = startRefusalPage(host)
  const common = { area: 'pages', priority: 'search', responses: {}, refusalPage } as const
  const view = { ...common, method: 'GET', policy: { kind: 'page', limits: viewLimits } } as const
  const form = {
    ...common,
    method: 'POST',
    body: {
      mediaTypes: [formType],
      schema: Type.Object({}),
      bytesMax: 8_192,
      ambiguousReachesHandler: false,
      examples: {},
    },
  } as const

  return [
    endpoint({
      ...view,
      operationId: 'signInPage',
      path: '/sign-in',
      summary: 'Sign in',
      queryParameters: Type.Object({ next: Type.Optional(Type.String()) }),
      async answer({ query, caller }) {
        const next = ownPath(query.next)
        if (caller.kind === 'session') return redirect(next ?? startPath)
        return sendsMail ? showForm({ email: '', next, error: null }) : show(mailOffView())
      },
    }),
    endpoint({
      ...form,
      operationId: 'requestSignInLink',
      path: '/sign-in',
      summary: 'Request a sign-in link',
      policy: { kind: 'page', limits: requestLimits },
      async answer({ body, visitor }) {
        if (!sendsMail) return show(mailOffView(), 503)
        const { email: typed = '', next: wanted } = body as Fields
        const next = ownPath(wanted)
        const email = parseEmail(typed)
        if (email === null) {
          const error = 'This is not a mail address. Enter one such as ada@example.com.'
          return showForm({ email: typed.slice(0, 254), next, error }, 400)
        }
        const request = { email, next, visitor: visitorOf(visitor) }
        const requested = await requestLink(db, request, clock())
        return requested.outcome === 'limited'
          ? limited(requested.retryAfterSeconds)
          : redirect('/sign-in/sent')
      },
    }),
    endpoint({
      ...view,
      operationId: 'signInSentPage',
      path: '/sign-in/sent',
      summary: 'A sign-in link was requested',
      answer: () => show(linkSentView(isSignUpOpen)),
    }),
    endpoint({
      ...view,
      operationId: 'confirmSignInPage',
      path: '/sign-in/confirm',
      summary: 'Confirm a sign-in link',
      queryParameters: Type.Object({ token: Type.Optional(Type.String()) }),
      async answer({ query: { token = '' } }) {
        const email = await readLink(db, token, clock())
        return email === null ? show(unusableLinkView(), 410) : show(confirmView({ email, token }))
      },
    }),
    endpoint({
      ...form,
      operationId: 'confirmSignIn',
      path: '/sign-in/confirm',
      summary: 'Sign in by a link',
      policy: { kind: 'page', limits: viewLimits },
      async answer({ body, visitor: nullable }) {
        const { token } = body as Fields
        const visitor = visitorOf(nullable)
        const confirming = { token, visitor, previousValue: valueOf(visitor) }
        const signedIn = await confirmLink(db, confirming, { rules, now: clock() })
        if (signedIn === null) return show(unusableLinkView(), 410)
        const { session, next } = signedIn
        const cookie = sessionCookie(publicUrl, session.value, rules.days * secondsPerDay)
        return redirect(next ?? startPath, { 'Set-Cookie': cookie })
      },
    }),
    endpoint({
      ...form,
      operationId: 'signOut',
      path: '/sign-out',
      summary: 'Sign out here, or everywhere',
      policy: { kind: 'page', limits: viewLimits },
      async answer({ body, caller, visitor }) {
        const { everywhere } = body as Fields
        if (caller.kind === 'session' && everywhere === 'yes')
          await deleteSessionsOf(db, caller.userId)
        const value = valueOf(visitorOf(visitor))
        if (value !== null) await deleteSessionByDigest(db, sessionDigest(value))
        return redirect('/sign-in', { 'Set-Cookie': endedCookie(publicUrl) })
      },
    }),
  ]
}

function limited(retryAfterSeconds: number): Answer {
  return refuse('rate_limited', {
    message: `Too many sign-in links were requested. Try again in ${minutes(retryAfterSeconds)}.`,
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
}

function minutes(seconds: number): string {
  const count = Math.ceil(seconds / 60)
  return count === 1 ? '1 minute' : `${count} minutes`
}

/** Endpoints with the policy `page` always get a visitor. */
function visitorOf(visitor: Visitor | null): Visitor {
  if (visitor === null) throw new Error('the request for a page has no visitor')
  return visitor
}
