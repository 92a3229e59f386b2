/**
 * Pure: the schemas of the modules and the error values of each status, as the contract shows them.
 * JSON Schema can say the same thing in several ways; the contract takes the one that generators of
 * clients and agents read best.
 */
import type { Operation } from '../edge/http/contract.ts'
import { interfaceVersion } from '../edge/http/identifiers.ts'
import { type ErrorName, errorStatus, errorTable, publicErrorNames } from '../platform/errors.ts'

type Json = Record<string, unknown>

/**
 * Returns a copy of a schema without the additions of the schema library. Each titled object or
 * union of objects becomes a reference, and `schemas` gets it under its title. Throws if two
 * different schemas share a title.
 */
export function published(node: unknown, schemas: Map<string, Json>): unknown {
  if (Array.isArray(node)) return node.map((item) => published(item, schemas))
  if (!isObject(node)) return node
  const copy: Json = {}
  for (const [name, member] of Object.entries(node)) copy[name] = published(member, schemas)
  const plain = plainForm(copy, schemas)
  const { title, type, oneOf } = plain
  const isPublished = type === 'object' || Array.isArray(oneOf)
  if (typeof title !== 'string' || !isPublished) return plain
  const known = schemas.get(title)
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain))
    throw new Error(`two different schemas have the title ${title}`)
  schemas.set(title, plain)
  return { $ref: `#/components/schemas/${title}` }
}

function plainForm(schema: Json, schemas: ReadonlyMap<string, Json>): Json {
  const { anyOf, ...others } = schema
  if (Array.isArray(anyOf)) return unionForm(anyOf.filter(isObject), others, schemas)
  if (Array.isArray(schema.enum) && schema.type === undefined) return { type: 'string', ...schema }
  return isOpenObject(schema) ? openForm(schema) : schema
}

/** An object that says nothing of further members allows them. The contract says so. */
function isOpenObject({ type, additionalProperties }: Json): boolean {
  return type === 'object' && additionalProperties === undefined
}

/** A record with members of any name and value is an open object as well. */
function openForm({ patternProperties, ...schema }: Json): Json {
  const isAny = JSON.stringify(patternProperties) === '{"^.*$":{}}'
  return { ...schema, ...(isAny ? {} : { patternProperties }), additionalProperties: true }
}

function unionForm(members: Json[], others: Json, schemas: ReadonlyMap<string, Json>): Json {
  const values = members.filter(({ type }) => type !== 'null')
  const nothing = members.find(({ type }) => type === 'null')
  const [value = {}] = values
  if (values.every((one) => typeof one.const === 'string'))
    return nullable({ type: 'string', enum: values.map((one) => one.const), ...others }, nothing)
  if (nothing !== undefined && values.length === 1 && value.$ref === undefined)
    return nullable({ ...value, ...others }, nothing)
  const discriminator = discriminatorOf(members, schemas)
  return { ...others, oneOf: members, ...(discriminator && { discriminator }) }
}

function nullable(schema: Json, nothing: Json | undefined): Json {
  if (nothing === undefined) return schema
  const parts = [schema.description, nothing.description]
  const text = parts.filter((part) => typeof part === 'string')
  return {
    ...schema,
    type: [schema.type, 'null'],
    ...(Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}),
    ...(text.length === 0 ? {} : { description: text.join(' ') }),
  }
}

/** Returns the member with a different constant in each of the referenced objects. */
function discriminatorOf(
  members: readonly Json[],
  schemas: ReadonlyMap<string, Json>,
): { propertyName: string; mapping: Json } | undefined {
  const referenced = members.map(({ $ref }) => ({
    $ref,
    properties: Object(schemas.get(String($ref).split('/').at(-1) ?? '')?.properties) as Json,
  }))
  const [first] = referenced
  for (const propertyName of Object.keys(first?.properties ?? {})) {
    const values = referenced.map(({ properties }) => Object(properties[propertyName]).const)
    const isDistinct = new Set(values).size === members.length
    if (isDistinct && values.every((value) => typeof value === 'string')) {
      const mapping = referenced.map(({ $ref }, i) => [values[i], $ref])
      return { propertyName, mapping: Object.fromEntries(mapping) }
    }
  }
  return undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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
