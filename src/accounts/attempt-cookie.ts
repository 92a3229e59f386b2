/**
 * Pure: the cookie of a browser that signs in with the OpenID Connect provider (decision D44). It
 * holds the secrets of the attempt and the page to open afterwards. The cookie is lax: the browser
 * comes back from another site.
 */
import { cookieName, cookieValueOf, setCookie } from './cookies.ts'
import { ownPath } from './own-path.ts'

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
const name = 'sign-in'
/** Time for the sign-in at the provider, with a second factor or a forgotten password. */
const maxAgeSeconds = 1_800

export function attemptCookie(
  publicUrl: string,
  { state, nonce, verifier, next }: Attempt,
): string {
  const path = Buffer.from(next ?? '').toString('base64url')
  const value = [state, nonce, verifier, path].join('.')
  return setCookie(publicUrl, { name, value, maxAgeSeconds })
}

/** Returns the attempt in a Cookie header, or null. */
export function attemptOf(cookies: string | undefined, publicUrl: string): Attempt | null {
  const value = cookieValueOf(cookies, cookieName(publicUrl, name))
  const [, state, nonce, verifier, path] = form.exec(value ?? '') ?? []
  if (state === undefined || nonce === undefined || verifier === undefined) return null
  const next = ownPath(Buffer.from(path ?? '', 'base64url').toString())
  return { state, nonce, verifier, next }
}

/** Returns the Set-Cookie header that ends the attempt in the browser. */
export function endedAttemptCookie(publicUrl: string): string {
  return setCookie(publicUrl, { name, value: '', maxAgeSeconds: 0 })
}
