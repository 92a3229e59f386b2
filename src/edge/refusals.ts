/**
 * Renders a refusal as the closed error body of the specification. Every path that can fail ends
 * here (decision D6).
 */
import {
  type ErrorName,
  errorStatus,
  errorTable,
  type Refusal,
  RefusedError,
  refusalText,
  refuse,
  UnavailableError,
} from '../platform/errors.ts'
import type { HeaderSets } from './headers.ts'
import { interfaceVersion } from './http/identifiers.ts'
import type { Route } from './request-context.ts'

export interface RenderedRefusal {
  status: number
  /** Names and values alternate; without Content-Length and X-Request-Id. */
  headers: string[]
  body: string
}

/** The part of a route that decides the form of a refusal. */
interface RefusedRoute extends Pick<Route, 'isSameOrigin' | 'isKeyed' | 'refusalPage'> {
  /** Path and query of the request. */
  target?: string
  requestId?: string
}

export function renderRefusal(
  sets: HeaderSets,
  refused: Refusal,
  { isSameOrigin, isKeyed = false, refusalPage, target = '', requestId = '' }: RefusedRoute = {},
): RenderedRefusal {
  const { refusal, message, headers } = refused
  const row = errorTable[refusal]
  const status = errorStatus(refusal, isKeyed)
  const extraHeaders = status === 503 ? { ...operatorsTurn, ...headers } : { ...headers }
  if (refusalPage !== undefined) {
    const visit = { error: refusal, status, message: message ?? row.message, target, requestId }
    const page = refusalPage(visit)
    const headers = [...sets.withPermissions(sets.page), 'Content-Type', 'text/html; charset=utf-8']
    return typeof page === 'string'
      ? { status, headers: [...headers, ...Object.entries(extraHeaders).flat()], body: page }
      : { status: 303, headers: [...headers, 'Location', page.redirectTo], body: '' }
  }
  return {
    status,
    headers: [
      ...(isSameOrigin ? sets.sameOrigin : sets.private),
      'Content-Type',
      'application/json',
      'Link',
      sets.helpLink(refusal),
      ...Object.entries(extraHeaders).flat(),
    ],
    body: JSON.stringify(refusalBody(refused)),
  }
}

/** The closed error body. */
export function refusalBody(refused: Pick<Refusal, 'refusal' | 'message'>): object {
  const { refusal: error } = refused
  const version = error === 'unsupported_version' ? { supported_version: interfaceVersion } : {}
  return { error, message: refusalText(refused), ...version }
}

/**
 * The default for a 503 without its own Retry-After: the operator must act, so clients should not
 * retry every second.
 */
const operatorsTurn = { 'Retry-After': '60' }

/** Converts a thrown error into a refusal that reveals no internal detail. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal
  if (!(error instanceof UnavailableError)) return refuse('internal_error')
  const { retryAfterSeconds, publicMessage: message } = error
  return refuse('unavailable', {
    ...(message === undefined ? {} : { message }),
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
}

export function isErrorName(name: unknown): name is ErrorName {
  return typeof name === 'string' && Object.hasOwn(errorTable, name)
}
