/**
 * Answers the requests of one connection one after the other. A request begins once the response
 * before it has left, so a caller that does not read pays for no further call.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Connection, QueuedRequest } from './request-context.ts'

/** Begins a request, now or once the responses before it have left. */
export function enqueueRequest(
  connection: Connection,
  request: IncomingMessage,
  response: ServerResponse,
  begin: () => void,
): void {
  response.on('close', () => {
    if (request.complete) connection.current = null
    connection.queue.shift()
    // If the socket is closed, this response was the last.
    if (connection.socket.writable) connection.queue[0]?.begin()
  })
  enqueue(connection, { request, begin })
}

/**
 * Begins the refusal of data that the HTTP parser rejected, now or once the responses before it
 * have left. If a body broke off, the refusal is the response to its request.
 */
export function enqueueRefusal(connection: Connection, begin: () => void): void {
  const { current, queue } = connection
  if (current?.request.complete === false) {
    begin()
    return
  }
  // Only the last request can be incomplete.
  if (queue.at(-1)?.request?.complete === false) queue.pop()
  enqueue(connection, { request: null, begin })
}

function enqueue({ queue }: Connection, queued: QueuedRequest): void {
  queue.push(queued)
  if (queue.length === 1) queued.begin()
}
