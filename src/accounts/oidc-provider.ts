/**
 * The OpenID Connect provider of the operator (decision D44): authorization code flow with PKCE,
 * state and nonce. Every exchange goes through our egress client.
 *
 * The provider is discovered on first use, and again after it failed, so a provider that is down
 * does not stop the start.
 */
import type * as Oidc from 'openid-client'
import { deadlineMs, withDeadline } from '../platform/deadlines.ts'
import type { Egress } from '../platform/egress/client.ts'
import { EgressError, failureText } from '../platform/egress/failures.ts'
import type { AttemptSecrets } from './cookies.ts'

export interface OidcProviderOptions {
  egress: Egress
  /** The setting OIDC_ISSUER; `http:` is for a provider on this machine. */
  issuer: string
  clientId: string
  clientSecret: string
  /** The URL at which browsers come back. */
  callbackUrl: string
}

export interface ProvenIdentity {
  issuer: string
  subject: string
  /** Spelled as the provider does. Null: the provider did not tell it, or has not verified it. */
  verifiedEmail: string | null
  /** When the provider asked the user to sign in. Null: it does not tell. */
  authenticatedAt: Date | null
}

/** `why` is for the log: it holds no value of the attempt. */
export type ProviderFailure = { kind: 'failed'; why: string }

export type Begun = { kind: 'begun'; url: string; secrets: AttemptSecrets } | ProviderFailure

export type Completed =
  | { kind: 'proven'; identity: ProvenIdentity }
  /** The user declined at the provider. */
  | { kind: 'cancelled' }
  /** The code has expired or was used, or the provider wants the user to begin again. */
  | { kind: 'stale' }
  | ProviderFailure

/** The answer of the provider: parameters of the callback URL. */
export type CallbackParameters = Readonly<
  Partial<Record<'code' | 'state' | 'iss' | 'error', string>>
>

export interface OidcProvider {
  /**
   * Makes the secrets of an attempt, and the URL at the provider that begins it. With `isAgain` the
   * provider asks for the credentials although the user is signed in there.
   */
  begin(options?: { isAgain: boolean }): Promise<Begun>
  /** Redeems the code. `parameters.state` must equal `secrets.state`; the caller checks it. */
  complete(parameters: CallbackParameters, secrets: AttemptSecrets): Promise<Completed>
}

/** Key sets with certificates exceed the default of the egress client. */
const answerBytesMax = 262_144
/** The provider asks a user again whom it asked before. */
const authenticationDaysMax = 30
/** Attempts that may wait for the provider at once: a silent one must not hold all requests. */
const waitingMax = 16

export function openOidcProvider(options: OidcProviderOptions): OidcProvider {
  let known: Promise<Oidc.Configuration> | undefined
  let waiting = 0
  const configuration = (oidc: typeof Oidc) => (known ??= discover(oidc, options))

  async function attempt<Result>(
    work: (oidc: typeof Oidc) => Promise<Result>,
  ): Promise<Result | ProviderFailure> {
    if (waiting >= waitingMax) return { kind: 'failed', why: 'too many sign-ins wait for it' }
    waiting++
    try {
      // Only a service with a provider loads the library.
      const oidc = await import('openid-client')
      return await withDeadline(work(oidc), 'providerSignIn', () => Promise.reject(tooLate()))
    } catch (error) {
      // An answer of OAuth shows that the provider works as it was discovered.
      if (!isAnswer(error)) known = undefined
      return { kind: 'failed', why: failureOf(error) }
    } finally {
      waiting--
    }
  }

  return {
    begin: ({ isAgain } = { isAgain: false }) =>
      attempt(async (oidc) => {
        const config = await configuration(oidc)
        const secrets = {
          state: oidc.randomState(),
          nonce: oidc.randomNonce(),
          verifier: oidc.randomPKCECodeVerifier(),
        }
        const url = oidc.buildAuthorizationUrl(config, {
          redirect_uri: options.callbackUrl,
          scope: 'openid email',
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(secrets.verifier),
          code_challenge_method: 'S256',
          // Asked for it, a provider tells when it last asked the user.
          max_age: String(authenticationDaysMax * 86_400),
          ...(isAgain && { prompt: 'login' }),
        })
        return { kind: 'begun', url: url.href, secrets }
      }),

    complete: (parameters, secrets) =>
      attempt(async (oidc) => {
        const config = await configuration(oidc)
        if (isTampered(config.serverMetadata(), parameters)) return { kind: 'stale' }
        try {
          return await redeem(oidc, { config, options, parameters, secrets })
        } catch (error) {
          const ended = endOf(oidc, error)
          if (ended === null) throw error
          return ended
        }
      }),
  }
}

