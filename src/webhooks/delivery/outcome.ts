/** Pure: what an answer of a receiver, or none, means for the delivery and for the endpoint. */
import type { EgressAnswer } from '../../platform/egress/exchange.ts'
import type { EgressFailure } from '../../platform/egress/failures.ts'
import { retryAfterOf } from './retry.ts'

/** In attempts and metrics. */
export type DeliveryErrorCode = EgressFailure | 'redirect' | 'http_status'

/** What caused a delivery: its event, `manual` a resend, `recovery` the replay of what was missed, `test` a test event. */
export const triggers = ['event', 'manual', 'recovery', 'test'] as const

/** `interrupted`: the process that sent it died, so that the attempt is made again. */
export const attemptResults = ['succeeded', 'failed', 'interrupted'] as const

export interface Outcome {
  succeeded: boolean
  errorCode: DeliveryErrorCode | null
  responseStatus: number | null
  /** For the owner of the endpoint: at most 2 KiB, as text. */
  responseBody: string | null
  /** The receiver said 410: it wants nothing any more. */
  isGone: boolean
  /** A sign of overload or outage: fewer deliveries at once from now on. */
  isStrained: boolean
  /** Until when the receiver asked us to wait. */
  retryAfter: Date | null
}

const statusesThatPark = new Set([429, 503])

/** 2xx is success, whatever the body. Redirects are not followed, so they are failures. */
export function outcomeOf(answer: EgressAnswer, now: Date): Outcome {
  if (answer.outcome === 'failed')
    return {
      succeeded: false,
      errorCode: answer.failure,
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

/** Text of at most 2 KiB, each control character, and each that reorders text, as an escape: nothing a terminal, a database or a reader could stumble over. */
export function shown(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, shownCharactersMax))
  const escaped = text.replace(
    /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return escaped.slice(0, shownCharactersMax)
}
