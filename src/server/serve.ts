/**
 * Checks one request to a declared endpoint in the order of decision D18, after the gate of its
 * priority and the version:
 * - open: [media type → size → JSON →] parameters → work
 * - optional key: media type → key → scope → rate limit → [Idempotency-Key →] size → JSON →
 *   parameters → credits → work → charge
 * - keyed: key → scope → rate limit → Idempotency-Key → [media type → size → JSON →] parameters →
 *   work
 * - paid: key → scope → rate limit → Idempotency-Key → parameters → credits → work → charge
 * - paid, without a key: Idempotency-Key → parameters → challenge or payment
 * - page: same origin → rate limit → media type → size → form → parameters → work; a refusal is a
 *   page
 * - session: same origin → version → session → rate limit → [Idempotency-Key →] [media type → size
 *   → JSON →] parameters → work
 */
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../platform/http/callers.ts'
import { formType, type Priority } from '../platform/http/contract.ts'
import { type Answer, anybody, type Endpoint, type Visitor } from '../platform/http/endpoint.ts'
import { type Refusal, refuse } from '../platform/http/errors.ts'
import { interfaceVersion, versionHeader } from '../platform/http/identifiers.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import type { Log } from '../platform/observability/log.ts'
import { type AdmitParts, type Admitted, admit, idempotencyKeyOf } from './admit.ts'
import { type Body, type BodyReading, hasBody, readBody } from './body.ts'
import { type FormerOrigins, formerOriginOf } from './former-origins.ts'
import { type Gate, retryAfterSeconds } from './gate.ts'
import { mediaTypeFault } from './media-type.ts'
import type { OpenBodies } from './open-bodies.ts'
import { isRefusal, type Parameters, queryOf } from './parameters.ts'
import { answerAdmitted, type PayParts, proveByCharge } from './pay.ts'
import { parseQuery } from './query.ts'
import { refusalOf } from './refusals.ts'
import type { EndpointRoute, RequestContext } from './request-context.ts'
import { isFromOwnOrigin } from './same-origin.ts'
import { isTooLate } from './turn.ts'
import type { Writer } from './write.ts'

/** The parts of the server that the checks use. */
export interface Edge extends AdmitParts, PayParts {
  writer: Writer
  log: Log
  /**
   * Origin of the pages that may send a request which changes something (decision D49), such as
   * `https://scores.example.org`.
   */
  origin: string
  formerOrigins: FormerOrigins
  gates: Gates
  bodies: OpenBodies
  /** Returns the lane in which the requests of a client wait. */
  lane(context: RequestContext): string
  /** Requests that wait or are in progress, for their deadline and for the drain. */
  pending: Set<RequestContext>
}

/**
 * Payments have their own gate: they wait seconds for a facilitator and a chain, and must not take
 * the slots of reads by key.
 */
export type Gates = Readonly<Record<Priority | 'payment', Gate>>

/** Serves a request to an endpoint. `path` holds the path parameters, percent-decoded. */
export function serveEndpoint(
  edge: Edge,
  route: EndpointRoute,
  context: RequestContext,
  path: Parameters,
): void {
  const { endpoint } = route
  context.body = bodyReading(edge, endpoint, context)
  serve(edge, context, gateOf(edge, endpoint, context), () =>
    answerNow(edge, context, () => decide(edge, route, context, path)),
  )
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

function gateOf(
  { gates }: Edge,
  { policy, priority }: Endpoint,
  { request: { headers } }: RequestContext,
): Gate {
  const paysOnTheSpot =
    policy.kind === 'paid' &&
    headers.authorization === undefined &&
    (headers['x-payment'] ?? headers['payment-signature']) !== undefined
  return gates[paysOnTheSpot ? 'payment' : priority]
}

/** Reads the body while the request waits, so that a slow body never holds a slot. */
function bodyReading(edge: Edge, { body }: Endpoint, context: RequestContext): BodyReading | null {
  const { request } = context
  if (body === undefined) {
    // An unread body would take memory for as long as the request waits.
    if (hasBody(request)) request.resume()
    return null
  }
  const room = { bytesMax: body.bytesMax, bodies: edge.bodies, network: edge.lane(context) }
  const reading = readBody(request, room)
  if (!awaitsContinue(request)) reading.start()
  return reading
}

function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0'
}

/** Starts a request once its gate has room, or rejects it. */
function serve(edge: Edge, context: RequestContext, gate: Gate, start: () => void): void {
  pass(edge, context, gate, {
    start,
    refuse() {
      closeRequest(edge, context)
      write(edge, context, overloaded(context))
    },
    gone() {
      closeRequest(edge, context)
      recordGone(edge, context)
    },
  })
}

interface Passing {
  start(): void
  refuse(): void
  /** Called if the caller closes its connection. */
  gone(): void
}

