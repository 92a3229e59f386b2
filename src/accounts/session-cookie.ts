/** Pure: the cookie that holds a session's value (decision D48), and the form of that value. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../platform/crypto/bytes.ts'
import { cookieName, cookieValueOf, setCookie } from './cookies.ts'

/** 32 random bytes in base64url. */
const valueForm = /^[\w-]{43}$/
const name = 'session'

export function newSessionValue(): string {
  return randomBytes(32).toString('base64url')
}

export function sessionDigest(value: string): Buffer {
  return sha256(value)
}

export function sessionCookieName(publicUrl: string): string {
  return cookieName(publicUrl, name)
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
  return setCookie(publicUrl, { name, value, maxAgeSeconds })
}

/** Returns the Set-Cookie header that removes the session from the browser. */
export function endedCookie(publicUrl: string): string {
  return sessionCookie(publicUrl, '', 0)
}