function discover(
  oidc: typeof Oidc,
  { egress, issuer, clientId, clientSecret }: OidcProviderOptions,
): Promise<Oidc.Configuration> {
  const isHttp = issuer.startsWith('http:')
  return oidc.discovery(
    new URL(issuer),
    clientId,
    undefined,
    oidc.ClientSecretBasic(clientSecret),
    {
      execute: [
        // Without it the library accepts an ID token whose signature is wrong.
        oidc.enableNonRepudiationChecks,
        ...(isHttp ? [oidc.allowInsecureRequests] : []),
      ],
      [oidc.customFetch]: fetchThrough(egress),
    },
  )
}

async function redeem(
  oidc: typeof Oidc,
  {
    config,
    options,
    parameters,
    secrets,
  }: {
    config: Oidc.Configuration
    options: OidcProviderOptions
    parameters: CallbackParameters
    secrets: AttemptSecrets
  },
): Promise<Completed> {
  // The library takes redirect_uri from this URL. It comes from PUBLIC_URL, never from Host.
  const url = new URL(options.callbackUrl)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const tokens = await oidc.authorizationCodeGrant(config, url, {
    pkceCodeVerifier: secrets.verifier,
    expectedState: secrets.state,
    expectedNonce: secrets.nonce,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the answer holds no ID token')
  // Many providers leave the address out of the ID token.
  const hasEmail = claims['email'] !== undefined
  const isAskable = config.serverMetadata().userinfo_endpoint !== undefined
  const told =
    hasEmail || !isAskable
      ? claims
      : await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)
  const { email, email_verified: isVerified } = told
  return {
    kind: 'proven',
    identity: {
      issuer: claims.iss,
      subject: claims.sub,
      // The library does not check it, and some providers send the string "true": only the boolean
      // counts.
      verifiedEmail: typeof email === 'string' && isVerified === true ? email : null,
      authenticatedAt:
        typeof claims.auth_time === 'number' ? new Date(claims.auth_time * 1000) : null,
    },
  }
}

/**
 * Returns whether the parameters cannot come from this provider: another issuer, neither a code nor
 * an error, or an error that OAuth and OpenID Connect do not have. Anyone can write such a URL, so
 * it says nothing about the provider.
 */
function isTampered(
  { issuer, authorization_response_iss_parameter_supported: namesIssuer }: Oidc.ServerMetadata,
  { code, iss, error }: CallbackParameters,
): boolean {
  if (iss === undefined ? namesIssuer === true : iss !== issuer) return true
  return error === undefined ? !code : !knownErrors.test(error)
}

/** RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6. */
const knownErrors =
  /^(access_denied|server_error|temporarily_unavailable|unauthorized_client|unsupported_response_type|invalid_(request|scope|request_uri|request_object)|(request|request_uri|registration)_not_supported|(interaction|login|account_selection|consent)_required)$/

/** Returns whether the provider answered in the form of OAuth, with an error. */
function isAnswer(error: unknown): boolean {
  const isNamed = error instanceof Error && 'error' in error
  return isNamed && typeof error.error === 'string'
}

/** Returns how the attempt ended for the user, or null if the provider failed. */
function endOf(oidc: typeof Oidc, error: unknown): Completed | null {
  if (error instanceof oidc.AuthorizationResponseError) {
    if (error.error === 'access_denied') return { kind: 'cancelled' }
    return error.error.endsWith('_required') ? { kind: 'stale' } : null
  }
  if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant')
    return { kind: 'stale' }
  return null
}

function fetchThrough(egress: Egress): Oidc.CustomFetch {
  return async (url, { method, headers, body }) => {
    if (method !== 'GET' && method !== 'POST')
      throw new TypeError(`not a method of ours: ${method}`)
    const answer = await egress.send({
      method,
      url,
      headers,
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
      answerBytesMax,
      totalMs: deadlineMs('providerExchange'),
    })
    if ('failure' in answer) throw answer.error
    if (answer.isCut) throw new EgressError('body_error', 'the answer is too long')
    const kept = new Headers()
    for (const [name, value] of Object.entries(answer.headers))
      for (const one of [value ?? []].flat()) kept.append(name, one)
    const { status } = answer
    const hasBody = status !== 204 && status !== 205 && status !== 304
    return new Response(hasBody ? new Uint8Array(answer.body) : null, { status, headers: kept })
  }
}

function tooLate(): EgressError {
  return new EgressError('timeout', 'no answer in time')
}

/**
 * Names a failure for the log by codes alone: the messages of the library may hold claims, and the
 * causes whole answers.
 */
function failureOf(error: unknown): string {
  const codes: string[] = []
  for (let one = error; one instanceof Error && codes.length < 4; one = one.cause) {
    if (one instanceof EgressError) codes.push(failureText(one.failure, one))
    else if ('error' in one && isCode(one.error)) codes.push(one.error)
    else if ('code' in one && isCode(one.code)) codes.push(one.code)
  }
  return codes.length === 0 ? 'unknown failure' : codes.join(': ')
}

function isCode(value: unknown): value is string {
  return typeof value === 'string' && /^\w{1,60}$/.test(value)
}
