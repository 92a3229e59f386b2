/**
 * The pages of sign-in and sign-out (decisions D44, D45, D48). They work without scripts: the
 * browser posts each form or follows a link, and the server answers with a redirect.
 */
import { Type } from 'typebox'
import { deleteSessionByDigest, deleteSessionsBeside } from '../accounts/api.ts'
import { ownPath } from '../accounts/own-path.ts'
import { endedCookie, sessionDigest } from '../accounts/session-cookie.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import { type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { UnavailableError } from '../platform/errors.ts'
import { invitationEndpoints } from './invitations.ts'
import { redirect } from './layout.ts'
import {
  type Fields,
  type SignInOptions,
  type SignInPages,
  signInPages,
} from './sign-in-context.ts'
import { linkEndpoints } from './sign-in-link.ts'
import { providerEndpoints } from './sign-in-provider.ts'
import { noMethodView, signedOutHereView, signInView } from './sign-in-views.ts'

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
        const { idleDays } = rules
        const view = signedOutHereView({ isEverywhere, idleDays })
        return show(() => view, isEverywhere ? 503 : 200, ended)
      }
    },
  })
}