function pass(edge: Edge, context: RequestContext, gate: Gate, passing: Passing): void {
  const { socket } = context.connection
  let isHeld = false
  const leave = (): void => {
    context.place?.leave()
    passing.gone()
  }
  const place = gate.enter(edge.lane(context), {
    start(started) {
      context.place = started
      if (isHeld) socket.off('close', leave)
      passing.start()
    },
    refuse() {
      socket.off('close', leave)
      passing.refuse()
    },
  })
  isHeld = place.isWaiting()
  if (!isHeld) return
  context.place = place
  openRequest(edge, context)
  socket.once('close', leave)
}

function overloaded({ route }: RequestContext): Refusal {
  route.meter.shed++
  const seconds = String(retryAfterSeconds(Math.random()))
  return refuse('overloaded', { headers: { 'Retry-After': seconds } })
}

function answerNow(
  edge: Edge,
  context: RequestContext,
  decide: () => Answer | Promise<Answer | null>,
): void {
  let answer: Answer | Promise<Answer | null>
  try {
    answer = decide()
  } catch (error) {
    answer = unexpected(edge, context, error)
  }
  serveAnswer(edge, context, answer)
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
    void finish(edge, context, answer)
    return
  }
  closeRequest(edge, context)
  write(edge, context, answer)
}

/** Registers a request that takes more than this turn of the event loop. */
function openRequest({ pending }: Edge, context: RequestContext): void {
  if (pending.has(context)) return
  pending.add(context)
  context.connection.latest = context
}

/**
 * Frees everything that the request holds, before its response is written. A second call has no
 * effect.
 */
export function closeRequest({ pending }: Pick<Edge, 'pending'>, context: RequestContext): void {
  const { connection, place, body } = context
  pending.delete(context)
  if (connection.latest === context) connection.latest = null
  place?.leave()
  body?.release()
}

function write(edge: Edge, context: RequestContext, answer: Answer): void {
  try {
    edge.writer.answer(context, answer)
  } catch (error) {
    edge.log.error('an answer could not be written', error, { requestId: context.requestId })
    context.response.destroy()
  }
}

function decide(
  edge: Edge,
  route: EndpointRoute,
  context: RequestContext,
  path: Parameters,
): Answer | Promise<Answer | null> {
  const { endpoint } = route
  if (route.isSameOrigin && !isFromOwnOrigin(context.request, edge.origin))
    return refuse('cross_origin')
  const version = versionProblem(context)
  if (version !== null) return version
  // A public document is answered in this turn of the event loop.
  if (endpoint.policy.kind === 'open' && endpoint.body === undefined) {
    const parameters = parametersOf(route, context, path)
    return isRefusal(parameters)
      ? parameters
      : endpoint.answer({
          path: parameters.path,
          query: parameters.query,
          body: null,
          bodyAmbiguity: null,
          caller: anybody.caller,
          visitor: null,
          idempotencyKey: null,
          requestId: context.requestId,
          formerOrigin: formerOriginOf(edge.formerOrigins, context.request.headers.host),
        })
  }
  return checked(edge, route, context, path)
}

function versionProblem({ request }: RequestContext): Refusal | null {
  const version = request.headers[versionField]
  return version === undefined || version === interfaceVersion
    ? null
    : refuse('unsupported_version')
}

const versionField = versionHeader.toLowerCase()

const noBody = { body: null, bodyAmbiguity: null }

interface BodyRead {
  body: unknown
  bodyAmbiguity: string | null
  /**
   * The raw body if its JSON is ambiguous: it may stand for several values, or be too deep to walk.
   */
  ambiguousBytes?: Uint8Array
}

/** Resolves to null if the caller is gone. */
async function checked(
  edge: Edge,
  route: EndpointRoute,
  context: RequestContext,
  path: Parameters,
): Promise<Answer | null> {
  const { endpoint } = route
  const { policy } = endpoint

  const readsBodyOfAnybody = policy.kind === 'open' || policy.kind === 'optional-key'
  const visitor = policy.kind === 'page' ? visitorOf(edge, context) : null
  const unsupported = readsBodyOfAnybody ? mediaTypeProblem(endpoint, context) : null
  if (unsupported !== null) return unsupported

  // Parsed here, checked at their places in the order.
  const idempotencyKey = idempotencyKeyOf(endpoint, context.request)
  const parameters = parametersOf(route, context, path)
  const { requestId } = context
  const formerOrigin = formerOriginOf(edge.formerOrigins, context.request.headers.host)
  const early: { begun?: Promise<Answer>; paid?: Promise<Answer | null> | null } = {}
  const admitted: Admitted | Refusal = await admit(edge, route, context, (key, counted) => {
    if (policy.kind !== 'paid' || isMalformed(idempotencyKey) || isRefusal(parameters)) return null
    const { caller } = key
    const begun = begin(() =>
      endpoint.answer({
        ...parameters,
        ...noBody,
        caller,
        visitor,
        idempotencyKey,
        requestId,
        formerOrigin,
      }),
    )
    early.begun = begun
    // A repeated purchase is not charged.
    if (idempotencyKey !== null) return null
    early.paid = proveByCharge(edge, { policy, route, context, key, counted, read: begun })
    return early.paid?.then((paid) => paid !== null) ?? null
  })
  if (isRefusal(admitted)) return admitted
  const paid = await early.paid
  if (paid != null) return paid
  if (isMalformed(idempotencyKey)) return idempotencyKey

  const late = readsBodyOfAnybody ? null : mediaTypeProblem(endpoint, context)
  if (late !== null) return late
  const read = await bodyOf(edge, route, context)
  if (read === null || isRefusal(read)) return read

  if (isRefusal(parameters)) return parameters
  const { ambiguousBytes, ...body } = read
  const work = async (caller: Caller): Promise<Answer> =>
    early.begun ??
    endpoint.answer({
      ...parameters,
      ...body,
      caller,
      visitor,
      idempotencyKey,
      requestId,
      formerOrigin,
    })
  const asked = { ...parameters, body: ambiguousBytes ?? body.body }
  const call = { route, context, admitted, idempotencyKey, ...asked }
  return answerAdmitted(edge, call, work)
}

