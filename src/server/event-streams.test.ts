import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openLog } from '../platform/observability/log.ts'
import { eventStreams } from './event-streams.ts'
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
    streams.begin(context, async (stream) => {
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

test('the 257th stream of a process has no room until another one ends', async () => {
  const streams = eventStreams(log)
  const server = await serving((context) =>
    streams.begin(context, (stream) => once(stream.ended, 'abort').then(() => undefined)),
  )
  const sockets = Array.from({ length: 256 }, () => neverRead(server))
  while (streams.hasRoom()) await turn()
  sockets[0]?.destroy()
  while (!streams.hasRoom()) await turn()
  streams.end()
  assert.equal(streams.hasRoom(), false)
})
