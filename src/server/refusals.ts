/** How a refusal becomes bytes: the closed error body of spec §2.1, on every path that can end in one (decision D6). */
import {
  type ErrorName,
  errorTable,
  type Refusal,
  refuse,
  UnavailableError,
} from '../platform/http/errors.ts'
import { interfaceVersion } from '../platform/http/identifiers.ts'
import type { Route } from './exchange.ts'
import type { HeaderSets } from './headers.ts'

export interface RenderedRefusal {
  status: number
  /** Names and values by turns, without Content-Length and X-Request-Id. */
  headers: string[]
  body: string
}

export function renderRefusal(
  sets: HeaderSets,
  { refusal, message, headers }: Refusal,
  { isSameOrigin }: Pick<Route, 'isSameOrigin'> = {},
): RenderedRefusal {
  const row = errorTable[refusal]
  const told = row.status === 503 ? { ...operatorsTurn, ...headers } : { ...headers }
  const version = refusal === 'unsupported_version' ? { supported_version: interfaceVersion } : {}
  return {
    status: row.status,
    headers: [
      ...(isSameOrigin ? sets.sameOrigin : sets.private),
      'Content-Type',
      'application/json',
      'Link',
      sets.helpLink(refusal),
      ...Object.entries(told).flat(),
    ],
    body: JSON.stringify({ error: refusal, message: message ?? row.message, ...version }),
  }
}

/** What does not pass by itself is not asked for every second. */
const operatorsTurn = { 'Retry-After': '60' }

/** What was thrown, as a caller may see it: nothing of the inside. */
export function refusalOf(error: unknown): Refusal {
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
