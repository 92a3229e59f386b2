/** Writes, counts and logs each response once. No other module does. */
import { gzipSync } from 'node:zlib'
import { deadlineMs } from '../platform/deadlines.ts'
import type { Refusal } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { observe } from '../platform/observability/metrics.ts'
import { endSpan, inSpan, type Span } from '../platform/observability/tracing.ts'
import { hasBody } from './body.ts'
import { documentResponse } from './documents.ts'
import type { EventStreams } from './event-streams.ts'
import type { HeaderSets } from './headers.ts'
import type { CallLog } from './http/call-log.ts'
import { linesType } from './http/contract.ts'
import type { Answer, Events, RefusalPage } from './http/endpoint.ts'
import type { Lines } from './http/lines.ts'
import type { LineStreams } from './line-streams.ts'
import { chooseEncoding, prefersHtml } from './negotiate.ts'
import { isErrorName, renderRefusal } from './refusals.ts'
import type { RequestContext, Trace } from './request-context.ts'

export interface Writer {
  answer(context: RequestContext, answer: Answer): void
  /** Sends 204 without a body. In `headers` names and values alternate. */
  empty(context: RequestContext, headers: readonly string[]): void
  /**
   * Counts and logs a request that ended without `answer`: rejected on the wire, or abandoned by
   * the caller.
   */
  record: (trace: Trace, status: number, error?: string, cause?: object) => void
}

export interface WriterOptions {
  sets: HeaderSets
  log: Log
  streams: EventStreams
  lineStreams: LineStreams
  calls?: CallLog | undefined
  /** Called if the connection did not take the whole response at once. */
  onSlowReader(context: RequestContext): void
}

/** Bytes. An unread body up to this length is read and discarded, and the connection stays open. */
const forgottenBytesMax = 1_048_576

/**
 * A proxy sets this header if it stops sending a request once its response begins, as nginx does.
 * The response then begins when the request is whole.
 */
const halfDuplex = 'x-half-duplex'

export function createWriter(options: WriterOptions): Writer {
  const { sets, streams, lineStreams, onSlowReader } = options
  const send = sender(options)
  const record = recorder(options)

  function answer(context: RequestContext, given: Answer): void {
    if ('lines' in given) {
      writeLines(context, given.lines)
      return
    }
    if (context.answered) return
    if ('document' in given) {
      const { status, lines, body } = documentResponse(sets, given.document, context.request)
      lines.push('X-Request-Id', context.requestId)
      send(context, status, lines, body)
      record(context, status)
      return
    }
    if ('refusal' in given) {
      writeRefusal(context, given)
      return
    }
    if ('events' in given) {
      writeEvents(context, given.events)
      return
    }
    const { status, body, text, contentType = 'application/json', headers } = given
    const { isCompressed = false } = given
    const error = status >= 400 ? errorOf(body) : undefined
    const isPage = contentType.startsWith('text/html')
    const lines = isPage
      ? sets.withPermissions(sets.page, headers)
      : [...headerSetOf(sets, context, headers)]
    lines.push('Content-Type', contentType)
    if (error !== undefined) lines.push('Link', sets.helpLink(error))
    for (const name in headers) pushHeader(lines, name, headers[name])
    const bytes = Buffer.from(text ?? JSON.stringify(body), 'utf8')
    writeBytes(context, status, lines, isCompressed ? compressed(context, lines, bytes) : bytes)
    record(context, status, error)
  }

  function writeRefusal(context: RequestContext, refusal: Refusal): void {
    const { status, headers, body } = renderRefusal(sets, refusal, {
      ...context.route,
      refusalPage: refusalPageOf(context),
      target: context.request.url ?? '',
      requestId: context.requestId,
    })
    writeBytes(context, status, headers, Buffer.from(body, 'utf8'))
    record(context, status, refusal.refusal, refusal.cause)
  }

  function writeEvents(context: RequestContext, events: Events): void {
    const problem = streams.problem(events.limits)
    if (problem !== null) {
      writeRefusal(context, problem)
      return
    }
    const lines = [...headerSetOf(sets, context), 'Content-Type', 'text/event-stream']
    context.response.writeHead(200, [...lines, 'X-Request-Id', context.requestId])
    record(context, 200)
    if (context.request.method === 'HEAD') context.response.end()
    else streams.begin(context, events)
  }

  /** A request that got its 503 meanwhile is told to its handler, which frees what it holds. */
  function writeLines(context: RequestContext, lines: Lines): void {
    const { request, response, connection, answered } = context
    if (!answered) {
      const head = [...headerSetOf(sets, context), 'Content-Type', linesType]
      response.writeHead(200, [...head, ...context.headers, 'X-Request-Id', context.requestId])
      if (request.headers[halfDuplex] !== undefined) {
        response.cork()
        request.once('end', () => response.uncork())
      }
      response.flushHeaders()
      record(context, 200)
    }
    const ended = (): void => {
      if (request.complete) endCorked(response)
      else endAndLinger(context)
      if (!connection.socket.destroyed) onSlowReader(context)
    }
    // The span of the request has ended, and the lines of a body may need many statements.
    inSpan(undefined, () => lineStreams.begin(context, lines, ended))
  }

  function writeBytes(
    context: RequestContext,
    status: number,
    headers: string[],
    bytes: Buffer,
  ): void {
    headers.push('Content-Length', String(bytes.length), ...context.headers)
    headers.push('X-Request-Id', context.requestId)
    send(context, status, headers, context.request.method === 'HEAD' ? undefined : bytes)
  }

  return {
    answer,
    record,
    empty(context, headers) {
      send(context, 204, [
        ...headerSetOf(sets, context),
        ...headers,
        'X-Request-Id',
        context.requestId,
      ])
      record(context, 204)
    },
  }
}

