/** Routes of the operator API, made from the declarations of operations. */
import { type TSchema, Type } from 'typebox'
import type { Caller } from '../edge/http/callers.ts'
import { type ResponseDeclaration, type Operation as Route } from '../edge/http/contract.ts'
import type { Answer, Endpoint } from '../edge/http/endpoint.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { type ErrorName, errorTable, type Refusal, refuse } from '../platform/errors.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import type { AnyIngest } from './ingest.ts'
import type { Operation } from './operation.ts'
import { type OperationCaller, type Performer, performAny } from './perform.ts'
import { type Texts, valuesOfTexts } from './text-input.ts'

export const operatorBase = '/api/operator/v1'

/** Calls of one token in any minute, and in a day. */
const perMinute = 600
export const operatorPolicy = {
  kind: 'operator',
  limits: { perMinute, perDay: perMinute * 1_440 },
} as const

/** Beside the operation's own refusals: every route answers these. */
export const commonErrors: readonly ErrorName[] = [
  'missing_operator_token',
  'invalid_operator_token',
  'operator_role_required',
  'rate_limited',
  'internal_error',
  'overloaded',
  'unavailable',
]
const readErrors: readonly ErrorName[] = ['invalid_parameter']
const changeErrors: readonly ErrorName[] = [
  'invalid_parameter',
  'invalid_json',
  'invalid_field',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_key_spent',
  'payload_too_large',
  'unsupported_media_type',
]

/** The most that an operation's lists of names need. */
const bodyBytesMax = 524_288

/** Returns the route of an operation as the document and the server take it. */
export function operatorRoute(operation: Operation): Route {
  const { name, http, summary, kind, path, input } = operation
  const [method = '', below = ''] = http.split(' ')
  const isRead = kind === 'read'
  return {
    operationId: idOf(name),
    method: method as Route['method'],
    path: operatorBase + below,
    area: name.slice(0, name.indexOf(' ')),
    summary,
    description: descriptionOf(operation),
    policy: operatorPolicy,
    priority: 'operator',
    pathParameters: Type.Object(path),
    queryParameters: Type.Object(isRead ? published(input) : { dryRun }),
    ...(isRead ? {} : changeParts(operation)),
    responses: responsesOf(operation),
  }
}

const dryRun = Type.Optional(
  Type.String({
    pattern: '^(true|false)$',
    description: 'With true, everything is checked and shown, and nothing is changed.',
  }),
)

/** In a query a number or a list is text; the document shows what the text stands for. */
function published(input: Operation['input']): Record<string, TSchema> {
  const entries = Object.entries(input).map(([name, schema]): [string, TSchema] => {
    const { description: _, ...form } = schema as TSchema & { description?: string }
    const parameter: TSchema = { ...schema, published: form }
    return [name, '~optional' in schema ? Type.Optional(parameter) : parameter]
  })
  return Object.fromEntries(entries)
}

function changeParts({ input, example, path }: Operation): Partial<Route> {
  const members = Object.entries(example).filter(([name]) => !(name in path))
  return {
    idempotencyKey: 'optional',
    body: {
      mediaTypes: ['application/json'],
      schema: closedObject(sentMembers(input)),
      bytesMax: bodyBytesMax,
      ambiguousReachesHandler: false,
      examples: { example: Object.fromEntries(members) },
    },
  }
}

/** A member with a default may be absent. */
function sentMembers(input: Operation['input']): Operation['input'] {
  const entries = Object.entries(input).map(([name, schema]) => [
    name,
    'default' in schema ? Type.Optional(schema) : schema,
  ])
  return Object.fromEntries(entries)
}

