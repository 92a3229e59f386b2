/**
 * Pure: the shared parts of all operations of the contract: error body, headers, authentication.
 */
import { idempotencyKeyPattern, type Operation } from '../edge/http/contract.ts'
import {
  creditsChargedHeader,
  creditsRemainingHeader,
  interfaceVersion,
  versionHeader,
} from '../edge/http/identifiers.ts'
import { type ErrorName, operatorErrorNames, publicErrorNames } from '../platform/errors.ts'
import { edgeRefusals, errorExamples, refusalExamples } from './openapi-schemas.ts'

type Kind = 'schemas' | 'parameters' | 'headers' | 'responses'

export function refTo(kind: Kind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` }
}

/** The closed error body. */
export const errorSchema = errorBodyOf(publicErrorNames)

export const operatorErrorSchema = errorBodyOf(operatorErrorNames)

function errorBodyOf(names: readonly ErrorName[]) {
  return {
    title: 'ErrorResponse',
    type: 'object',
    description: 'The body of every error.',
    required: ['error'],
    properties: {
      error: {
        type: 'string',
        maxLength: 64,
        'x-extensible-enum': names,
        description:
          'Names the error and does not change. New values can be added: treat an unknown one by its status.',
      },
      message: {
        type: 'string',
        minLength: 1,
        description: 'Explains the error to a developer. The text can change at any time.',
      },
      supported_version: {
        type: 'string',
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
        description: 'Only on version errors.',
      },
    },
    additionalProperties: false,
  }
}

/** Returns the headers that callers may rely on, by reference. */
export function answerHeaders(operation: Operation, status: number): Record<string, object> {
  const names: string[] = [versionHeader, 'X-Request-Id', 'Cache-Control']
  const { hasNextLink = false, hasScoreLinks = false } = operation.responses[status] ?? {}
  const isDocument = operation.document && (status === 200 || status === 304)
  if (isDocument) names.push('ETag')
  if (status >= 400) names.push('Link')
  if (isCounted(operation, status)) names.push('RateLimit', 'RateLimit-Policy')
  if ('meter' in operation.policy && (status === 200 || status === 402))
    names.push(creditsChargedHeader, creditsRemainingHeader)
  if (operation.policy.kind === 'paid' && status === 402) names.push('PAYMENT-REQUIRED')
  if (operation.policy.kind === 'paid' && (status === 200 || status === 402))
    names.push('PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE')
  if (status === 401) names.push('WWW-Authenticate')
  if (status === 429 || status === 503) names.push('Retry-After')
  const headers = Object.fromEntries(names.map((name) => [name, refTo('headers', name)]))
  const link = hasScoreLinks
    ? 'ScoreLinks'
    : hasNextLink
      ? 'NextLink'
      : isDocument
        ? 'DocumentLink'
        : null
  const hasScope = status === 403 && 'scope' in operation.policy
  return {
    ...headers,
    ...(link === null ? {} : { Link: refTo('headers', link) }),
    ...(hasScope ? { 'WWW-Authenticate': refTo('headers', 'ScopeChallenge') } : {}),
  }
}

/**
 * Returns whether an answer is or may be given after the call was counted (decision D18). The
 * handler of a keyed route may refuse with 403 as well.
 */
function isCounted({ policy }: Operation, status: number): boolean {
  if (policy.kind === 'open' || status === 401) return false
  if (status === 403) return policy.kind === 'keyed' || policy.kind === 'session'
  return policy.kind !== 'optional-key' || status !== 415
}

const text = { type: 'string' }

/** The cookie of a deployment with https. */
export const httpsSessionCookie = '__Host-session'

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', pattern: idempotencyKeyPattern },
}

export const fixedComponents = {
  responses: {
    Refusal: {
      description:
        'Errors of every path: an unknown path or method (405 with Allow), malformed HTTP, a request that is too slow or too large, or an overloaded service.',
      headers: {
        [versionHeader]: refTo('headers', versionHeader),
        'X-Request-Id': refTo('headers', 'X-Request-Id'),
        'Cache-Control': refTo('headers', 'Cache-Control'),
        Link: refTo('headers', 'Link'),
        'Retry-After': refTo('headers', 'Retry-After'),
      },
      content: {
        'application/json': {
          schema: refTo('schemas', 'ErrorResponse'),
          examples: refusalExamples(edgeRefusals),
        },
      },
    },
  },
  examples: errorExamples(publicErrorNames),
  parameters: {
    ServiceVersion: {
      name: versionHeader,
      in: 'header',
      required: false,
      description: 'The version of the interface; the default when absent.',
      schema: { type: 'string', enum: [interfaceVersion], default: interfaceVersion },
    },
    IdempotencyKey: {
      ...idempotencyKey,
      required: true,
      description:
        'Names this request: a repeat under the same key is not done twice, and other content under it is refused.',
    },
    OptionalIdempotencyKey: {
      ...idempotencyKey,
      required: false,
      description:
        'Names this request: a repeat under the same key is not done twice, and other content under it is refused.',
    },
    PurchaseKey: {
      ...idempotencyKey,
      required: false,
      description: 'Names this purchase: the same request under the same key is charged once.',
    },
  },
  headers: {
    [creditsChargedHeader]: {
      description: 'For callers with a key: whole credits that this call cost; 0 on 402.',
      schema: { type: 'string', pattern: '^\\d+$' },
    },
    [creditsRemainingHeader]: {
      description: 'For callers with a key: the credits of their account after this call.',
      schema: { type: 'string', pattern: '^\\d+$' },
    },
    'PAYMENT-REQUIRED': {
      description:
        'The challenge, in base64: for callers without a key, if this deployment takes payments.',
      schema: text,
    },
    'PAYMENT-RESPONSE': {
      description: 'The receipt of a settled payment, or why one was refused, in base64.',
      schema: text,
    },
    'X-PAYMENT-RESPONSE': {
      description: 'The same as PAYMENT-RESPONSE, for older clients.',
      schema: text,
    },
    [versionHeader]: {
      description: 'The version that the answer speaks.',
      required: true,
      schema: { type: 'string', const: interfaceVersion },
    },
    'X-Request-Id': {
      description: 'Names the request in the logs of the operator.',
      required: true,
      schema: text,
    },
    'Cache-Control': {
      description: 'public with max-age for documents, private and no-store for all else.',
      required: true,
      schema: text,
    },
    ETag: {
      description: 'Strong; another one for each encoding.',
      required: true,
      schema: { type: 'string', pattern: '^"[^"]+"$' },
    },
    Link: {
      description: 'On errors the explanation, with rel="help".',
      required: true,
      schema: text,
    },
    NextLink: {
      description:
        'With rel="next" the address of the next page of the list. Absent on the last page.',
      schema: text,
    },
    ScoreLinks: {
      description:
        'With rel="related" the public score of the candidate, with rel="describedby" its credential. Absent if no score is public.',
      schema: text,
    },
    DocumentLink: {
      description:
        'Other forms of the document with rel="alternate", and other versions of it with rel="predecessor-version", rel="successor-version" or rel="latest-version".',
      schema: text,
    },
    'Retry-After': {
      description: 'Seconds after which a retry is worth it. Always there on 429.',
      schema: { type: 'string', pattern: '^[1-9]\\d*$' },
    },
    'WWW-Authenticate': {
      description: 'How a caller may name itself.',
      required: true,
      schema: text,
    },
    ScopeChallenge: {
      description: 'Names the scope that the key lacks (RFC 6750). Absent if it lacks none.',
      schema: text,
    },
    RateLimit: {
      description:
        'For limited callers: the remaining calls (r), and the seconds until more are available (t).',
      schema: text,
    },
    'RateLimit-Policy': {
      description: 'For limited callers: the limits, as calls (q) in a window of seconds (w).',
      schema: text,
    },
  },
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description: 'Authorization: Bearer <API_KEY>. A key that is presented is never ignored.',
    },
    operatorToken: {
      type: 'http',
      scheme: 'bearer',
      description: 'Authorization: Bearer <OPERATOR_TOKEN>. API keys and sessions are refused.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: httpsSessionCookie,
      description:
        'The session of a signed-in browser. A request that changes something must come from a page of this service. An Authorization header is ignored.',
    },
    payment: {
      type: 'apiKey',
      in: 'header',
      name: 'X-PAYMENT',
      description: 'A signed x402 payment in base64, on a retry after 402.',
    },
    paymentSignature: {
      type: 'apiKey',
      in: 'header',
      name: 'PAYMENT-SIGNATURE',
      description: 'The same, as version 2 of the protocol names it.',
    },
  },
}

export const operatorComponents = {
  ...fixedComponents,
  examples: errorExamples(operatorErrorNames),
}