/**
 * Compresses a page for a caller without a cookie, and adds the headers that say so. A page of
 * 40 kB takes half a millisecond.
 */
function compressed({ request }: RequestContext, headers: string[], bytes: Buffer): Buffer {
  headers.push('Vary', 'Accept-Encoding')
  if (request.headers.cookie !== undefined) return bytes
  if (chooseEncoding(request.headers['accept-encoding'], ['gzip', 'identity']) === 'identity')
    return bytes
  headers.push('Content-Encoding', 'gzip')
  return gzipSync(bytes)
}

/** Returns the function that sends a response. */
function sender({ onSlowReader }: WriterOptions) {
  return (context: RequestContext, status: number, headers: string[], body?: Buffer): void => {
    const { request, response, connection } = context
    const isUnread = !request.complete && hasBody(request)
    if (isUnread && !(willBeForgotten(context) && response.shouldKeepAlive)) {
      sendAndLinger(context, status, headers, body)
      return
    }
    response.writeHead(status, headers)
    response.end(body)
    if (connection.socket.writableLength > 0) onSlowReader(context)
  }
}

function recorder({ log, calls }: WriterOptions): Writer['record'] {
  return (trace, status, error, cause) => {
    trace.answered = true
    const { method, route, requestId, callerRequestId, startedAt, logged } = trace
    const ms = performance.now() - startedAt
    const us = Math.round(ms * 1_000)
    if (logged !== null)
      calls?.add({
        ...logged,
        at: new Date(Date.now() - ms),
        requestId,
        status,
        error: error ?? null,
        cause: cause ?? logged.cause ?? null,
        durationUs: us,
        address: trace.client.network.address,
      })
    observe(route.meter, status, ms)
    endRequestSpan(trace.span, status)
    const client = trace.client.digest
    const ids = { requestId, callerRequestId }
    log.request({ method, route: route.path, status, us, ...ids, client, error })
  }
}

function endRequestSpan(span: Span | undefined, status: number): void {
  if (span === undefined) return
  span.attributes['http.response.status_code'] = status
  endSpan(span, status >= 500 ? String(status) : undefined)
}

function headerSetOf(
  sets: HeaderSets,
  { route }: RequestContext,
  headers: Readonly<Record<string, unknown>> = {},
): readonly string[] {
  if (route.refusalPage !== undefined && !route.isNegotiated) return sets.page
  if (route.isSameOrigin) return sets.sameOrigin
  return headers['Cache-Control'] === undefined ? sets.private : sets.common
}

/** Returns how the caller sees the refusal as a page, if it sees one. */
function refusalPageOf({ route, request }: RequestContext): RefusalPage | undefined {
  const isPage = !route.isNegotiated || prefersHtml(request.headers.accept)
  return isPage ? route.refusalPage : undefined
}

function errorOf(body: unknown): string | undefined {
  const error =
    typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  return isErrorName(error) ? error : undefined
}

/**
 * Returns whether the unread body may be discarded. The HTTP parser reads it after the response, so
 * its length must be known and small. A caller that waits for `100 Continue` never sends it.
 */
function willBeForgotten({ request, isStreamed }: RequestContext): boolean {
  return (
    !isStreamed &&
    Number(request.headers['content-length']) <= forgottenBytesMax &&
    request.headers.expect === undefined
  )
}

/**
 * Answers a caller that is still sending. Closing at once would reset the connection, and the reset
 * may overtake the response. So the whole response is sent, further bytes are dropped, and the
 * connection closes a moment later.
 */
function sendAndLinger(
  context: RequestContext,
  status: number,
  headers: string[],
  body?: Buffer,
): void {
  const { request, response, connection, isStreamed } = context
  connection.closing = true
  response.shouldKeepAlive = false
  response.writeHead(status, headers)
  // The caller of a streamed body has its `100 Continue`, and sends.
  if (body === undefined || (request.headers.expect !== undefined && !isStreamed)) {
    response.end(body)
    return
  }
  response.write(body)
  endAndLinger(context)
}

/** Node would write the end of a corked response before its bytes. */
function endCorked(response: RequestContext['response']): void {
  if (response.writableCorked > 0) response.uncork()
  response.end()
}

/** Ends a response whose request is still sent, once all of it has arrived or a moment later. */
function endAndLinger({ request, response }: RequestContext): void {
  request.resume()
  const end = (): void => {
    clearTimeout(timer)
    endCorked(response)
  }
  const timer = setTimeout(end, deadlineMs('linger'))
  request.once('end', end)
  request.once('close', end)
}

function pushHeader(
  lines: string[],
  name: string,
  value: string | readonly string[] | undefined,
): void {
  if (typeof value === 'string') lines.push(name, value)
  else for (const one of value ?? []) lines.push(name, one)
}
