import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openLog } from '../platform/observability/log.ts'
import { type EventStreams, eventStreams } from './event-streams.ts'
import type { EventStream, Events } from './http/endpoint.ts'
import type { RequestContext } from './request-context.ts'

const log = openLog({ level: 'error', to: { write: () => {} } })

/** Starts a server that answers each request with a stream. */
async function serving(answer: (context: RequestContext) => void): Promise<Server> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    answer({ response, requestId: 'a' } as RequestContext)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return server
}

/** Sends a request and reads nothing of the answer. */
function neverRead(server: Server) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  after(() => socket.destroy())
  return socket
}

test('a reader that never reads is cut off, and at most a small part of the events waits for it', async () => {
  const streams = eventStreams(log)
  const kilobyte = 'x'.repeat(1_024)
  const { promise: cutOff, resolve } = Promise.withResolvers<number>()
  const server = await serving((context) =>
    begin(streams, context, async (stream) => {
      let mostWaiting = 0
      // The buffers of the operating system take some megabytes first.
      for (let id = 0; !stream.ended.aborted && id < 200_000; id++) {
        stream.send({ id: String(id), data: kilobyte })
        mostWaiting = Math.max(mostWaiting, context.response.writableLength)
        if (id % 16 === 0) await turn()
      }
      assert.ok(stream.ended.aborted, 'the reader was cut off')
      resolve(mostWaiting)
    }),
  )
  neverRead(server)
  const waiting = await cutOff
  assert.ok(waiting < 70_000, `${waiting} bytes waited`)
})

const session = (id: string, account: string) => [
  { of: 'session', id, max: 2 } as const,
  { of: 'account', id: account, max: 4 } as const,
]

/** Begins a stream that lasts until its reader is gone. */
const untilGone = (stream: EventStream) => once(stream.ended, 'abort').then(() => undefined)

function begin(
  streams: EventStreams,
  context: RequestContext,
  follow: Events['follow'],
  limits: Events['limits'] = [],
) {
  streams.begin(context, { limits, follow })
}

test('503: the 257th stream of a process has no room until another one ends', async () => {
  const streams = eventStreams(log)
  const server = await serving((context) => begin(streams, context, untilGone))
  const sockets = Array.from({ length: 256 }, () => neverRead(server))
  while (streams.problem([]) === null) await turn()
  assert.equal(streams.problem([])?.refusal, 'unavailable')
  sockets[0]?.destroy()
  while (streams.problem([]) !== null) await turn()
  streams.end()
  assert.equal(streams.problem([])?.refusal, 'unavailable')
})

test('429: the third stream of a session and the fifth of an account are refused, until one ends', async () => {
  const streams = eventStreams(log)
  const readers = [session('a', 'x'), session('a', 'x'), session('b', 'x'), session('c', 'x')]
  let begun = 0
  const server = await serving((context) => begin(streams, context, untilGone, readers[begun++]))
  const sockets = readers.map(() => neverRead(server))
  while (begun < readers.length) await turn()
  const messageOf = (id: string, account: string) =>
    streams.problem(session(id, account))?.message ?? null
  assert.match(messageOf('a', 'x') ?? '', /This session has 2 live streams open already/)
  assert.match(messageOf('d', 'x') ?? '', /This account has 4 live streams open already/)
  assert.equal(streams.problem(session('d', 'x'))?.headers?.['Retry-After'], '15')
  assert.equal(messageOf('d', 'y'), null, 'another account has room')
  for (const socket of sockets) socket.destroy()
  while (messageOf('a', 'x') !== null) await turn()
  streams.end()
})

test('a reader that left before its stream begins takes no place', async () => {
  const streams = eventStreams(log)
  const limits = [{ of: 'session', id: 'a', max: 1 } as const]
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  const server = await serving((context) => {
    context.response.once('close', () => {
      begin(streams, context, untilGone, limits)
      resolve()
    })
    socket.destroy()
  })
  const socket = neverRead(server)
  await begun
  assert.equal(streams.problem(limits), null)
})
