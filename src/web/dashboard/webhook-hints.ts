/**
 * Pure: what a developer does about a failed delivery, one row for each cause. HOST stands for the
 * host of the endpoint.
 */

interface FailureOf {
  responseStatus: number | null
  errorCode: string | null
  errorCause: string | null
}

type Hints = Readonly<Record<string, string>>

/** By the words that the deliverer keeps, see `failureCause`. The first that fits counts. */
const causeHints: Readonly<Record<string, Hints>> = {
  tls_error: {
    'has expired': 'The certificate of HOST has expired. Renew it.',
    'not valid yet': 'The certificate of HOST is not valid yet. Check its dates.',
    revoked: 'The certificate of HOST was revoked. Ask for a new one.',
    'another name': 'The certificate is for another name. Ask for one for HOST.',
    incomplete: 'The chain is incomplete. Send the intermediate certificate too.',
    'self-signed': 'No public authority issued the certificate. Use one that browsers accept.',
    'unknown issuer': 'No public authority issued the certificate. Use one that browsers accept.',
    '': 'No TLS connection to HOST came about. Offer TLS 1.2 or 1.3 with a certificate that browsers accept.',
  },
  dns_error: {
    'does not exist':
      'DNS does not know HOST. Correct the host, or add the name. A private zone is not visible here.',
    'has no address': 'DNS has no address for HOST. Add an A or AAAA record.',
    'name server':
      'The name server of HOST gave no answer. Ask its operator; the next attempt asks it again.',
    '': 'DNS has no address for HOST. Add an A or AAAA record, or correct the host. A private zone is not visible here.',
  },
  connect_refused: { '': 'Nothing listens on the port of HOST. Start your server there.' },
  connect_timeout: { '': 'HOST takes no connection. A firewall drops it: allow this service.' },
  timeout: {
    '': 'Your server took the request and did not answer in 15 s. Answer first, then do the work.',
  },
  blocked_address: { '': 'HOST leads to a private address. Use a public one.' },
  reset: {
    '': 'Your server or a proxy closed the connection before it answered. Read its log.',
  },
  body_error: { '': 'The answer is not valid HTTP. Read the log of your server.' },
}

const login =
  'A firewall or login stands before your handler. Allow this path; the signature is the login.'

/** By the status, or by its first digit. */
const statusHints: Readonly<Record<number, string>> = {
  3: 'Redirects are not followed. Enter the new URL.',
  4: 'Your handler refused the event. Answer 2xx once you have stored it.',
  5: 'Your server failed while it handled the event. Read its log at this time.',
  400: 'Your handler refused the body. Read it as it is, and check the signature over its bytes.',
  401: login,
  402: login,
  403: login,
  404: 'No handler has this path. Correct the URL, or add the route.',
  405: 'The path does not take POST. Add a handler for it.',
  410: 'Your server says that the path is gone. That ends an endpoint at once.',
  413: 'The body is larger than your server takes. Allow 256 KiB.',
  415: 'Your server does not take application/json. Allow it.',
  429: 'Your server limits calls. Limit the rate of this endpoint, or raise the limit there.',
  502: 'A proxy before your server got no answer from it. Look whether your server runs behind it.',
  503: 'Your server says that it is overloaded or stopped. Look whether it runs.',
  504: 'Your server did not answer its proxy in time. Answer first, then do the work.',
}

/** Returns the next step after a failure, or null if there is nothing to say. */
export function hintFor(
  { responseStatus, errorCode, errorCause }: FailureOf,
  host: string,
): string | null {
  if (responseStatus !== null)
    return statusHints[responseStatus] ?? statusHints[Math.floor(responseStatus / 100)] ?? null
  const hints = Object.entries(causeHints[errorCode ?? ''] ?? {})
  const [, hint] = hints.find(([words]) => (errorCause ?? '').includes(words)) ?? []
  return hint?.replace('HOST', () => host) ?? null
}
