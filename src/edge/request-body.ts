/** Reads the declared body of a request, and parses it strictly (decision D7). */
import type { IncomingMessage } from 'node:http'
import { type Refusal, RefusedError, refuse } from '../platform/errors.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { type Body, type BodyReading, hasBody, readBody } from './body.ts'
import type { Gates } from './gates.ts'
import { csvType, formType, linesType } from './http/contract.ts'
import type { Endpoint } from './http/endpoint.ts'
import type { LinesBody } from './http/lines.ts'
import type { OpenBodies } from './open-bodies.ts'
import { isRefusal, parseQuery } from './parameters.ts'
import { type EndpointRoute, isTooLate, type RequestContext } from './request-context.ts'
import { enterGate, type SlotOptions } from './slot.ts'

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
  const form = parseQuery(bytes.toString('latin1'), 'form')
  return form.kind === 'values'
    ? { body: form.values, bodyAmbiguity: null }
    : refuse('invalid_parameter', { message: form.why })
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

/** Milliseconds for which a sender may be silent. */
const silenceMsMax = 30_000
/** Bytes a second that a sender needs on average beyond that. */
const rateMin = 1_024

/**
 * Hands a body to its handler while it arrives. The handler decides the pace: bytes that it does not
 * take wait at their sender. So the deadline of a whole request does not apply, only a least rate for
 * the time in which the handler waits for bytes. Throws `RefusedError` if the body is too large or
 * too slow, and the signal's reason.
 */
export async function* streamedBody(
  request: IncomingMessage,
  { bytesMax, signal }: { bytesMax: number; signal: AbortSignal },
  now = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  // Leaving the loop must not close the connection: its caller gets an answer.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>
  let bytes = 0
  let leftMs = silenceMsMax
  try {
    for (;;) {
      const startedAt = now()
      // A whole body is at hand, so a server that stops finishes it.
      const next = await (request.complete
        ? chunks.next()
        : withinMs(leftMs, signal, chunks.next()))
      if (next.done === true) return
      bytes += next.value.length
      if (bytes > bytesMax) throw new RefusedError(bodyTooLarge(bytesMax))
      const earnedMs = (next.value.length * 1_000) / rateMin
      leftMs = Math.min(silenceMsMax, leftMs - (now() - startedAt) + earnedMs)
      if (leftMs <= 0) throw tooSlow()
      yield next.value
    }
  } finally {
    // Until the iterator has ended, `resume` has no effect, and the rest of the body is not dropped.
    void chunks.return?.().then(() => request.resume())
  }
}

function bodyTooLarge(bytesMax: number) {
  return refuse('payload_too_large', { message: `The body is over ${bytesMax} bytes.` })
}

const tooSlow = () => new RefusedError(refuse('request_timeout'))

async function withinMs<Result>(
  ms: number,
  signal: AbortSignal,
  work: Promise<Result>,
): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason as Error)
  const late = setTimeout(() => reject(tooSlow()), ms)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', stop)
  }
}
