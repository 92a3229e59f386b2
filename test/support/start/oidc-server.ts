/** A real OpenID Connect provider on another site than the service. Tests control its answers. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export interface TokenParts {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

export interface OidcServer {
  issuer: string
  /** The settings of a service that uses this provider. */
  env: { OIDC_ISSUER: string; OIDC_CLIENT_ID: string; OIDC_CLIENT_SECRET: string }
  /** The claims of the user who signs in next. `sub` is the subject. */
  user: { sub: string; email?: unknown; email_verified?: unknown }
  /** Changes the claims of every ID token before it is signed. */
  changeToken: ((claims: Record<string, unknown>) => void) | null
  /** Signs every ID token with a key that the provider does not publish. */
  hasForeignSignature: boolean
  /** Takes every request and answers none. */
  isSilent: boolean
  codeSeconds: number
  /** Requests that arrived, as `METHOD /path`. */
  requests: string[]
  /** Values that no log may hold: codes, and tokens. */
  secrets: string[]
  /** Tells whether a code can still be redeemed. */
  isCodeValid(code: string): Promise<boolean>
  /** Goes the way of a browser at the provider. Returns the callback URL. */
  signIn(url: string, options?: { declines?: boolean }): Promise<string>
  stop(): Promise<void>
}

const clientId = 'assay'
const clientSecret = 'oidc-CANARY-client-secret-of-32-bytes'

/** The caller's: `after(() => server.stop())`. The host is another site than localhost. */
export async function startOidcServer(
  callbackUrl: string,
  { port = 0 }: { port?: number } = {},
): Promise<OidcServer> {
  const http = createServer()
  http.listen(port, '127.0.0.2')
  await once(http, 'listening')
  const issuer = `http://127.0.0.2:${(http.address() as AddressInfo).port}`
  const own = signingKey('own')
  const foreign = signingKey('own')
  const server: OidcServer = {
    issuer,
    env: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret },
    user: { sub: 'subject-of-ada', email: 'Ada@Example.com', email_verified: true },
    changeToken: null,
    hasForeignSignature: false,
    isSilent: false,
    codeSeconds: 60,
    requests: [],
    secrets: [clientSecret],
    isCodeValid: async (code) => (await provider.AuthorizationCode.find(code))?.isExpired === false,
    signIn: (url, options) => walk(url, { callbackUrl, ...options }),
    async stop() {
      http.closeAllConnections()
      http.close()
    },
  }
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [callbackUrl] }],
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...server.user, sub }) }),
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    jwks: { keys: [own.jwk] },
    cookies: { keys: ['a key for the cookies of the provider'] },
    ttl: {
      AuthorizationCode: () => server.codeSeconds,
      AccessToken: 60,
      IdToken: 60,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    loadExistingGrant: async ({ oidc }) => {
      const { accountId } = oidc.session ?? {}
      if (accountId === undefined || oidc.client === undefined) return undefined
      const grant = new oidc.provider.Grant({ accountId, clientId: oidc.client.clientId })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  })
  provider.use(async (ctx, next) => {
    await next()
    const body = ctx.body as { id_token?: string; access_token?: string } | undefined
    if (ctx.path !== '/token' || body?.id_token === undefined) return
    const parts = partsOf(body.id_token)
    server.changeToken?.(parts.claims)
    const key = server.hasForeignSignature ? foreign : own
    body.id_token = key.signed(parts)
    server.secrets.push(body.id_token, body.access_token ?? '')
    ctx.body = { ...body }
  })
  const answer = provider.callback()
  http.on('request', (request, response) => {
    server.requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    if (server.isSilent) return
    const work = request.url?.startsWith('/interaction/')
      ? interact(provider, server, { request, response })
      : answer(request, response)
    work.catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  return server
}

/** Shows the page of the provider, or finishes it: `?answer=yes` signs the user in. */
async function interact(
  provider: Provider,
  { user }: OidcServer,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://provider.invalid')
  const given = url.searchParams.get('answer')
  if (given === null) {
    response.writeHead(200, { 'Content-Type': 'text/html' })
    response.end(
      `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Provider</title><main><h1>Provider</h1>
<a href="${url.pathname}?answer=yes">Continue</a> <a href="${url.pathname}?answer=no">Cancel</a></main>`,
    )
    return
  }
  const result =
    given === 'yes'
      ? { login: { accountId: user.sub, remember: false } }
      : { error: 'access_denied', error_description: 'The user declined.' }
  await provider.interactionFinished(request, response, result)
}

/** Follows redirects with the cookies of the provider until they lead to the callback. */
async function walk(
  url: string,
  { callbackUrl, declines = false }: { callbackUrl: string; declines?: boolean },
): Promise<string> {
  const cookies = new Map<string, string>()
  let next = url
  for (let step = 0; step < 10; step++) {
    if (next.startsWith(callbackUrl)) return next
    const isQuestion = new URL(next).pathname.startsWith('/interaction/')
    const target = isQuestion ? `${next}?answer=${declines ? 'no' : 'yes'}` : next
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(target, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${response.status} ${await response.text()}`)
    next = new URL(location, target).href
  }
  throw new Error('the provider redirects for ever')
}

function signingKey(kid: string) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
  const key = createPrivateKey({ key: privateKey.export({ format: 'jwk' }), format: 'jwk' })
  return {
    jwk,
    signed({ header, claims }: TokenParts): string {
      const head = [header, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
      return `${head}.${sign('sha256', Buffer.from(head), key).toString('base64url')}`
    },
  }
}

function partsOf(token: string): TokenParts {
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  return { header, claims }
}
