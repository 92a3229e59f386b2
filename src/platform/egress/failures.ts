/**
 * Names the reasons why no answer came from another server, as deliveries and logs show them. Pure.
 */

/**
 * - `dns_error`, `blocked_address`, `connect_refused`, `connect_timeout`, `tls_error`, `not_begun`,
 *   `no_descriptors`: nothing was sent.
 * - `no_descriptors`: this process may open no further file or connection.
 * - `timeout`, `reset`, `body_error`: the request may have arrived.
 */
export type EgressFailure =
  | 'dns_error'
  | 'blocked_address'
  | 'connect_refused'
  | 'connect_timeout'
  | 'tls_error'
  | 'not_begun'
  | 'no_descriptors'
  | 'timeout'
  | 'reset'
  | 'body_error'

export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly failure: EgressFailure

  constructor(failure: EgressFailure, detail: string, cause?: unknown) {
    super(detail, { cause })
    this.failure = failure
  }
}

const failuresByCode: Readonly<Record<string, EgressFailure>> = {
  ECONNREFUSED: 'connect_refused',
  EHOSTUNREACH: 'connect_refused',
  ENETUNREACH: 'connect_refused',
  EADDRNOTAVAIL: 'connect_refused',
  EACCES: 'connect_refused',
  ETIMEDOUT: 'connect_timeout',
  EMFILE: 'no_descriptors',
  ENFILE: 'no_descriptors',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  // Our own client is closing.
  UND_ERR_CLOSED: 'reset',
  UND_ERR_DESTROYED: 'reset',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_OVERFLOW: 'body_error',
}

/**
 * Names a failure to connect. Before a TLS connection is open, every unknown error comes from TLS.
 */
export function connectFailure(error: unknown, protocol: string): EgressFailure {
  const known = failuresByCode[codeOf(error)]
  return known ?? (protocol === 'https:' ? 'tls_error' : 'connect_refused')
}

/** Words for the codes of Node. A certificate's own text is not repeated: the other server wrote it. */
const tlsCauses: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate has an unknown issuer',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate has an unknown issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate has an unknown issuer',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate chain is incomplete, or its issuer is unknown',
  CERT_REVOKED: 'certificate was revoked',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the server does not speak TLS 1.2 or newer',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the server does not speak TLS 1.2 or newer',
}

/** Returns the cause of a failed TLS connection, or undefined if the error is of another kind. */
export function tlsCause(error: unknown): string | undefined {
  const code = codeOf(error)
  return tlsCauses[code] ?? (/^(CERT_|ERR_SSL_|ERR_TLS_)/.test(code) ? code : undefined)
}

/** Words for the codes of a resolver. */
const nameCauses: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  ESERVFAIL: 'the name server failed',
  EREFUSED: 'the name server refused to answer',
  ECONNREFUSED: 'no name server answers',
  ETIMEOUT: 'the name server did not answer in time',
  EAI_AGAIN: 'the name server did not answer in time',
}

/** Returns the cause of a failed connection in words, for operators and owners, if it is known. */
export function failureCause(failure: EgressFailure, error: unknown): string | undefined {
  const { cause } = Object(error)
  if (failure === 'tls_error') return tlsCause(cause)
  if (failure !== 'dns_error') return undefined
  return nameCauses[codeOf(cause)] ?? nameCauses[codeOf(Object(cause).cause)]
}

/** Names a failure with its cause. */
export function failureText(failure: EgressFailure, error: unknown): string {
  const cause = failureCause(failure, error)
  return cause === undefined ? failure : `${failure}: ${cause}`
}

/** Names a failure of the exchange. Returns undefined for a defect of our own. */
export function exchangeFailure(error: unknown): EgressFailure | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof EgressError) return error.failure
  if (error.name === 'HTTPParserError') return 'body_error'
  // undici reports the proxy's status for CONNECT only in the message.
  const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? []
  if (status !== undefined) return /^40[37]$/.test(status) ? 'blocked_address' : 'connect_refused'
  const code = codeOf(error)
  return failuresByCode[code] ?? (code.startsWith('UND_ERR_RES') ? 'body_error' : undefined)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
