/**
 * Sign-in with the OpenID Connect provider (decision D44): the way to the provider, and the page to
 * which the browser comes back.
 *
 * The way there is a link. `form-action 'self'` of the content security policy would block a form
 * whose answer leads to another site.
 */
import { timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import {
  type Attempt,
  attemptCookie,
  attemptOf,
  endedAttemptCookie,
  ownPath,
} from '../accounts/cookies.ts'
import { signInByIdentity } from '../accounts/identity-sign-in.ts'
import type { CallbackParameters, ProvenIdentity } from '../accounts/oidc-provider.ts'
import type { RateLimits } from '../edge/http/contract.ts'
import { type Answer, type Endpoint, endpoint, type Visitor } from '../edge/http/endpoint.ts'
import { redirect } from './layout.ts'
import {
  type SignInOptions,
  type SignInPages,
  type SignInProvider,
  visitorOf,
} from './sign-in-context.ts'
import { type ProviderProblem, providerProblemView } from './sign-in-views.ts'

const optional = Type.Optional(Type.String())

/** Each request may cause requests to the provider. One office signs in from one address. */
const providerLimits: RateLimits = { perMinute: 60, perDay: 5_000 }

const problemStatus: Record<ProviderProblem, number> = {
  cancelled: 403,
  stale: 400,
  failed: 503,
  unverified: 403,
  unknown: 403,
  disabled: 403,
  'other identity': 403,
}

/** The provider sends browsers back to this path. */
export const callbackPath = '/sign-in/oidc/callback'

export function providerEndpoints(options: SignInOptions, pages: SignInPages): Endpoint[] {
  const { provider } = options
  if (provider === null) return []
  const shared = { ...options, provider }
  return [wayToProvider(shared, pages), wayBack(shared, pages)]
}

type ProviderOptions = SignInOptions & { provider: SignInProvider }

function wayToProvider({ provider, publicUrl }: ProviderOptions, pages: SignInPages): Endpoint {
  return endpoint({
    ...pages.view,
    operationId: 'beginProviderSignIn',
    path: '/sign-in/oidc',
    summary: 'Go to the OpenID Connect provider',
    policy: { kind: 'page', limits: providerLimits },
    queryParameters: Type.Object({ next: optional, again: optional }),
    async answer({ query, caller }) {
      const next = ownPath(query.next)
      const isAgain = query.again === 'yes'
      if (caller.kind === 'session' && !isAgain) return redirect(pages.destination(next))
      const begun = await provider.begin({ isAgain })
      if (begun.kind === 'failed') return problem(pages, provider, begun)
      const cookie = attemptCookie(publicUrl, { ...begun.secrets, next })
      return redirect(begun.url, { 'Set-Cookie': cookie })
    },
  })
}

function wayBack(options: ProviderOptions, pages: SignInPages): Endpoint {
  const { provider, publicUrl } = options
  return endpoint({
    ...pages.view,
    operationId: 'completeProviderSignIn',
    path: callbackPath,
    summary: 'Come back from the OpenID Connect provider',
    policy: { kind: 'page', limits: providerLimits },
    queryParameters: Type.Object({
      code: optional,
      state: optional,
      iss: optional,
      error: optional,
    }),
    async answer({ query, caller, visitor: nullable }) {
      const visitor = visitorOf(nullable)
      const attempt = attemptOf(visitor.cookies, publicUrl)
      if (attempt === null || !isOwnState(query.state, attempt))
        // A browser that is signed in has opened the page a second time.
        return caller.kind === 'session'
          ? redirect(pages.destination(null))
          : problem(pages, provider, { kind: 'stale' })
      const parameters: CallbackParameters = query
      const completed = await provider.complete(parameters, attempt)
      if (completed.kind !== 'proven')
        return withoutAttempt(problem(pages, provider, completed), publicUrl)
      const { identity } = completed
      return withoutAttempt(await signIn(options, pages, { identity, visitor, attempt }), publicUrl)
    },
  })
}

async function signIn(
  { db, clock, rules, provider, operatorSite }: ProviderOptions,
  pages: SignInPages,
  { identity, visitor, attempt }: { identity: ProvenIdentity; visitor: Visitor; attempt: Attempt },
): Promise<Answer> {
  const previousValue = pages.sessionValue(visitor)
  const signedIn = await signInByIdentity(
    db,
    { identity, visitor, previousValue },
    { signUp: provider.signUp, rules, now: clock() },
  )
  if (signedIn.kind === 'invited')
    return redirect(`${operatorSite?.siteUrl ?? ''}/invitations/${signedIn.token}`)
  return signedIn.kind === 'signed in'
    ? redirect(pages.destination(signedIn.next ?? attempt.next), {
        'Set-Cookie': pages.begun(signedIn.session),
      })
    : problem(pages, provider, signedIn)
}

/** A callback with the state of another browser would sign this one in as another user. */
function isOwnState(state: string | undefined, attempt: Attempt): boolean {
  const [sent, own] = [Buffer.from(state ?? ''), Buffer.from(attempt.state)]
  return sent.length === own.length && timingSafeEqual(sent, own)
}

function problem(
  { show }: SignInPages,
  provider: SignInProvider,
  { kind, why }: { kind: ProviderProblem; why?: string },
): Answer {
  if (why !== undefined) provider.onFailure(why)
  return show((methods) => providerProblemView(methods, kind), problemStatus[kind])
}

/** Adds the header that removes the used attempt from the browser. */
function withoutAttempt(answer: Answer, publicUrl: string): Answer {
  if (!('status' in answer)) return answer
  const { headers = {} } = answer
  const cookies = [headers['Set-Cookie'] ?? [], endedAttemptCookie(publicUrl)].flat()
  return { ...answer, headers: { ...headers, 'Set-Cookie': cookies } }
}
