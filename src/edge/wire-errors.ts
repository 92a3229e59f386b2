/**
 * Answers data that the HTTP parser rejects, so that it never becomes a request. The response is
 * written directly to the connection, with the same closed body and headers as every other, and the
 * connection ends.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { deadlineMs } from '../platform/deadlines.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { HeaderSets } from './headers.ts'
import { renderRefusal } from './refusals.ts'
import type { Connection, Trace } from './request-context.ts'
import { enqueueRefusal } from './request-queue.ts'

export function refusalOfParserError(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refuse('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return refuse('payload_too_large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse('request_timeout')
  return refuse('bad_request')
}

export interface WireErrorOptions {
  sets: HeaderSets
  connectionOf(socket: Socket): Connection
  /** Builds the trace of data that never became a request. */
  unread(connection: Connection): Trace
  record(trace: Trace, status: number, error: string): void
}

/** Handles the server's `clientError` and `connect` events. */
export function wireErrorWriter(options: WireErrorOptions) {
  const ended = new WeakSet<Duplex>()
  return (socket: Socket, refusal: Refusal): void => {
    const connection = options.connectionOf(socket)
    // The parser reports the error again for every further packet. Nothing may follow the last
    // response.
    if (ended.has(socket) || connection.closing) return
    ended.add(socket)
    if (socket.writable) enqueueRefusal(connection, () => answerAndEnd(connection, refusal))
    else socket.destroy()
  }

  function answerAndEnd(connection: Connection, refusal: Refusal): void {
    const { socket, current } = connection
    const trace = current ?? options.unread(connection)
    if (!trace.answered) {
      const { isKeyed = false } = trace.route
      const rendered = renderRefusal(options.sets, refusal, { isKeyed })
      options.record(trace, rendered.status, refusal.refusal)
      socket.write(rawResponse(rendered, trace.requestId))
    }
    socket.end()
    setTimeout(() => socket.destroy(), deadlineMs('linger')).unref()
  }
}

function rawResponse(
  { status, headers, body }: ReturnType<typeof renderRefusal>,
  requestId: string,
): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  const all = [
    ...headers,
    'X-Request-Id',
    requestId,
    'Date',
    new Date().toUTCString(),
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
  ]
  for (let i = 0; i < all.length; i += 2) lines.push(`${all[i]}: ${all[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
