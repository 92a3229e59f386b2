/**
 * Pure: reads and writes the cookies of this service: that of a session (decision D48), and that of
 * an attempt to sign in with the OpenID Connect provider (decision D44). The latter holds the
 * secrets of the attempt and the page to open afterwards. The cookies are lax: a browser comes back
 * from another site.
 */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../platform/crypto/bytes.ts'

/**
 * Browsers accept the prefix `__Host-` over https alone. No other host, not even a subdomain, can
 * then set the cookie. Over plain http the cookie has neither the prefix nor `Secure`.
 */
function cookieName(publicUrl: string, name: string): string {
  return isHttps(publicUrl) ? `__Host-${name}` : name
}

/**
 * Returns the value of a cookie in a Cookie header, or null. Two cookies with the name count as
 * none, because another site under the same domain may have set one of them.
 */
function cookieValueOf(cookies: string | undefined, name: string): string | null {
  if (cookies === undefined) return null
  const values = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? (values[0]?.slice(name.length + 1) ?? null) : null
}

/**
 * Returns a Set-Cookie header. With `Lax` the browser sends the cookie if the user comes from
 * another site by a link, and never with a form of another site.
 */
function setCookie(
  publicUrl: string,
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds: number },
): string {
  const secure = isHttps(publicUrl) ? '; Secure' : ''
  const pair = `${cookieName(publicUrl, name)}=${value}`
  return `${pair}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}

function isHttps(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/** The values that tie the answer of the provider to this browser. 32 random bytes each. */
export interface AttemptSecrets {
  /** Comes back in the callback URL. */
  state: string
  /** Comes back in the ID token. */
  nonce: string
  /** Proves to the provider that the same browser began the sign-in (PKCE). */
  verifier: string
}

export interface Attempt extends AttemptSecrets {
  /** A path of this service, or null. */
  next: string | null
}

const form = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})\.([\w-]{0,700})$/
const attemptName = 'sign-in'
/** Time for the sign-in at the provider, with a second factor or a forgotten password. */
const maxAgeSeconds = 1_800

export function attemptCookie(
  publicUrl: string,
  { state, nonce, verifier, next }: Attempt,
): string {
  const path = Buffer.from(next ?? '').toString('base64url')
  const value = [state, nonce, verifier, path].join('.')
  return setCookie(publicUrl, { name: attemptName, value, maxAgeSeconds })
}

/** Returns the attempt in a Cookie header, or null. */
export function attemptOf(cookies: string | undefined, publicUrl: string): Attempt | null {
  const value = cookieValueOf(cookies, cookieName(publicUrl, attemptName))
  const [, state, nonce, verifier, path] = form.exec(value ?? '') ?? []
  if (state === undefined || nonce === undefined || verifier === undefined) return null
  const next = ownPath(Buffer.from(path ?? '', 'base64url').toString())
  return { state, nonce, verifier, next }
}

/** Returns the Set-Cookie header that ends the attempt in the browser. */
export function endedAttemptCookie(publicUrl: string): string {
  return setCookie(publicUrl, { name: attemptName, value: '', maxAgeSeconds: 0 })
}

/** 32 random bytes in base64url. */
const valueForm = /^[\w-]{43}$/
const sessionName = 'session'

export function newSessionValue(): string {
  return randomBytes(32).toString('base64url')
}

export function sessionDigest(value: string): Buffer {
  return sha256(value)
}

export function sessionCookieName(publicUrl: string): string {
  return cookieName(publicUrl, sessionName)
}

/** Returns the session value of a Cookie header, or null. */
export function sessionValueOf(cookies: string | undefined, name: string): string | null {
  const value = cookieValueOf(cookies, name)
  return value !== null && valueForm.test(value) ? value : null
}

/**
 * Returns the Set-Cookie header that begins a session in the browser, for at most `maxAgeSeconds`.
 */
export function sessionCookie(publicUrl: string, value: string, maxAgeSeconds: number): string {
  return setCookie(publicUrl, { name: sessionName, value, maxAgeSeconds })
}

/** Returns the Set-Cookie header that removes the session from the browser. */
export function endedCookie(publicUrl: string): string {
  return sessionCookie(publicUrl, '', 0)
}

const charactersMax = 512

/**
 * Returns the text if it is a path of this service, and null otherwise. Browsers read `//host`,
 * `/\host` and `/<tab>/host` as another site. So the text must also come out of the URL parser
 * unchanged.
 */
export function ownPath(text: string | undefined): string | null {
  if (text === undefined || text.length > charactersMax) return null
  if (!/^\/(?![/\\])[!-~]*$/.test(text) || text.includes('\\')) return null
  const url = URL.parse(text, 'https://own.invalid')
  if (url === null || url.origin !== 'https://own.invalid') return null
  return url.pathname + url.search + url.hash === text && !url.pathname.startsWith('//')
    ? text
    : null
}
