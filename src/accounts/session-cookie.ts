/** Pure: the cookie that holds a session's value (decision D48), and the form of that value. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../platform/crypto/bytes.ts'

/** 32 random bytes in base64url. */
const valueForm = /^[\w-]{43}$/

export function newSessionValue(): string {
  return randomBytes(32).toString('base64url')
}

export function sessionDigest(value: string): Buffer {
  return sha256(value)
}

/**
 * Browsers accept the prefix `__Host-` over https alone. No other host, not even a subdomain, can
 * then set the cookie. Over plain http the cookie has neither the prefix nor `Secure`.
 */
export function sessionCookieName(publicUrl: string): string {
  return isHttps(publicUrl) ? '__Host-session' : 'session'
}

/**
 * Returns the session value of a Cookie header, or null. Two cookies with the name count as no
 * session, because another site under the same domain may have set one of them.
 */
export function sessionValueOf(cookies: string | undefined, name: string): string | null {
  if (cookies === undefined) return null
  const values = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  const value = values[0]?.slice(name.length + 1)
  return values.length === 1 && value !== undefined && valueForm.test(value) ? value : null
}

/**
 * Returns the Set-Cookie header that begins a session in the browser, for at most `maxAgeSeconds`.
 */
export function sessionCookie(publicUrl: string, value: string, maxAgeSeconds: number): string {
  const secure = isHttps(publicUrl) ? '; Secure' : ''
  const name = sessionCookieName(publicUrl)
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}

/** Returns the Set-Cookie header that removes the session from the browser. */
export function endedCookie(publicUrl: string): string {
  return sessionCookie(publicUrl, '', 0)
}

function isHttps(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}
