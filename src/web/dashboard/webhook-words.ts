/** How pages name the states of webhook endpoints and deliveries. */
import type { EndpointHealth, ShownAttempt } from '../../webhooks/api.ts'
import { badge } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { breakable, relativeTime } from '../text.ts'

export const webhooksPath = '/dashboard/webhooks'

export function endpointPath(endpointId: string): string {
  return `${webhooksPath}/${endpointId}`
}

export function eventPath(endpointId: string, eventId: string): string {
  return `${endpointPath(endpointId)}/events/${encodeURIComponent(eventId)}`
}

/** Failures in a row from which an endpoint counts as failing. */
const failingFrom = 3

export function isFailing({ disabledAt, consecutiveFailures }: EndpointHealth): boolean {
  return disabledAt === null && consecutiveFailures >= failingFrom
}

export function stateBadge(endpoint: EndpointHealth, now: Date): Html {
  const { disabledAt, pausedAt, failingSince, lastSuccessAt } = endpoint
  if (disabledAt !== null) return badge('neutral', 'cross', 'Disabled')
  if (pausedAt !== null) return badge('neutral', 'pause', 'Paused')
  if (isFailing(endpoint) && failingSince !== null)
    return badge('warning', 'alert', `Failing for ${lengthSince(failingSince, now)}`)
  return lastSuccessAt === null
    ? badge('neutral', 'clock', 'Nothing delivered yet')
    : badge('positive', 'check', 'Receiving')
}

/** Formats the time since `time`, such as `6 min`. */
export function lengthSince(time: Date, now: Date): string {
  const text = relativeTime(time, now)
  return text.endsWith(' ago') ? text.slice(0, -4) : text === 'yesterday' ? '1 d' : 'days'
}

const disabledReasons = {
  owner: 'A member of this account disabled it.',
  operator: 'The operator of this service disabled it.',
  gone: 'Your server answered 410 Gone, which ends an endpoint at once.',
  failing: 'Nothing was delivered for five days.',
} as const

export function disabledText({ disabledReason }: EndpointHealth): string {
  return disabledReason === null ? '' : disabledReasons[disabledReason]
}

const triggerTags: Partial<Record<ShownAttempt['trigger'], string>> = {
  manual: 'Resent',
  recovery: 'Replayed',
  test: 'Test',
}

export function triggerTag({ trigger }: Pick<ShownAttempt, 'trigger'>): Html | false {
  const tag = triggerTags[trigger]
  return tag !== undefined && html` <span class="tag">${tag}</span>`
}

const errorWords: Readonly<Record<string, string>> = {
  dns_error: 'Host not found',
  blocked_address: 'Private address',
  connect_refused: 'Refused',
  connect_timeout: 'No connection',
  tls_error: 'TLS failed',
  not_begun: 'Not begun',
  timeout: 'Timeout',
  reset: 'Cut off',
  body_error: 'Broken answer',
}

/** The status that the receiver answered with, or why there is none. */
export function answerWord({ responseStatus, errorCode }: AnswerOf): string {
  if (responseStatus !== null) return String(responseStatus)
  return errorCode === null ? 'No answer' : (errorWords[errorCode] ?? errorCode)
}

type AnswerOf = Pick<ShownAttempt, 'responseStatus' | 'errorCode'>

/** A URL without its scheme. Long ones keep their host. */
export function urlText(url: string): Part {
  return breakable(url.replace(/^https:\/\//, '').replace(/\/$/, ''))
}

/** The host alone, for a confirmation that is typed. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

export function aboveEndpoint(id: string): { title: string; url: string }[] {
  return [
    { title: 'Webhooks', url: webhooksPath },
    { title: 'Endpoint', url: endpointPath(id) },
  ]
}
