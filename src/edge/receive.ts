/**
 * Receives requests from Node's HTTP server. A request waits for the responses before it on its
 * connection, its head is checked, and the router finds its route. Data that is not HTTP gets its
 * refusal on the wire.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { Connections } from './connections.ts'
import type { FormerOrigins } from './former-origins.ts'
import type { HeaderSets } from './headers.ts'
import type { RequestContext, Route } from './request-context.ts'
import { acceptAbsoluteForm, requestProblem } from './request-head.ts'
import { enqueueRequest } from './request-queue.ts'
import type { Router } from './router.ts'
import { type Edge, servePublic } from './serve.ts'
import { refusalOfParserError, wireErrorWriter } from './wire-errors.ts'

export interface ReceiveOptions {
  edge: Edge
  sets: HeaderSets
  connections: Connections
  router: Router
  /** The route of requests that match no path. */
  unmatched: Route
  ownHosts: FormerOrigins
  open: OpenRequest
  requestIds: () => string
  /** Requests of one connection whose responses have not left. One more closes it. */
  unansweredMax: number
  /** Called when a connection is closed because it has too many unanswered requests. */
  onOverdrawn(): void
}

/** Creates the context of a request whose route is known. */
export type OpenRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
) => RequestContext

export function receiveFrom(server: HttpServer, options: ReceiveOptions): void {
  const { edge, connections, router, unmatched, ownHosts, open } = options

  function receive(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const { socket } = request
    // After a connection is closed, the parser still reads the bytes that had arrived.
    if (socket.destroyed) return
    const connection = connections.of(socket)
    if (connection.queue.length < options.unansweredMax) {
      enqueueRequest(connection, request, response, begin)
      return
    }
    // Each of them takes memory.
    options.onOverdrawn()
    socket.destroy()
  }

  function refuseRequest(request: IncomingMessage, response: ServerResponse, refusal: Refusal) {
    const context = open(request, response, unmatched)
    servePublic(edge, context, () => edge.writer.answer(context, refusal))
  }

  const handle: Router = (request, response) =>
    receive(request, response, () => {
      acceptAbsoluteForm(request, (host) => ownHosts.has(host))
      const problem = requestProblem(request)
      if (problem === null) router(request, response)
      else refuseRequest(request, response, problem)
    })
  const refuseOnWire = wireErrorWriter({
    sets: options.sets,
    connectionOf: connections.of,
    unread: (connection) => ({
      method: '',
      route: unmatched,
      connection,
      client: connection.peer,
      requestId: options.requestIds(),
      callerRequestId: undefined,
      startedAt: performance.now(),
      logged: null,
      answered: false,
    }),
    record: edge.writer.record,
  })
  server
    .on('connection', connections.opened)
    .on('request', handle)
    .on('checkContinue', handle)
    .on('checkExpectation', (request, response) =>
      receive(request, response, () =>
        refuseRequest(request, response, refuse('expectation_failed')),
      ),
    )
    .on('connect', (_request, socket) => refuseOnWire(socket as Socket, refuse('bad_request')))
    .on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      if (isLate && connections.of(socket as Socket).current?.isStreamed) return
      refuseOnWire(socket as Socket, refusalOfParserError(error.code))
    })
}
