/**
 * Pure: the contract of the interface in OpenAPI 3.1, made from the contracts of all modules and
 * the error table. The same declarations always give the same bytes: paths, areas and components
 * are sorted, so the checked-in contract can be compared.
 */
import type { TObject } from 'typebox'
import {
  csvType,
  type Operation,
  type ResponseDeclaration,
  sessionLimits,
} from '../edge/http/contract.ts'
import { interfaceVersion } from '../edge/http/identifiers.ts'
import { paymentChallenge } from '../edge/http/payment-challenge.ts'
import {
  answerHeaders,
  errorSchema,
  fixedComponents,
  httpsSessionCookie,
  operatorComponents,
  operatorErrorSchema,
  refTo,
} from './openapi-parts.ts'
import { published, refusalExamples, valuesOf } from './openapi-schemas.ts'
import { type WebhookDeclaration, webhookParameters, webhooksOf } from './openapi-webhooks.ts'

type Json = Record<string, unknown>

interface DocumentOptions {
  publicUrl: string
  webhooks?: readonly WebhookDeclaration[]
  /** Name of the cookie that holds a session. */
  sessionCookie?: string
  /** The operator API has other texts, and rows of the error table that only operators meet. */
  isForOperators?: boolean
}

/**
 * Returns the contract. A schema object with a `title` is published once under that name. Throws if
 * two different schemas share a title.
 */
export function openApiDocument(
  operations: readonly Operation[],
  {
    publicUrl,
    webhooks = [],
    sessionCookie = httpsSessionCookie,
    isForOperators = false,
  }: DocumentOptions,
): Json {
  const schemas = new Map<string, Json>()
  const publish = (schema: object): unknown => published(schema, schemas)
  const sorted = [...operations].sort((a, b) => compare(keyOf(a), keyOf(b)))
  const paths: Record<string, Json> = {}
  for (const operation of sorted) {
    const item = (paths[operation.path] ??= {})
    item[operation.method.toLowerCase()] = operationObject(operation, publish)
  }
  const sent = webhooksOf(webhooks, publish)
  publish(isForOperators ? operatorErrorSchema : errorSchema)
  const shared = isForOperators ? operatorComponents : fixedComponents
  const parameters = { ...shared.parameters, ...webhookParameters(webhooks) }
  const session = { ...shared.securitySchemes.session, name: sessionCookie }
  const securitySchemes = { ...shared.securitySchemes, session }
  const components = { ...shared, parameters, securitySchemes }
  return {
    openapi: '3.1.0',
    info: {
      ...(isForOperators ? operatorInfo : publicInfo),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The documentation', url: `${publicUrl}/docs` },
    servers: [{ url: publicUrl }],
    tags: areasOf(sorted, webhooks).map(tagOf),
    paths,
    ...(webhooks.length === 0 ? {} : { webhooks: sent }),
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => compare(a, b))),
      ...usedOf(components, JSON.stringify([paths, sent, refusals])),
    },
  }
}

const publicInfo = {
  title: 'Public verification, skill standard and candidate data',
  version: interfaceVersion,
  description:
    'Every response has its version in Service-Version and the id of its request in X-Request-Id. Every error is the closed object `ErrorResponse`; its `Link` header leads to an explanation. If GET needs no key, HEAD is supported as well. Operations with `x-extension` are extensions of the specification.',
}

const operatorInfo = {
  title: 'Operator API',
  version: '1',
  description:
    'What the operator of this service does by command line, for its own systems. Each change is one transaction with its entry in the audit log. With an Idempotency-Key, a repeated change within a day gets the answer of the first one; an answer with a secret is not repeated. An unknown parameter or member is refused. Lists have pages: the member `next` and the `Link` header lead to the next one.',
}

const refusals = fixedComponents.responses

/**
 * Returns the components that something refers to, because the operations decide which shared ones
 * are needed.
 */
function usedOf(components: Record<string, Record<string, object>>, referring: string) {
  const isUsed = (kind: string, name: string): boolean =>
    referring.includes(
      kind === 'securitySchemes' ? `"${name}":[]` : `"#/components/${kind}/${name}"`,
    )
  const used = Object.entries(components).map(([kind, members]) => [
    kind,
    Object.fromEntries(Object.entries(members).filter(([name]) => isUsed(kind, name))),
  ])
  return Object.fromEntries(used)
}

