/** Reads the declared body of a request, and parses it strictly (decision D7). */
import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../platform/errors.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { type Body, type BodyReading, hasBody, readBody } from './body.ts'
import type { Gates } from './gates.ts'
import { csvType, formType, linesType } from './http/contract.ts'
import { type Endpoint } from './http/endpoint.ts'
import type { LinesBody } from './http/lines.ts'
import type { OpenBodies } from './open-bodies.ts'
import { isRefusal } from './parameters.ts'
import { parseQuery } from './query.ts'
import { type EndpointRoute, isTooLate, type RequestContext } from './request-context.ts'
import { enterGate, type SlotOptions } from './slot.ts'
import { bodyTooLarge, streamedBody } from './streamed-body.ts'

export interface BodyOptions extends SlotOptions {
  gates: Gates
  bodies: OpenBodies
}

export interface ParsedBody {
  /** Null if the endpoint takes no body. */
  body: unknown
  /** The reason why the JSON is ambiguous, or null. */
  bodyAmbiguity: string | null
  /** The raw body if its JSON is ambiguous: it may stand for several values, or be too deep. */
  ambiguousBytes?: Uint8Array
}

export const noBody: ParsedBody = { body: null, bodyAmbiguity: null }

/** Begins to read the body while the request waits, so that a slow body never holds a slot. */
export function beginBody(
  edge: BodyOptions,
  { body }: Endpoint,
  context: RequestContext,
): BodyReading | null {
  const { request } = context
  if (body !== undefined && isStreamed(body)) return null
  if (body === undefined) {
    // An unread body would take memory for as long as the request waits.
    if (hasBody(request)) request.resume()
    return null
  }
  const room = { bytesMax: body.bytesMax, bodies: edge.bodies, network: context.client.lane }
  const reading = readBody(request, room)
  if (!awaitsContinue(request)) reading.start()
  return reading
}

/** A body of lines is read by its handler. */
function isStreamed({ mediaTypes }: { mediaTypes: readonly string[] }): boolean {
  return mediaTypes.includes(linesType)
}

function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0'
}

/** Resolves to null if the caller is gone. */
export async function bodyOf(
  edge: BodyOptions,
  route: EndpointRoute,
  context: RequestContext,
): Promise<ParsedBody | Refusal | null> {
  const { meter } = route
  const { body: declared } = route.endpoint
  if (declared !== undefined && isStreamed(declared)) return linesOf(context, declared)
  if (declared === undefined || context.body === null) return noBody
  const body = await wholeBody(edge, route, context, context.body)
  if (isRefusal(body)) return body
  if (body.kind === 'lost' || isTooLate(context)) return null
  if (body.kind === 'cut') {
    if (body.answer.refusal === 'overloaded') meter.shed++
    context.response.shouldKeepAlive = false
    return body.answer
  }
  if (body.kind === 'too_large') return bodyTooLarge(declared.bytesMax)

  if (declared.mediaTypes.includes(formType)) return formOf(body.bytes)
  if (body.bytes.length === 0 && route.endpoint.policy.kind === 'operator')
    return { body: {}, bodyAmbiguity: null }
  const json = parseStrictJson(body.bytes)
  if (json.kind === 'invalid') meter.invalidJson++
  if (json.kind === 'ambiguous') meter.ambiguousJson++
  if (json.kind === 'invalid')
    return refuse('invalid_json', { message: json.why, cause: { rule: 'Send one JSON object.' } })
  if (json.value === null || typeof json.value !== 'object' || Array.isArray(json.value))
    return refuse('invalid_json', { message: 'The body is not a JSON object.' })
  if (json.kind === 'value') return { body: json.value, bodyAmbiguity: null }
  return declared.ambiguousReachesHandler
    ? { body: json.value, bodyAmbiguity: json.why, ambiguousBytes: body.bytes }
    : refuse('invalid_json', { message: json.why })
}

/** The handler reads the body at its own pace, which frees it from the deadline of a request. */
function linesOf(
  context: RequestContext,
  { bytesMax }: { bytesMax: number },
): ParsedBody | Refusal {
  const { request, response } = context
  const { 'content-type': type = '', 'content-length': length = 0 } = request.headers
  if (Number(length) > bytesMax) return bodyTooLarge(bytesMax)
  context.isStreamed = true
  // A body may be left unread, so no other request follows on this connection.
  response.shouldKeepAlive = false
  const lines: LinesBody = {
    chunks(signal) {
      if (awaitsContinue(request)) response.writeContinue()
      return streamedBody(request, { bytesMax, signal })
    },
    isCsv: type.trim().toLowerCase().startsWith(csvType),
  }
  return { body: lines, bodyAmbiguity: null }
}

function formOf(bytes: Buffer): ParsedBody | Refusal {
  // A form is ASCII: everything else is percent-encoded.
  const form = parseQuery(bytes.toString('latin1'))
  return form.kind === 'problem'
    ? refuse('invalid_parameter', { message: 'The form is not valid percent-encoded UTF-8.' })
    : { body: form.values, bodyAmbiguity: null }
}

/** Waits for the rest of a body without holding a slot. */
async function wholeBody(
  edge: BodyOptions,
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
    enterGate(edge, context, edge.gates[endpoint.priority], {
      start: () => resolve(body),
      refuse: resolve,
      leave: () => resolve({ kind: 'lost' }),
    }),
  )
}
