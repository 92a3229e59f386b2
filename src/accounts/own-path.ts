/** Pure: the page that a browser opens after sign-in. */

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
