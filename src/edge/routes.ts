/**
 * Converts declarations to routes. A fault in a declaration stops the service at its start and
 * never reaches a caller.
 */
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Endpoint } from './http/endpoint.ts'
import { type ParameterCheck, parameterCheck } from './parameters.ts'
import type { EndpointRoute, Route } from './request-context.ts'

export interface PathRoutes {
  /** The declared path, with `{name}` for each parameter. */
  path: string
  endpoints: EndpointRoute[]
  /** The route of requests that reach no endpoint of this path: preflight and wrong methods. */
  other: Route
  /** All methods of the path, in the form of the Allow header. */
  allow: string
}

/** Throws an error that lists every fault of every declaration. */
export function pathRoutes(endpoints: readonly Endpoint[], metrics: Metrics): PathRoutes[] {
  const faults = endpoints.flatMap(faultsOf)
  faults.push(...repeated(endpoints.map(({ operationId }) => `operationId ${operationId}`)))
  faults.push(...repeated(endpoints.map(({ method, path }) => `route ${method} ${path}`)))
  if (faults.length > 0) throw new Error(`endpoint declarations:\n${faults.join('\n')}`)
  const byPath = Map.groupBy(endpoints, ({ path }) => path)
  return [...byPath].map(([path, declared]) => ({
    path,
    endpoints: declared.map((endpoint) => endpointRoute(endpoint, metrics)),
    other: {
      path,
      meter: metrics.route(`OTHER ${path}`),
      isSameOrigin: declared.every(isSameOrigin),
      isOperator: declared.every(isForOperators),
      refusalPage: declared.find(({ refusalPage }) => refusalPage !== undefined)?.refusalPage,
      isNegotiated: true,
    },
    allow: allowed(declared).join(', '),
  }))
}

/**
 * Returns whether the endpoint answers HEAD. On a paid read, HEAD would reveal for free whether
 * something exists (decision D9).
 */
export function answersHead({ method, policy }: Endpoint): boolean {
  return method === 'GET' && (policy.kind === 'open' || policy.kind === 'page')
}

function isSameOrigin({ policy }: Endpoint): boolean {
  return policy.kind === 'session' || policy.kind === 'page' || policy.kind === 'operator'
}

/** Converts `{name}` to the syntax of the router. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Whether the route exists only for the operator's networks. */
function isForOperators({ policy }: Endpoint): boolean {
  return policy.kind === 'operator' || (policy.kind === 'session' && policy.isConsole === true)
}

function endpointRoute(endpoint: Endpoint, metrics: Metrics): EndpointRoute {
  return {
    path: endpoint.path,
    meter: metrics.route(`${endpoint.method} ${endpoint.path}`),
    isSameOrigin: isSameOrigin(endpoint),
    isKeyed: endpoint.policy.kind === 'keyed',
    refusalPage: endpoint.refusalPage,
    isNegotiated: endpoint.policy.kind === 'open',
    endpoint,
    checkPath: checkOf(endpoint, 'path'),
    checkQuery: checkOf(endpoint, 'query'),
  }
}

/** Operations check their parameters themselves. */
function checkOf(endpoint: Endpoint, place: 'path' | 'query'): ParameterCheck {
  if (isForOperators(endpoint)) return (values) => values
  const { pathParameters, queryParameters } = endpoint
  return parameterCheck(place === 'path' ? pathParameters : queryParameters, place)
}

function allowed(endpoints: readonly Endpoint[]): string[] {
  const methods = endpoints.flatMap((endpoint) =>
    answersHead(endpoint) ? [endpoint.method, 'HEAD'] : [endpoint.method],
  )
  return [...methods, 'OPTIONS']
}

/**
 * Returns the faults of a declaration. It may come from untyped code, so `policy` is checked
 * although its type requires it.
 */
function faultsOf(endpoint: Endpoint): string[] {
  const { operationId, method, path, body } = endpoint
  const policy: Endpoint['policy'] | undefined = endpoint.policy
  const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)
  const described = Object.keys(endpoint.pathParameters?.properties ?? {})
  const faults: string[] = []
  if (policy === undefined) faults.push('has no policy')
  if (path !== '/' && !/^(\/([\w.-]+|\{\w+\}))+$/.test(path))
    faults.push(`has an unusable path ${path}`)
  for (const name of named)
    if (!described.includes(name)) faults.push(`has no schema for path parameter ${name}`)
  for (const name of described)
    if (!named.includes(name)) faults.push(`describes ${name}, which is not in its path`)
  if (endpoint.idempotencyKey === 'required' && policy?.kind !== 'keyed')
    faults.push('requires an Idempotency-Key without being keyed')
  const mayTakeKey = policy?.kind === 'session' || policy?.kind === 'operator'
  if (endpoint.idempotencyKey === 'optional' && !mayTakeKey)
    faults.push('takes an optional Idempotency-Key without a session or an operator token')
  const showsRefusals = endpoint.refusalPage !== undefined
  const mayBePage = policy?.kind === 'session' || policy?.kind === 'open'
  if (policy?.kind === 'page' ? !showsRefusals : showsRefusals && !mayBePage)
    faults.push('must show refusals as a page exactly if it is a page')
  if ((method === 'POST') !== (body !== undefined)) faults.push('must have a body exactly if POST')
  return faults.map((fault) => `${operationId} ${fault}`)
}

function repeated(names: readonly string[]): string[] {
  return names.filter((name, i) => names.indexOf(name) !== i).map((name) => `${name} occurs twice`)
}
