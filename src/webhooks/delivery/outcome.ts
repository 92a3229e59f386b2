/** Pure: the meaning of a receiver's answer, or of none, for the delivery and for the endpoint. */
import type { EgressAnswer } from '../../platform/egress/exchange.ts'
import { type EgressFailure, failureCause } from '../../platform/egress/failures.ts'
import { retryAfterOf } from './retry.ts'

/** Error codes of attempts and metrics. */
export type DeliveryErrorCode = EgressFailure | 'redirect' | 'http_status'

/**
 * Causes of a delivery: its event; `manual`: a resend; `recovery`: the replay of missed events;
 * `test`: a test event.
 */
export const triggers = ['event', 'manual', 'recovery', 'test'] as const

/** `interrupted`: the sending process died, so the attempt is repeated. */
export const attemptResults = ['succeeded', 'failed', 'interrupted'] as const

export interface Outcome {
  succeeded: boolean
  errorCode: DeliveryErrorCode | null
  /** The cause of a failed connection in words, if it is known. */
  errorCause: string | null
  responseStatus: number | null
  /** Shown to the owner of the endpoint: text of at most 2 KiB. */
  responseBody: string | null
  /** The receiver answered 410: it wants no more events. */
  isGone: boolean
  /** A sign of overload or outage: the endpoint gets fewer deliveries at once. */
  isStrained: boolean
  /** Time until which the receiver asked to wait. */
  retryAfter: Date | null
}

const statusesThatPark = new Set([429, 503])

/**
 * Returns the outcome. 2xx is success with any body. Redirects are not followed, so they are
 * failures.
 */
export function outcomeOf(answer: EgressAnswer, now: Date): Outcome {
  if ('failure' in answer)
    return {
      succeeded: false,
      errorCode: answer.failure,
      errorCause: failureCause(answer.failure, answer.error) ?? null,
      responseStatus: null,
      responseBody: null,
      isGone: false,
      isStrained: answer.failure !== 'blocked_address',
      retryAfter: null,
    }
  const { status, headers, body } = answer
  const succeeded = status >= 200 && status < 300
  const retryAfter = headers['retry-after']
  return {
    succeeded,
    errorCode: succeeded ? null : status >= 300 && status < 400 ? 'redirect' : 'http_status',
    errorCause: null,
    responseStatus: status,
    responseBody: body.length === 0 ? null : shown(body),
    isGone: status === 410,
    isStrained: status >= 500 || status === 429 || status === 408,
    retryAfter:
      statusesThatPark.has(status) && typeof retryAfter === 'string'
        ? retryAfterOf(retryAfter, now)
        : null,
  }
}

const shownCharactersMax = 2_048

/**
 * Returns text of at most 2 KiB in which control characters and characters that reorder text are
 * escaped, so that it is safe in a terminal, a database and a page.
 */
export function shown(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, shownCharactersMax))
  const escaped = text.replace(
    /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return escaped.slice(0, shownCharactersMax)
}
