/**
 * Finds the route of a request. find-my-way matches and decodes the path; methods, bodies, errors
 * and headers are handled here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import findMyWay from 'find-my-way'
import { refuse } from '../platform/errors.ts'
import type { HeaderSets } from './headers.ts'
import type { Answer } from './http/endpoint.ts'
import type { Parameters } from './parameters.ts'
import type { RequestContext, Route } from './request-context.ts'
import { answersHead, type PathRoutes, routerPath } from './routes.ts'
import { type Edge, serveAnswer, serveEndpoint, servePublic } from './serve.ts'

export type Router = (request: IncomingMessage, response: ServerResponse) => void

export interface RouterOptions {
  edge: Edge
  sets: HeaderSets
  paths: readonly PathRoutes[]
  /** The route of paths that match nothing. */
  unmatched: Route
  /** Probes outside the contract. They are answered with any version header and under any load. */
  probes: readonly { route: Route; answer: () => Answer | Promise<Answer> }[]
  open: (request: IncomingMessage, response: ServerResponse, route: Route) => RequestContext
  /** Whether operator routes exist for this request. For others they are unknown paths. */
  isFromOperator: (request: IncomingMessage) => boolean
}

type Handler = (request: IncomingMessage, response: ServerResponse, path: Parameters) => void

export function createRouter(options: RouterOptions): Router {
  const { edge, unmatched, open, probes } = options
  // The schemas reject parameters longer than this. The query is parsed strictly later, and only if
  // an endpoint is reached.
  const found = findMyWay({ maxParamLength: 16_384, querystringParser: () => ({}) })
  // All methods of a path share one entry, so that a wrong method gets the list of the right ones.
  const answerUnmatched: Handler = (request, response) => {
    const context = open(request, response, unmatched)
    servePublic(edge, context, () => edge.writer.answer(context, refuse('not_found')))
  }
  for (const path of options.paths) {
    const handler = byMethod(pathHandlers(options, path))
    const forOperators: typeof handler = (request, response, parameters) =>
      options.isFromOperator(request)
        ? handler(request, response, parameters)
        : answerUnmatched(request, response, {})
    found.on('GET', routerPath(path.path), path.other.isOperator ? forOperators : handler)
  }
  for (const { route, answer } of probes)
    found.on('GET', route.path, byMethod(probeHandlers(options, route, answer)))
  const everyMethod = [...new Set(options.paths.flatMap(({ allow }) => allow.split(', ')))].sort()
  const allow = ['Allow', everyMethod.join(', ')]
  return (request, response) => {
    // `OPTIONS *` asks for the server as a whole (RFC 9110 §9.3.7).
    if (request.url === '*') {
      const context = open(request, response, unmatched)
      servePublic(edge, context, () => edge.writer.empty(context, allow))
      return
    }
    const match = found.find('GET', request.url ?? '')
    if (match === null) answerUnmatched(request, response, {})
    else match.handler(request, response, match.params, undefined, {})
  }
}

interface PathHandlers {
  methods: ReadonlyMap<string, Handler>
  other: Handler
}

function byMethod({ methods, other }: PathHandlers) {
  return (request: IncomingMessage, response: ServerResponse, path: Record<string, unknown>) =>
    (methods.get(request.method ?? '') ?? other)(request, response, path as Parameters)
}

function pathHandlers({ edge, sets, open }: RouterOptions, path: PathRoutes): PathHandlers {
  const methods = new Map<string, Handler>()
  for (const route of path.endpoints) {
    const handler: Handler = (request, response, parameters) =>
      serveEndpoint(edge, route, open(request, response, route), parameters)
    methods.set(route.endpoint.method, handler)
    if (answersHead(route.endpoint)) methods.set('HEAD', handler)
  }
  // Routes for pages of our own origin grant other origins nothing.
  const granted = path.other.isSameOrigin
    ? []
    : ['Access-Control-Allow-Methods', path.allow, ...sets.preflight]
  methods.set('OPTIONS', (request, response) => {
    const context = open(request, response, path.other)
    const headers = ['Allow', path.allow, ...granted]
    servePublic(edge, context, () => edge.writer.empty(context, headers))
  })
  return { methods, other: wrongMethod({ edge, open }, path.other, path.allow) }
}

function probeHandlers(
  { edge, open }: RouterOptions,
  route: Route,
  answer: () => Answer | Promise<Answer>,
): PathHandlers {
  const handler: Handler = (request, response) =>
    serveAnswer(edge, open(request, response, route), answer())
  const methods = new Map([
    ['GET', handler],
    ['HEAD', handler],
  ])
  return { methods, other: wrongMethod({ edge, open }, route, 'GET, HEAD') }
}

function wrongMethod(
  { edge, open }: Pick<RouterOptions, 'edge' | 'open'>,
  route: Route,
  allow: string,
): Handler {
  const refusal = refuse('method_not_allowed', { headers: { Allow: allow } })
  return (request, response) => {
    const context = open(request, response, route)
    servePublic(edge, context, () => edge.writer.answer(context, refusal))
  }
}
