/**
 * Serves one request: it waits for a slot of its gate, is handled, and gets one response. A failure
 * becomes a 500 or 503.
 */
import type { Refusal } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { addStep, inSpan } from '../platform/observability/tracing.ts'
import type { Gate } from './gate.ts'
import { gateOf } from './gates.ts'
import { type HandleOptions, handleRequest } from './handle.ts'
import type { Answer } from './http/endpoint.ts'
import type { Parameters } from './parameters.ts'
import { refusalOf } from './refusals.ts'
import { beginBody } from './request-body.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'
import { closeRequest, enterGate } from './slot.ts'
import type { Writer } from './write.ts'

/** The parts of the server that a request meets. */
export interface Edge extends HandleOptions {
  writer: Writer
  log: Log
}

/** Serves a request to an endpoint. `path` holds the path parameters, percent-decoded. */
export function serveEndpoint(
  edge: Edge,
  route: EndpointRoute,
  context: RequestContext,
  path: Parameters,
): void {
  const { endpoint } = route
  context.body = beginBody(edge, endpoint, context)
  serve(edge, context, gateOf(edge.gates, endpoint, context), () => {
    let answer: Answer | Promise<Answer | null>
    try {
      answer = handleRequest(edge, route, context, path)
    } catch (error) {
      answer = unexpected(edge, context, error)
    }
    serveAnswer(edge, context, answer)
  })
}

/**
 * Serves a response that needs no other part, such as a 404, with the priority of public documents.
 */
export function servePublic(edge: Edge, context: RequestContext, answer: () => void): void {
  serve(edge, context, edge.gates.public, () => {
    closeRequest(edge, context)
    answer()
  })
}

/** Starts a request once its gate has room, or rejects it. */
function serve(edge: Edge, context: RequestContext, gate: Gate, start: () => void): void {
  enterGate(edge, context, gate, {
    start() {
      addStep(context.span, 'started')
      // The gate starts a request that waited in the turn of another one.
      inSpan(context.span, start)
    },
    refuse(refusal) {
      closeRequest(edge, context)
      write(edge, context, refusal)
    },
    leave() {
      closeRequest(edge, context)
      recordGone(edge, context)
    },
  })
}

/**
 * Writes a response, now or once it resolves. Null means that the caller is gone. A rejection
 * becomes a 500 or 503.
 */
export function serveAnswer(
  edge: Edge,
  context: RequestContext,
  answer: Answer | Promise<Answer | null>,
): void {
  if (answer instanceof Promise) {
    void serveLater(edge, context, answer)
    return
  }
  closeRequest(edge, context)
  write(edge, context, answer)
}

async function serveLater(
  edge: Edge,
  context: RequestContext,
  answering: Promise<Answer | null>,
): Promise<void> {
  edge.pending.add(context)
  let answer: Answer | null
  try {
    answer = await answering
  } catch (error) {
    answer = unexpected(edge, context, error)
  }
  closeRequest(edge, context)
  if (answer !== null) write(edge, context, answer)
  else recordGone(edge, context)
}

function write(edge: Edge, context: RequestContext, answer: Answer): void {
  try {
    edge.writer.answer(context, answer)
  } catch (error) {
    edge.log.error('an answer could not be written', error, { requestId: context.requestId })
    context.response.destroy()
  }
}

function recordGone({ writer }: Edge, context: RequestContext): void {
  if (!context.answered) writer.record(context, clientClosedRequest)
}

/** Logged and counted, never sent: the caller left before it got a response. */
const clientClosedRequest = 499

function unexpected(edge: Edge, context: RequestContext, error: unknown): Refusal {
  const refusal = refusalOf(error)
  const fields = { requestId: context.requestId, route: context.route.path }
  if (refusal.refusal === 'internal_error') edge.log.error('an endpoint failed', error, fields)
  else edge.log.warn('an endpoint is not available', { ...fields, why: String(error) })
  return context.failure ?? refusal
}
