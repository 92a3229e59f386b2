/** Pure: whether a request may change something on behalf of the user whose browser sent it (decision D49). */

interface SentRequest {
  method?: string | undefined
  headers: { origin?: string | undefined; 'sec-fetch-site'?: string | string[] | undefined }
}

/**
 * Browsers send `Sec-Fetch-Site` over https and to localhost. Where a browser leaves it out, it still sends `Origin` with a POST.
 * A GET changes nothing, so any page may link to it.
 */
export function isFromOwnOrigin({ method, headers }: SentRequest, origin: string): boolean {
  if (method === 'GET') return true
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin : site === 'same-origin'
}
