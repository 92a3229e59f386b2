/**
 * Servers on free ports of 127.0.0.1 that receive requests: well-behaved ones over TLS, and raw
 * sockets for misbehaviour.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type Authority, createAuthority } from '../../../src/demo/certificates.ts'

let shared: Authority | undefined

/** Returns the certificate authority for all servers of a test file. */
export function testAuthority(): Authority {
  shared ??= createAuthority()
  return shared
}

export interface Received {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface Receiver {
  port: number
  /** Requests in the order of arrival. */
  received: Received[]
  close(): Promise<void>
}

/** Starts a TLS server for these names. It stores each request before it answers. */
export async function startReceiver(
  names: readonly string[],
  answer: (response: ServerResponse, received: Received) => unknown,
): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, body }
      received.push(one)
      answer(response, one)
    })
  }
  const server = createHttpsServer(testAuthority().certify(...names), listener)
  const { port, close } = await listening(server)
  return { port, received, close }
}

/** Starts a TLS server for these names that passes each socket to `talk`. */
export function startTalker(names: readonly string[], talk: (socket: Socket) => void) {
  return listening(createTlsServer(testAuthority().certify(...names), talk))
}

/** Starts a server without TLS that passes each socket to `talk`. */
export function startPlainTalker(talk: (socket: Socket) => void, host?: string) {
  return listening(createTcpServer(talk), host)
}

export async function listening(
  server: Server,
  host = '127.0.0.1',
): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  server.on('secureConnection', (socket: Socket) => socket.on('error', () => undefined))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { port: (server.address() as AddressInfo).port, close }
}