function areasOf(operations: readonly Operation[], webhooks: readonly WebhookDeclaration[]) {
  const areas = new Set(operations.map(({ area }) => area))
  if (webhooks.length > 0) areas.add('webhooks')
  return [...areas].sort(compare)
}

function tagOf(name: string): Json {
  return name in areas ? { name, description: areas[name] } : { name }
}

/** The areas of the interface, as a reader meets them. */
const areas: Readonly<Record<string, string>> = {
  account: 'The account of a signed-in user: its ledger of credits.',
  accounts: 'Accounts, their credits and keys, and who signs in for them.',
  audit: 'The log of what operators, members and the service did.',
  consent: 'What workers allow, and its history.',
  'api-keys': 'API keys of accounts.',
  credits: 'Credits of accounts, and the ledger.',
  'agent decisions': 'Reports of the decisions that agents make with candidate and score data.',
  candidates: 'Public candidates: search, profiles and their credentials.',
  credentials: 'Issued score credentials: their list, their revocation and their replacement.',
  disputes: 'Disputes of workers, and their outcomes.',
  discovery: 'Documents that describe this service: contract, keys, engine and errors.',
  engines: 'The engines that compute scores, and their recall.',
  evidence: 'The evidence that scores are computed from.',
  identity: 'Checks of the identity of workers.',
  members: 'Members of accounts.',
  operators: 'Tokens of the systems that call this API.',
  payments: 'x402 payments, their revenue, and those that need a decision.',
  reports: 'Reports of agent decisions, and the accounts that may send them.',
  sandbox: 'Fictional candidates, scores and credentials for development.',
  sources: 'Senders of evidence, and how far each is trusted.',
  'score credentials': 'Signed scores: their verification, their status and revocations.',
  scores: 'Public scores and their credentials.',
  'skill standard': 'The skills, their evidence and weights, score bands, terms and releases.',
  users: 'Developers who sign in with a browser, and invitations.',
  workers: 'Workers and their data.',
  webhooks: 'Endpoints that receive events, their deliveries, and the feed of events.',
}

function operationObject(operation: Operation, publish: (schema: object) => unknown): Json {
  const { operationId, area, summary, extension, body } = operation
  return {
    operationId,
    tags: [area],
    summary,
    ...(describe(operation) === '' ? {} : { description: describe(operation) }),
    ...(extension ? { 'x-extension': true } : {}),
    ...(operation.policy.kind === 'operator' && { 'x-errors': errorsOf(operation) }),
    security: securityOf(operation),
    ...admissionOf(operation),
    parameters: [
      ...parametersOf(operation.pathParameters, 'path', publish),
      ...parametersOf(operation.queryParameters, 'query', publish),
      ...headerParameters(operation),
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(body, publish) }),
    responses: responsesOf(operation, publish),
  }
}

/** The errors of an operator route stand in one list: its responses share one description. */
function errorsOf({ responses }: Operation): readonly string[] {
  return Object.values(responses).flatMap(({ errors = [] }) => errors)
}

function describe({ description, document, body }: Operation): string {
  const sentences = [description]
  if (document)
    sentences.push(
      'This is a public document: HEAD, If-None-Match (304), gzip and br are supported.',
    )
  if (body !== undefined) sentences.push(`The body has at most ${body.bytesMax} bytes.`)
  return sentences.filter((sentence) => sentence !== undefined).join(' ')
}

function parametersOf(
  schema: TObject | undefined,
  place: 'path' | 'query',
  publish: (schema: object) => unknown,
): Json[] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    // A number in a query is checked as text and published as a number.
    const { description, published, ...form }: Json = { ...property }
    const required = !('default' in property) && (schema?.required?.includes(name) ?? false)
    const parameter: Json = { name, in: place, required, schema: published ?? publish(form) }
    if (description !== undefined) parameter.description = description
    return parameter
  })
}

