/** Pure: the error values of each status, and their form in the contract. */
import type { Operation } from '../edge/http/contract.ts'
import { interfaceVersion } from '../edge/http/identifiers.ts'
import { type ErrorName, errorStatus, errorTable, publicErrorNames } from '../platform/errors.ts'

type Shape = Pick<Operation, 'method' | 'body' | 'policy' | 'idempotencyKey'>

const isPaid = ({ policy }: Shape): boolean => policy.kind === 'paid'
const isMetered = ({ policy }: Shape): boolean => 'meter' in policy
const isSession = ({ policy }: Shape): boolean => policy.kind === 'session'
const isKeyed = ({ policy }: Shape): boolean => policy.kind === 'keyed'
const hasBody = ({ body }: Shape): boolean => body !== undefined

/** Error values of a few operations only. Operator routes name all of theirs. */
const onlyWhere: Partial<Record<ErrorName, (operation: Shape) => boolean>> = {
  api_key_in_url: () => false,
  invalid_json: hasBody,
  unsupported_media_type: hasBody,
  payload_too_large: hasBody,
  // An operation that answers with these values declares them. A fault in the body of a
  // verification is a finding, not an error.
  invalid_field: () => false,
  agent_reporting_locked: () => false,
  owner_required: () => false,
  webhooks_not_configured: () => false,
  signing_not_configured: () => false,
  invalid_idempotency_key: (operation) =>
    operation.idempotencyKey !== undefined || isMetered(operation),
  invalid_payment: isPaid,
  purchase_key_reused: isMetered,
  missing_api_key: (operation) => isKeyed(operation) || isPaid(operation),
  payment_required: isPaid,
  invalid_api_key: (operation) => !isSession(operation),
  insufficient_scope: (operation) => !isSession(operation),
  session_required: isSession,
  cross_origin: (operation) => isSession(operation) && operation.method !== 'GET',
  test_key: isKeyed,
  metering_suspended: isMetered,
  payment_facilitator_unavailable: isPaid,
  payment_settlement_pending: isPaid,
}

/** Returns the rows of the error table that fit a response whose declaration names none. */
export function valuesOf(status: number, operation: Shape): ErrorName[] {
  return publicErrorNames.filter(
    (name) =>
      errorStatus(name, isKeyed(operation)) === status && (onlyWhere[name]?.(operation) ?? true),
  )
}

/** Errors of any path, declared or not: the edge refuses before it knows the route. */
export const edgeRefusals: readonly ErrorName[] = [
  'bad_request',
  'api_key_in_url',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'payload_too_large',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
  'overloaded',
]

/** Returns references by name: each example stands once in the contract. */
export function refusalExamples(names: readonly ErrorName[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }]))
}

/**
 * Returns every row of the error table as the body of an answer, with the row's advice as the
 * summary.
 */
export function errorExamples(names: readonly ErrorName[]): Record<string, object> {
  const examples = names.map((name) => {
    const { message, advice } = errorTable[name]
    const version = name === 'unsupported_version' ? { supported_version: interfaceVersion } : {}
    return [name, { summary: advice, value: { error: name, message, ...version } }]
  })
  return Object.fromEntries(examples)
}
