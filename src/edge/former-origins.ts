/** Pure: finds the former origin that a request addresses (decision D55). */

/** Former values of PUBLIC_URL, by each Host header that names them. */
export type FormerOrigins = ReadonlyMap<string, string>

/** Includes the form with the default port, because a client may write it out. */
export function formerOriginsOf(publicUrls: readonly string[]): FormerOrigins {
  return new Map(
    publicUrls.flatMap((url): [string, string][] => {
      const { host, port, protocol } = new URL(url)
      const defaultPort = protocol === 'https:' ? 443 : 80
      const spelledOut: [string, string][] = port === '' ? [[`${host}:${defaultPort}`, url]] : []
      return [[host, url], ...spelledOut]
    }),
  )
}

/**
 * Returns the former origin that the Host header names, or null. A host that is not configured
 * never becomes part of an answer.
 */
export function formerOriginOf(
  formerOrigins: FormerOrigins,
  host: string | undefined,
): string | null {
  if (formerOrigins.size === 0 || host === undefined) return null
  return formerOrigins.get(host.toLowerCase()) ?? null
}
