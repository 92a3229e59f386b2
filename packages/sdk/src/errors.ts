/** The errors that a call can end with. None of them holds a header, so none can hold the key. */
import type { Json } from './client-types.ts'
import type { PaymentChallenge } from './wire.ts'

/** Every error of a call. */
export class AssayError extends Error {
  /** The `error` value of the service's answer, or the kind of fault without one. */
  readonly error: string
  /** Null if no answer came. */
  readonly status: number | null
  readonly requestId: string | null
  /** Explains this error. Null if the answer names no page. */
  readonly docsUrl: string | null

  constructor(message: string, fault: Fault) {
    super(message)
    const { error, status = null, requestId = null, docsUrl = null } = fault
    this.name = new.target.name
    this.error = error
    this.status = status
    this.requestId = requestId
    this.docsUrl = docsUrl
  }
}

interface Fault {
  error: string
  status?: number
  requestId?: string | null
  docsUrl?: string | null
}

/** No whole answer came: the network failed, or an answer was cut, too long or no JSON. */
export class ConnectionError extends AssayError {}

/** No whole answer came in time. */
export class TimeoutError extends ConnectionError {}

/** The payment was not made: the challenge is beyond the limits, or is for something else. */
export class PaymentRefusedError extends AssayError {}

/** The service answered with an error. */
export class AnswerError extends AssayError {
  declare readonly status: number
  /** Seconds after which a retry is worth it, if the service says so. */
  readonly retryAfterSeconds: number | null
  readonly body: Json

  constructor(answer: ErrorAnswer) {
    // The answer to an unknown skill has the id in the place of a message.
    const { error, id, message = id } = answer.body
    const value = typeof error === 'string' ? error : 'unknown_error'
    const { status, requestId, docsUrl } = answer
    super(`${status} ${value}${typeof message === 'string' ? `: ${message}` : ''}`, {
      error: value,
      status,
      requestId,
      docsUrl,
    })
    this.retryAfterSeconds = answer.retryAfterSeconds
    this.body = answer.body
  }
}

/**
 * Says why `fetch` failed. The cause of a host with several addresses, such as localhost, has a
 * code and an empty message.
 */
export function whyFailed(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, code = message }: Error & { code?: string } =
    error.cause instanceof Error ? error.cause : error
  return message || code
}

export interface ErrorAnswer {
  status: number
  requestId: string | null
  docsUrl: string | null
  retryAfterSeconds: number | null
  body: Json
}

/** 400, 405, 413, 415, 417 and 431: the request is wrong, and is wrong again when repeated. */
export class InvalidRequestError extends AnswerError {}
/** 401: the key is missing or unknown. */
export class AuthenticationError extends AnswerError {}
/** 403: the key may not do this. */
export class PermissionError extends AnswerError {}
/** 402: the account has too few credits. */
export class InsufficientCreditsError extends AnswerError {}
/** 402: the call must be paid for. */
export class PaymentRequiredError extends AnswerError {
  /** Null if the service takes no payment without a key: send an API key. */
  readonly challenge: PaymentChallenge | null

  constructor(answer: ErrorAnswer, challenge: PaymentChallenge | null) {
    super({ ...answer, body: { error: 'payment_required', ...answer.body } })
    this.challenge = challenge
  }
}
/** 404: absent, or hidden from this caller. */
export class NotFoundError extends AnswerError {}
/** 409: the state of the service, or an earlier request under the same key, does not allow it. */
export class ConflictError extends AnswerError {}
/** 429: too many calls; `retryAfterSeconds` says when the next one is allowed. */
export class RateLimitError extends AnswerError {}
/** 408 and 5xx: the service cannot answer at present. */
export class UnavailableError extends AnswerError {}

const classes: Record<number, new (answer: ErrorAnswer) => AnswerError> = {
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionError,
  404: NotFoundError,
  408: UnavailableError,
  409: ConflictError,
  429: RateLimitError,
}

export function errorOf(answer: ErrorAnswer): AnswerError {
  if (answer.status === 402 && isChallenge(answer.body))
    return new PaymentRequiredError(answer, answer.body)
  if (answer.status === 402 && answer.body.error === 'payment_required')
    return new PaymentRequiredError(answer, null)
  const Family =
    classes[answer.status] ?? (answer.status < 500 ? InvalidRequestError : UnavailableError)
  return new Family(answer)
}

function isChallenge(body: Json): body is Json & PaymentChallenge {
  return body.x402Version === 1 && Array.isArray(body.accepts) && body.accepts.length > 0
}