/**
 * Headers of HTTP itself, such as If-None-Match, are no parameters: a client library has them.
 */
function headerParameters({ idempotencyKey, policy }: Operation): Json[] {
  const names = policy.kind === 'operator' ? [] : ['ServiceVersion']
  if (idempotencyKey === 'required') names.push('IdempotencyKey')
  if (idempotencyKey === 'optional') names.push('OptionalIdempotencyKey')
  if ('meter' in policy) names.push('PurchaseKey')
  return names.map((name) => refTo('parameters', name))
}

function requestBody(
  { mediaTypes, schema, examples }: NonNullable<Operation['body']>,
  publish: (schema: object) => unknown,
): Json {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }])
  const content = { schema: publish(schema), examples: Object.fromEntries(named) }
  const contents = mediaTypes.map((type) => [type, type === csvType ? csvContent : content])
  return { required: true, content: Object.fromEntries(contents) }
}

const csvContent: Json = {
  schema: {
    type: 'string',
    description:
      'A header line with the names of the members, nested ones with dots (`terms.version`, `skills.0.name`), and a line for each object. An empty cell is an absent member.',
  },
}

function responsesOf(operation: Operation, publish: (schema: object) => unknown): Json {
  const responses: Record<string, unknown> = {}
  const isForOperators = operation.policy.kind === 'operator'
  for (const [status, response] of Object.entries(operation.responses))
    responses[status] =
      isForOperators && Number(status) >= 400
        ? refTo('responses', 'Refusal')
        : responseOf(operation, Number(status), { response, publish })
  if (operation.document)
    responses[304] = {
      description: 'The representation that If-None-Match names is current.',
      headers: answerHeaders(operation, 304),
    }
  responses.default = refTo('responses', 'Refusal')
  return responses
}

function responseOf(
  operation: Operation,
  status: number,
  { response, publish }: { response: ResponseDeclaration; publish: (schema: object) => unknown },
): Json {
  const { description, schema, contentType = 'application/json', example, errors } = response
  const content =
    schema === undefined
      ? {
          schema: errorBody(operation, status, publish),
          examples: refusalExamples(errors ?? valuesOf(status, operation)),
        }
      : { schema: publish(schema), ...(example === undefined ? {} : { example }) }
  return {
    description,
    headers: answerHeaders(operation, status),
    content: { [contentType]: content },
  }
}

/** An operation that takes payments shows the challenge. */
function errorBody({ policy }: Operation, status: number, publish: (schema: object) => unknown) {
  const error = refTo('schemas', 'ErrorResponse')
  return policy.kind === 'paid' && status === 402
    ? { oneOf: [error, publish(paymentChallenge)] }
    : error
}

function keyOf({ path, method }: Operation): string {
  return `${path} ${method}`
}

/** Compares by UTF-16 code units, so that the order does not depend on the machine's locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const key = { apiKey: [] }

function securityOf({ policy }: Operation): object[] {
  if (policy.kind === 'open' || policy.kind === 'page') return []
  if (policy.kind === 'optional-key') return [{}, key]
  if (policy.kind === 'session') return [{ session: [] }]
  if (policy.kind === 'operator') return [{ operatorToken: [] }]
  if (policy.kind === 'keyed') return [key]
  return [key, { payment: [] }, { paymentSignature: [] }]
}

/** Returns the facts that OpenAPI has no field for: scope, meter, price and limits. */
function admissionOf({ policy, credits }: Operation): Record<string, object> {
  if (policy.kind === 'open' || policy.kind === 'page') return {}
  if (policy.kind === 'session')
    return { 'x-rate-limits': { session: { perMinute: sessionLimits.perMinute } } }
  if (policy.kind === 'operator')
    return { 'x-rate-limits': { token: { perMinute: policy.limits.perMinute } } }
  const limits = { apiKey: policy.limits }
  return {
    'x-rate-limits':
      policy.kind === 'optional-key' ? { anonymous: policy.anonymous, ...limits } : limits,
    'x-api-key': {
      scope: policy.scope,
      ...('meter' in policy ? { meter: policy.meter, credits } : {}),
    },
  }
}
