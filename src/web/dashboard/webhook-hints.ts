/** Pure: what a developer does about a failed delivery, one row for each cause. */

interface FailureOf {
  responseStatus: number | null
  errorCode: string | null
  errorCause: string | null
}

/** By the words that the deliverer keeps, see `failureCause`. The first that fits counts. */
const tlsHints: readonly [RegExp, (host: string) => string][] = [
  [/has expired/, (host) => `The certificate of ${host} has expired. Renew it.`],
  [/not valid yet/, (host) => `The certificate of ${host} is not valid yet. Check its dates.`],
  [/revoked/, (host) => `The certificate of ${host} was revoked. Ask for a new one.`],
  [/another name/, (host) => `The certificate is for another name. Ask for one for ${host}.`],
  [/incomplete/, () => 'The chain is incomplete. Send the intermediate certificate too.'],
  [
    /self-signed|unknown issuer/,
    () => 'No public authority issued the certificate. Use one that browsers accept.',
  ],
]

const dnsHints: readonly [RegExp, (host: string) => string][] = [
  [
    /does not exist/,
    (host) =>
      `DNS does not know ${host}. Correct the host, or add the name. A private zone is not visible here.`,
  ],
  [/has no address/, (host) => `DNS has no address for ${host}. Add an A or AAAA record.`],
  [
    /name server/,
    (host) =>
      `The name server of ${host} gave no answer. Ask its operator; the next attempt asks it again.`,
  ],
]

const errorHints: Readonly<Record<string, (host: string, cause: string) => string>> = {
  dns_error: (host, cause) =>
    dnsHints.find(([form]) => form.test(cause))?.[1](host) ??
    `DNS has no address for ${host}. Add an A or AAAA record, or correct the host. A private zone is not visible here.`,
  tls_error: (host, cause) =>
    tlsHints.find(([form]) => form.test(cause))?.[1](host) ??
    `No TLS connection to ${host} came about. Offer TLS 1.2 or 1.3 with a certificate that browsers accept.`,
  connect_refused: (host) => `Nothing listens on the port of ${host}. Start your server there.`,
  connect_timeout: (host) =>
    `${host} takes no connection. A firewall drops it: allow this service.`,
  timeout: () =>
    'Your server took the request and did not answer in 15 s. Answer first, then do the work.',
  blocked_address: (host) => `${host} leads to a private address. Use a public one.`,
  reset: () => 'Your server or a proxy closed the connection before it answered. Read its log.',
  body_error: () => 'The answer is not valid HTTP. Read the log of your server.',
}

const statusHints: readonly [from: number, to: number, hint: string][] = [
  [300, 399, 'Redirects are not followed. Enter the new URL.'],
  [
    400,
    400,
    'Your handler refused the body. Read it as it is, and check the signature over its bytes.',
  ],
  [
    401,
    403,
    'A firewall or login stands before your handler. Allow this path; the signature is the login.',
  ],
  [404, 404, 'No handler has this path. Correct the URL, or add the route.'],
  [405, 405, 'The path does not take POST. Add a handler for it.'],
  [410, 410, 'Your server says that the path is gone. That ends an endpoint at once.'],
  [413, 413, 'The body is larger than your server takes. Allow 256 KiB.'],
  [415, 415, 'Your server does not take application/json. Allow it.'],
  [
    429,
    429,
    'Your server limits calls. Limit the rate of this endpoint, or raise the limit there.',
  ],
  [400, 499, 'Your handler refused the event. Answer 2xx once you have stored it.'],
  [
    502,
    502,
    'A proxy before your server got no answer from it. Look whether your server runs behind it.',
  ],
  [503, 503, 'Your server says that it is overloaded or stopped. Look whether it runs.'],
  [504, 504, 'Your server did not answer its proxy in time. Answer first, then do the work.'],
  [500, 599, 'Your server failed while it handled the event. Read its log at this time.'],
]

/** Returns the next step after a failure, or null if there is nothing to say. */
export function hintFor(
  { responseStatus, errorCode, errorCause }: FailureOf,
  host: string,
): string | null {
  if (responseStatus !== null)
    return (
      statusHints.find(([from, to]) => responseStatus >= from && responseStatus <= to)?.[2] ?? null
    )
  return errorHints[errorCode ?? '']?.(host, errorCause ?? '') ?? null
}