/** `disputes open` becomes `disputesOpen`, and `api-keys create` becomes `apiKeysCreate`. */
function idOf(name: string): string {
  return name.replace(/[ -]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function descriptionOf({ who, danger }: Pick<Operation, 'who' | 'danger'>): string {
  const roles = who.ingest === true ? `\`${who.operator}\`, or \`ingest\`` : `\`${who.operator}\``
  const lowest = `Needs the role ${roles}${who.operator === 'admin' ? '' : ' or a higher one'}.`
  return danger === undefined ? lowest : `${lowest} ${danger}`
}

function responsesOf({ kind, output, refusals }: Operation): Record<number, ResponseDeclaration> {
  const own = kind === 'read' ? readErrors : changeErrors
  const names = [...new Set<ErrorName>([...commonErrors, ...own, ...refusals])]
  const hasNextLink = 'next' in output.properties
  const schema =
    kind === 'read' ? output : closedObject({ dryRun: wasDryRun, ...output.properties })
  return {
    200: { description: 'Done.', schema, ...(hasNextLink && { hasNextLink }) },
    ...errorResponses(names),
  }
}

export const wasDryRun = Type.Optional(Type.Literal(true, { description: 'Nothing was changed.' }))

export function errorResponses(names: readonly ErrorName[]): Record<number, ResponseDeclaration> {
  const byStatus = Map.groupBy(names, (name) => errorTable[name].status)
  const responses = [...byStatus].map(([status, errors]) => [
    status,
    { description: descriptions[status] ?? 'Refused.', errors },
  ])
  return Object.fromEntries(responses)
}

const descriptions: Readonly<Record<number, string>> = {
  400: 'A parameter, the body or the Idempotency-Key is not valid.',
  401: 'There is no valid operator token.',
  403: 'The role of the token does not allow this operation.',
  404: 'The record does not exist.',
  409: 'The state of the record, or an earlier call with this Idempotency-Key, forbids it.',
  408: 'The body arrives too slowly.',
  413: 'The body is too large.',
  415: 'The content type is not one of the request body.',
  429: 'Too many calls of this token; retry after Retry-After seconds.',
  500: 'Unexpected error; nothing was changed.',
  503: 'A part of the service that this answer needs is not available.',
}

/** Returns the route of a bulk input without its body and its answers. */
export function bulkRoute<Services>(
  { name, http, summary, who }: AnyIngest<Services>,
  description: string,
): Omit<Route, 'responses'> {
  return {
    operationId: idOf(name),
    method: 'POST',
    path: operatorBase + http.slice(http.indexOf('/')),
    area: name.slice(0, name.indexOf(' ')),
    summary,
    description: `${descriptionOf({ who })} ${description}`,
    policy: operatorPolicy,
    priority: 'operator',
    queryParameters: Type.Object({ dryRun }),
  }
}

/** Returns the endpoints of the operations. */
export function operatorEndpoints<Services>(
  operations: readonly Operation<Services>[],
  performer: Performer<Services>,
  batchesMsMax = deadlineMs('batches'),
): Endpoint[] {
  return operations.map((operation) => ({
    ...operatorRoute(operation as unknown as Operation),
    answer: (request) => answer({ performer, batchesMsMax }, operation, request as OperatorRequest),
  }))
}

export interface OperatorRequest {
  path: Texts
  query: Texts
  body: unknown
  caller: Caller
  idempotencyKey: string | null
  requestId: string
}

async function answer<Services>(
  { performer, batchesMsMax }: { performer: Performer<Services>; batchesMsMax: number },
  operation: Operation<Services>,
  { path, query, body, caller, idempotencyKey, requestId }: OperatorRequest,
): Promise<Answer> {
  const isRead = operation.kind === 'read'
  const fault = isRead ? null : (queryFault(query) ?? bodyFault(operation, body))
  if (fault !== null) return fault
  const texts = valuesOfTexts(operation, { ...path, ...(isRead && query) })
  const input = { ...texts, ...(isRead ? {} : (body as object)) }
  const isDryRun = !isRead && Reflect.get(query, 'dryRun') === 'true'
  const performed = await performAny(performer, operation, operatorOf(caller, requestId), input, {
    idempotencyKey,
    isDryRun,
    batchesMsMax,
  })
  if ('refusal' in performed) return isRead ? inQuery(performed) : performed
  const { output } = performed
  const next: unknown = Reflect.get(output, 'next')
  const link =
    typeof next === 'string' ? { headers: { Link: nextLink(operation, path, query, next) } } : {}
  return { status: 200, body: isDryRun ? { dryRun: true, ...output } : output, ...link }
}

export function operatorOf(caller: Caller, requestId: string): OperationCaller {
  if (caller.kind !== 'operator') throw new Error('an operator route was called without a token')
  const { role, tokenId, name } = caller
  return { kind: 'operator', role, actor: `token ${tokenId}`, by: name, requestId }
}

/** A change takes one query parameter. Here, an unknown one is refused, not ignored. */
export function queryFault(query: object): Refusal | null {
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'dryRun')
      return refuse('invalid_parameter', {
        message: `Parameter ${name} is not known. Send the members of the change in the body.`,
      })
    if (value !== 'true' && value !== 'false')
      return refuse('invalid_parameter', { message: 'Parameter dryRun must be true or false.' })
  }
  return null
}

/** A member that is a path parameter would let one request name two records. */
function bodyFault({ path }: { path: object }, body: unknown): Refusal | null {
  const name = Object.keys(body as object).find((member) => member in path)
  return name === undefined
    ? null
    : refuse('invalid_field', {
        message: `${name} is a part of the path: leave it out of the body.`,
      })
}

/** A fault of a read is in its path or query. */
function inQuery(refusal: Refusal): Refusal {
  return refusal.refusal === 'invalid_field'
    ? { ...refusal, refusal: 'invalid_parameter' }
    : refusal
}

function nextLink({ http }: { http: string }, path: object, query: object, next: string): string {
  const below = http
    .slice(http.indexOf('/'))
    .replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(Reflect.get(path, name))),
    )
  const parameters = new URLSearchParams({ ...query, after: next })
  return `<${operatorBase}${below}?${parameters.toString()}>; rel="next"`
}
