/** Pure: reads and writes the cookies of this service. */

/**
 * Browsers accept the prefix `__Host-` over https alone. No other host, not even a subdomain, can
 * then set the cookie. Over plain http the cookie has neither the prefix nor `Secure`.
 */
export function cookieName(publicUrl: string, name: string): string {
  return isHttps(publicUrl) ? `__Host-${name}` : name
}

/**
 * Returns the value of a cookie in a Cookie header, or null. Two cookies with the name count as
 * none, because another site under the same domain may have set one of them.
 */
export function cookieValueOf(cookies: string | undefined, name: string): string | null {
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
export function setCookie(
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
