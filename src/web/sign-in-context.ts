/** Shared by all pages of sign-in: options, declarations and answers. */
import { sessionCookie, sessionCookieName, sessionValueOf } from '../accounts/cookies.ts'
import type { SignUp } from '../accounts/identity-sign-in.ts'
import type { OidcProvider } from '../accounts/oidc-provider.ts'
import type { BegunSession, SessionsOptions } from '../accounts/sessions.ts'
import { consolePath, isOfConsole } from '../accounts/sign-in.ts'
import type { RateLimits } from '../edge/http/contract.ts'
import type { Visitor } from '../edge/http/endpoint.ts'
import { formBody, pageAnswer } from './layout.ts'
import { startRefusalPage } from './refusal-page.ts'
import type { SignInMethods, SignInView } from './sign-in-views.ts'

export interface SignInOptions extends SessionsOptions {
  /** False: operators print links instead. */
  sendsMail: boolean
  /** Whether an unknown address gets an account of its own. */
  isSignUpOpen: boolean
  /** The OpenID Connect provider, or null. */
  provider: SignInProvider | null
  /** The listener of the operator serves the console, and not the pages of `siteUrl`. */
  operatorSite?: { siteUrl: string }
}

export interface SignInProvider extends OidcProvider {
  /** The name under which users know it. */
  name: string
  signUp: SignUp
  /** Logs a failure of the provider. */
  onFailure(why: string): void
}

export type Fields = Readonly<Record<string, string>>

/** Requests of one network address to one page. */
const viewLimits: RateLimits = { perMinute: 120, perDay: 20_000 }
const secondsPerDay = 86_400

export type SignInPages = ReturnType<typeof signInPages>

/** What the pages of sign-in have in common. */
export function signInPages(options: SignInOptions) {
  const { publicUrl, rules, sendsMail, isSignUpOpen, provider, operatorSite } = options
  const host = new URL(publicUrl).host
  const isConsole = operatorSite !== undefined
  const methods = { sendsMail, isSignUpOpen, isConsole, provider: provider?.name ?? null }
  const name = sessionCookieName(publicUrl)
  const common = {
    area: 'pages',
    priority: 'search',
    responses: {},
    refusalPage: startRefusalPage(host),
  } as const
  const viewPolicy = { kind: 'page', limits: viewLimits } as const
  return {
    /** Common to the declarations of pages. */
    view: { ...common, method: 'GET', policy: viewPolicy },
    /** Common to the declarations of forms. */
    form: { ...common, method: 'POST', body: formBody(8_192) },
    viewPolicy,
    /** Returns the page after sign-in: the requested one, or the first one of this listener. */
    destination(next: string | null): string {
      if (isConsole) return next !== null && isOfConsole(next) ? next : consolePath
      return next ?? '/dashboard'
    },
    show: (
      view: (methods: SignInMethods) => SignInView,
      status = 200,
      headers: Record<string, string> = {},
    ) => pageAnswer({ ...view(methods), ...operatorSite, host }, { status, headers }),
    sessionValue: (visitor: Visitor | null) => sessionValueOf(visitorOf(visitor).cookies, name),
    /** Returns the Set-Cookie header that begins a session. */
    begun: ({ value }: BegunSession) => sessionCookie(publicUrl, value, rules.days * secondsPerDay),
  } as const
}

/** Endpoints with the policy `page` always get a visitor. */
export function visitorOf(visitor: Visitor | null): Visitor {
  if (visitor === null) throw new Error('the request for a page has no visitor')
  return visitor
}
