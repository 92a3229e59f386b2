/**
 * Routes on fastify. It finds the route and decodes its parameters; bodies, errors and headers are ours, for its defaults differ
 * from the specification (it coerces, it strips, it answers 404 for 405 and 414 for a long path).
 */
import { type IncomingMessage, METHODS, type Server, type ServerResponse } from 'node:http'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Answer } from '../platform/endpoint.ts'
import { refuse } from '../platform/errors.ts'
import type { Exchange, Route } from './exchange.ts'
import type { HeaderSets } from './headers.ts'
import type { Parameters } from './parameters.ts'
import { answersHead, type PathRoutes, routerPath } from './routes.ts'
import { type Edge, serveAnswer, serveEndpoint } from './serve.ts'

export type Router = (request: IncomingMessage, response: ServerResponse) => void

export interface RouterOptions {
  edge: Edge
  sets: HeaderSets
  paths: readonly PathRoutes[]
  /** For what no path matches. */
  unmatched: Route
  /** Outside the contract: answered whatever the version or the load. */
  probes: readonly { route: Route; answer: () => Answer | Promise<Answer> }[]
  open: (request: IncomingMessage, response: ServerResponse, route: Route) => Exchange
  /** Given the router, makes the server. */
  serverFor: (router: Router) => Server
}

/** CONNECT never reaches a router. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Resolves `ready` before the first request. */
export function createRouter(options: RouterOptions): {
  server: Server
  ready: () => Promise<void>
} {
  const { edge, unmatched, open } = options
  const app = fastify({
    serverFactory: options.serverFor,
    // Ours is set where the server is made.
    clientErrorHandler: () => {},
    frameworkErrors: (_error, request, reply) =>
      edge.writer.answer(open(request.raw, reply.hijack().raw, unmatched), refuse('bad_request')),
    genReqId: () => '',
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // The query is read strictly and only where an endpoint is reached.
    routerOptions: { maxParamLength: 16_384, querystringParser: () => ({}) },
  })
  // No method has a body as far as fastify is concerned: what arrives is read by `body.ts`.
  for (const method of methods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  for (const path of options.paths) addPath(app, options, path)
  for (const { route, answer } of options.probes)
    app.route({
      method: ['GET', 'HEAD'],
      url: route.path,
      handler: (request, reply) =>
        serveAnswer(edge, open(request.raw, reply.hijack().raw, route), answer()),
    })
  app.setNotFoundHandler((request, reply) =>
    edge.writer.answer(open(request.raw, reply.hijack().raw, unmatched), refuse('not_found')),
  )
  const ready = async (): Promise<void> => {
    await app.ready()
  }
  return { server: app.server, ready }
}

function addPath(
  app: FastifyInstance,
  { edge, sets, open }: RouterOptions,
  path: PathRoutes,
): void {
  const url = routerPath(path.path)
  const taken = ['OPTIONS']
  for (const route of path.endpoints) {
    const { method } = route.endpoint
    const own = answersHead(route.endpoint) ? [method, 'HEAD'] : [method]
    taken.push(...own)
    app.route({
      method: own,
      url,
      handler: (request: FastifyRequest, reply: FastifyReply) => {
        const exchange = open(request.raw, reply.hijack().raw, route)
        serveEndpoint(edge, route, exchange, request.params as Parameters)
      },
    })
  }
  const preflight = ['Allow', path.allow, 'Access-Control-Allow-Methods', path.allow]
  app.route({
    method: 'OPTIONS',
    url,
    handler: (request, reply) => {
      const exchange = open(request.raw, reply.hijack().raw, path.other)
      edge.writer.empty(exchange, [...preflight, ...sets.preflight])
    },
  })
  const wrongMethod = refuse('method_not_allowed', { headers: { Allow: path.allow } })
  app.route({
    method: methods.filter((method) => !taken.includes(method)),
    url,
    handler: (request, reply) =>
      edge.writer.answer(open(request.raw, reply.hijack().raw, path.other), wrongMethod),
  })
}
