/**
 * What the HTTP parser refuses never becomes a request: the answer is written to the connection itself, with the same closed body
 * and the same headers as every other, and the connection ends.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { Connection, Trace } from './exchange.ts'
import type { HeaderSets } from './headers.ts'
import { renderRefusal } from './refusals.ts'

/** How long what the caller still sends is dropped before the connection is cut: a reset could overtake the answer. */
const lingerMs = 1_000

export function refusalOfParserError(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refuse('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return refuse('payload_too_large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse('request_timeout')
  return refuse('bad_request')
}

export interface WireErrorOptions {
  sets: HeaderSets
  connectionOf(socket: Socket): Connection
  /** For what never became a request. */
  unread(connection: Connection): Trace
  record(trace: Trace, status: number, error: string): void
}

/** The server's `clientError` and `connect` events. */
export function wireErrorWriter(options: WireErrorOptions) {
  const ended = new WeakSet<Duplex>()
  return (socket: Socket, refusal: Refusal): void => {
    const connection = options.connectionOf(socket)
    // The parser reports again with every further packet; and after a last answer there is nothing to say.
    if (ended.has(socket) || connection.closing) return
    // A body that broke off will never be whole: this is the answer to its request. Answers to what came before are still due, and
    // ours must not be taken for one of them.
    const { latest, pending } = connection
    const broken = latest?.request.complete === false ? latest : null
    if (pending > (broken === null ? 0 : 1)) {
      connection.closing = true
      return
    }
    ended.add(socket)
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const trace = broken ?? options.unread(connection)
    if (!trace.answered) {
      const rendered = renderRefusal(options.sets, refusal)
      options.record(trace, rendered.status, refusal.refusal)
      socket.write(rawResponse(rendered, trace.requestId))
    }
    socket.end()
    setTimeout(() => socket.destroy(), lingerMs).unref()
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
