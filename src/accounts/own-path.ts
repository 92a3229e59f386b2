/** Pure: where a user goes after signing in. */

const charactersMax = 512

/**
 * Returns the text if it is a path of our own, and null otherwise. A browser reads `//host`, `/\host` and `/<tab>/host` as another site,
 * so only a text that the URL parser leaves exactly as it is counts as a path.
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
