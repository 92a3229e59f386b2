/** A proxy between a client and the service that fails in every way that a network can. */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'

/** How the proxy passes the answer of the service on. */
type Passing = 'whole' | 'half' | 'too short for its length' | 'too long for its length' | 'never'

export type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
  forward: (how?: Passing) => void,
) => void

const html = { 'Content-Type': 'text/html' }

/** Faults after which a repeat of the call is safe, before and after the service has done its work. */
export const faults: Record<string, Fault> = {
  'no connection': (incoming) => void incoming.socket.destroy(),
  '503 in HTML': (_, response) => void response.writeHead(503, html).end('<h1>No</h1>'),
  '200 in HTML': (_, response) => void response.writeHead(200, html).end('<h1>Hello</h1>'),
  '500 of 10 MB': (_, response) => void response.writeHead(500).end(Buffer.alloc(10_000_000, 32)),
  '408': (_, response) => void response.writeHead(408).end('{"error":"request_timeout"}'),
  '429': (_, response) => void response.writeHead(429, { 'Retry-After': '0' }).end('{}'),
  'half of the body': (_, __, forward) => forward('half'),
  'too long a Content-Length': (_, __, forward) => forward('too short for its length'),
  'too short a Content-Length': (_, __, forward) => forward('too long for its length'),
  'an answer that never comes': (_, __, forward) => forward('never'),
}

/** Passes each request on to `base`, or lets a fault answer it. Returns the proxy's address. */
export async function startFaultyProxy(base: string, fault: Fault): Promise<string> {
  const agent = new Agent({ keepAlive: true })
  const proxy = createServer((incoming, response) => {
    const { method, headers } = incoming
    const { host: _, connection: __, 'accept-encoding': ___, ...passed } = headers
    const forward = async (how: Passing): Promise<void> => {
      const body = await buffer(incoming)
      const sent = request(
        `${base}${incoming.url}`,
        { method, headers: passed, agent },
        (answer) => {
          void buffer(answer).then((whole) =>
            passOn(
              response,
              { status: answer.statusCode ?? 0, headers: answer.headers, whole },
              how,
            ),
          )
        },
      )
      sent.on('error', () => response.destroy()).end(body)
    }
    fault(incoming, response, (how = 'whole') => void forward(how))
  })
  after(() => {
    proxy.close().closeAllConnections()
    agent.destroy()
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  whole: Buffer
}

function passOn(response: ServerResponse, { status, headers, whole }: Answer, how: Passing): void {
  if (how === 'never') return
  const sent = how === 'half' ? whole.subarray(0, whole.length / 2) : whole
  const length = {
    whole: whole.length,
    half: whole.length,
    'too short for its length': whole.length + 1_000,
    'too long for its length': Math.floor(whole.length / 2),
  }[how]
  // The length is a lie, so Node must not compare it with the body.
  response.strictContentLength = false
  response.writeHead(status, { ...headers, 'content-length': length })
  if (how === 'whole') response.end(sent)
  else response.write(sent, () => response.destroy())
}
