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
  /** Shown to the owner as well. Null: there was no answer. */
  responseHeaders: Readonly<Record<string, string>> | null
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
      responseHeaders: null,
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
    responseHeaders: shownHeaders(headers),
    isGone: status === 410,
    isStrained: status >= 500 || status === 429 || status === 408,
    retryAfter:
      statusesThatPark.has(status) && typeof retryAfter === 'string'
        ? retryAfterOf(retryAfter, now)
        : null,
  }
}

const shownCharactersMax = 2_048
const headerCharactersMax = 200

/** The headers that help to find a fault. None of them holds a secret, such as a cookie. */
const shownHeaderNames = [
  'content-type',
  'content-length',
  'date',
  'server',
  'via',
  'location',
  'retry-after',
  'allow',
  'www-authenticate',
  'x-request-id',
  'x-amzn-trace-id',
  'cf-ray',
] as const

function shownHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string> {
  return Object.fromEntries(
    shownHeaderNames.flatMap((name) => {
      const value = headers[name]
      if (value === undefined) return []
      return [[name, escaped(String(value)).slice(0, headerCharactersMax)]]
    }),
  )
}

/**
 * Returns text of at most 2 KiB in which control characters and characters that reorder text are
 * escaped, so that it is safe in a terminal, a database and a page.
 */
export function shown(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, shownCharactersMax))
  return escaped(text).slice(0, shownCharactersMax)
}

function escaped(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
