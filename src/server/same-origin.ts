/**
 * Pure: decides whether a request may change something for the user whose browser sent it (decision
 * D49).
 */

interface SentRequest {
  method?: string | undefined
  headers: { origin?: string | undefined; 'sec-fetch-site'?: string | string[] | undefined }
}

/**
 * Returns whether a page of our own origin sent the request.
 *
 * Browsers send `Sec-Fetch-Site` over https and to localhost. If it is absent, a browser still
 * sends `Origin` with a POST. A GET or HEAD changes nothing, so any page may link to it.
 */
export function isFromOwnOrigin({ method, headers }: SentRequest, origin: string): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin : site === 'same-origin'
}