function visitorOf(edge: Edge, context: RequestContext): Visitor {
  const { 'user-agent': userAgent, cookie: cookies } = context.request.headers
  return { network: edge.network(context), userAgent, cookies }
}

function isMalformed(key: string | null | Refusal): key is Refusal {
  return typeof key === 'object' && key !== null
}

/**
 * Starts a paid read while its call is counted and before its key is known to be valid, which saves
 * one round trip. The read changes nothing, and its result is discarded if the request is rejected.
 */
function begin(read: () => Answer | Promise<Answer>): Promise<Answer> {
  const begun = Promise.try(read)
  begun.catch(() => {})
  return begun
}

function mediaTypeProblem(
  { body }: Endpoint,
  { request: { headers } }: RequestContext,
): Refusal | null {
  if (body === undefined) return null
  const { 'content-type': type, 'content-encoding': encoding } = headers
  const message = mediaTypeFault(type, encoding, body.mediaTypes)
  return message === null ? null : refuse('unsupported_media_type', { message })
}

function parametersOf(
  { checkPath, checkQuery }: EndpointRoute,
  { request }: RequestContext,
  path: Parameters,
): { path: Parameters; query: Parameters } | Refusal {
  const pathValues = checkPath(path)
  if (isRefusal(pathValues)) return pathValues
  const query = queryOf(request.url ?? '', checkQuery)
  return isRefusal(query) ? query : { path: pathValues, query }
}

/** Resolves to null if the caller is gone. */
async function bodyOf(
  edge: Edge,
  route: EndpointRoute,
  context: RequestContext,
): Promise<BodyRead | Refusal | null> {
  const { meter } = route
  const { body: declared } = route.endpoint
  if (declared === undefined || context.body === null) return noBody
  const body = await wholeBody(edge, route, context, context.body)
  if (isRefusal(body)) return body
  if (body.kind === 'lost' || isTooLate(context)) return null
  if (body.kind === 'cut') {
    if (body.answer.refusal === 'overloaded') meter.shed++
    context.response.shouldKeepAlive = false
    return body.answer
  }
  if (body.kind === 'too_large')
    return refuse('payload_too_large', { message: `The body is over ${declared.bytesMax} bytes.` })

  if (declared.mediaTypes.includes(formType)) return formOf(body.bytes)
  const json = parseStrictJson(body.bytes)
  if (json.kind === 'invalid') meter.invalidJson++
  if (json.kind === 'ambiguous') meter.ambiguousJson++
  if (json.kind === 'invalid') return refuse('invalid_json', { message: json.why })
  if (json.value === null || typeof json.value !== 'object' || Array.isArray(json.value))
    return refuse('invalid_json', { message: 'The body is not a JSON object.' })
  if (json.kind === 'value') return { body: json.value, bodyAmbiguity: null }
  return declared.ambiguousReachesHandler
    ? { body: json.value, bodyAmbiguity: json.why, ambiguousBytes: body.bytes }
    : refuse('invalid_json', { message: json.why })
}

function formOf(bytes: Buffer): BodyRead | Refusal {
  // A form is ASCII: everything else is percent-encoded.
  const form = parseQuery(bytes.toString('latin1'))
  return form.kind === 'problem'
    ? refuse('invalid_parameter', { message: 'The form is not valid percent-encoded UTF-8.' })
    : { body: form.values, bodyAmbiguity: null }
}

/** Waits for the rest of a body without holding a slot. */
async function wholeBody(
  edge: Edge,
  { endpoint }: EndpointRoute,
  context: RequestContext,
  reading: BodyReading,
): Promise<Body | Refusal> {
  const { request, response } = context
  reading.start()
  if (reading.isSettled()) return reading.body
  context.place?.leave()
  if (awaitsContinue(request)) response.writeContinue()
  const body = await reading.body
  if (body.kind !== 'bytes' || isTooLate(context)) return body
  return new Promise((resolve) =>
    pass(edge, context, edge.gates[endpoint.priority], {
      start: () => resolve(body),
      refuse: () => resolve(overloaded(context)),
      gone: () => resolve({ kind: 'lost' }),
    }),
  )
}

async function finish(
  edge: Edge,
  context: RequestContext,
  answering: Promise<Answer | null>,
): Promise<void> {
  openRequest(edge, context)
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
