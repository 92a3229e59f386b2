/** Pure: what all operations of the contract share: the error body, headers, and how a caller names itself. */
import type { Endpoint } from '../platform/endpoint.ts'
import { interfaceVersion, versionHeader } from '../platform/identifiers.ts'
import { edgeRefusals, errorExamples, refusalExamples } from './openapi-errors.ts'

type Kind = 'schemas' | 'parameters' | 'headers' | 'responses'

export function refTo(kind: Kind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` }
}

/** The closed error body of spec §2.1. */
export const errorSchema = {
  title: 'Error',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'string',
      description: 'Which error; the examples show the values. New values can be added.',
    },
    message: { type: 'string', description: 'For people; may change at any time.' },
    supported_version: {
      type: 'string',
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'Only on version errors.',
    },
  },
  additionalProperties: false,
}

/** The headers of an answer that callers may rely on, by reference. */
export function answerHeaders(endpoint: Endpoint, status: number): Record<string, object> {
  const names: string[] = [versionHeader, 'X-Request-Id', 'Cache-Control']
  if (endpoint.document && (status === 200 || status === 304)) names.push('ETag')
  if (status >= 400) names.push('Link')
  if (endpoint.policy.kind !== 'open' && countedStatuses.has(status))
    names.push('RateLimit', 'RateLimit-Policy')
  if (status === 401) names.push('WWW-Authenticate')
  if (status === 429 || status === 503) names.push('Retry-After')
  return Object.fromEntries(names.map((name) => [name, refTo('headers', name)]))
}

/** Answers given after the call was counted (decision D18). */
const countedStatuses = new Set([200, 400, 413, 429, 500, 503])

const text = { type: 'string' }

export const fixedComponents = {
  responses: {
    Refusal: {
      description:
        'What any path can answer: no such path or method (405 with Allow), a request that is not sound HTTP, came too slowly or is too large, an overloaded service.',
      headers: {
        [versionHeader]: refTo('headers', versionHeader),
        'X-Request-Id': refTo('headers', 'X-Request-Id'),
        'Cache-Control': refTo('headers', 'Cache-Control'),
        Link: refTo('headers', 'Link'),
        'Retry-After': refTo('headers', 'Retry-After'),
      },
      content: {
        'application/json': {
          schema: refTo('schemas', 'Error'),
          examples: refusalExamples(edgeRefusals),
        },
      },
    },
  },
  examples: errorExamples(),
  parameters: {
    ServiceVersion: {
      name: versionHeader,
      in: 'header',
      required: false,
      description: 'The version of the interface; the default when absent.',
      schema: { type: 'string', enum: [interfaceVersion], default: interfaceVersion },
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description: 'The ETag of a representation the caller holds: 304 while it is current.',
      schema: text,
    },
    AcceptEncoding: {
      name: 'Accept-Encoding',
      in: 'header',
      required: false,
      description: 'gzip and br are served where they make the answer smaller.',
      schema: text,
    },
  },
  headers: {
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
    'Retry-After': {
      description: 'Seconds after which a retry is worth it. Always there on 429.',
      schema: { type: 'string', pattern: '^[1-9]\\d*$' },
    },
    'WWW-Authenticate': {
      description: 'How a caller may name itself.',
      required: true,
      schema: text,
    },
    RateLimit: {
      description: 'For anonymous callers: what is left (r) and seconds until more is (t).',
      schema: text,
    },
    'RateLimit-Policy': {
      description: 'For anonymous callers: the limits, calls (q) in a window of seconds (w).',
      schema: text,
    },
  },
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description: 'Authorization: Bearer <API_KEY>. A key that is presented is never ignored.',
    },
  },
}
