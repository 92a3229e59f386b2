/** Bodies and answers of lines at the edge, without a database. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { Type } from 'typebox'
import { openRaw, post, request, startEdge } from '../../test/support/start/edge.ts'
import { linesType } from './http/contract.ts'
import { endpoint } from './http/endpoint.ts'
import type { LinesBody } from './http/lines.ts'
import { streamedBody } from './request-body.ts'

/** Lets a handler take no further piece until its server stops. */
let isHeld = false

/** Counts the bytes of its body, and sends a line for each piece. */
const counting = endpoint({
  operationId: 'count',
  method: 'POST',
  path: '/count',
  area: 'Sample',
  summary: 'Sample',
  responses: {},
  priority: 'operator',
  policy: { kind: 'open' },
  body: {
    mediaTypes: [linesType],
    schema: Type.Object({}),
    bytesMax: 1_000,
    ambiguousReachesHandler: false,
    examples: {},
  },
  answer: ({ body }) => ({
    lines: {
      async follow(stream) {
        let bytes = 0
        try {
          for await (const chunk of (body as LinesBody).chunks(stream.ended)) {
            bytes += chunk.length
            stream.send({ bytes })
            if (isHeld) await once(stream.ended, 'abort')
          }
          return { done: true, bytes }
        } catch (error) {
          return { ...stream.failed(error), bytes }
        }
      },
    },
  }),
})

const limits = { requestTimeoutMs: 300, headersTimeoutMs: 200, checkIntervalMs: 50 }

async function counted(edge: { port: number }) {
  const connection = await openRaw(edge.port)
  after(() => connection.socket.destroy())
  let received = ''
  connection.socket.on('data', (bytes) => (received += String(bytes)))
  const see = async (text: RegExp): Promise<void> => {
    while (!text.test(received))
      await new Promise((resolve) => connection.socket.once('data', resolve))
  }
  return { ...connection, see, received: () => received }
}

const head = (length: number) =>
  request('POST /count', [`Content-Type: ${linesType}`, `Content-Length: ${length}`])

test('a body of lines may take longer than a request, and is answered while it arrives', async () => {
  const edge = await startEdge({ endpoints: [counting], limits })
  after(() => edge.stop())
  const slow = await counted(edge)
  slow.send(`${head(6)}abc`)
  await slow.see(/\{"bytes":3\}/)
  // A request that waits for its body shows that the time is over.
  const other = await openRaw(edge.port)
  other.send(request('GET /count', ['Content-Length: 5']).slice(0, -2))
  assert.equal((await other.answer()).status, 408)
  slow.send('def')
  await slow.see(/\{"done":true,"bytes":6\}/)
  await slow.closed
})

test('behind a half-duplex proxy, the answer begins when the body is whole, or cannot become it', async () => {
  const edge = await startEdge({ endpoints: [counting], limits })
  const halves = await Promise.all([counted(edge), counted(edge)])
  for (const { send } of halves) send(`${head(6).slice(0, -2)}X-Half-Duplex: 1\r\n\r\nabc`)
  const full = await counted(edge)
  full.send(`${head(6)}abc`)
  await full.see(/\{"bytes":3\}/)
  assert.deepEqual(
    halves.map(({ received }) => received()),
    ['', ''],
  )
  halves[0]?.send('def')
  await halves[0]?.see(/^HTTP\/1.1 200 .*\{"bytes":3\}.*\{"bytes":6\}.*\{"done":true,"bytes":6\}/s)
  await edge.stop()
  await halves[1]?.see(/^HTTP\/1.1 200 .*\{"bytes":3\}.*\{"error":"unavailable".*\r\n0\r\n\r\n$/s)
  const [, body = ''] = halves[1]?.received().split('\r\n\r\n') ?? []
  assert.doesNotMatch(body, /^0/, 'the end of the chunks comes last')
})

test('a body over its limit ends with an error line, and a declared one is 413', async () => {
  const edge = await startEdge({ endpoints: [counting] })
  after(() => edge.stop())
  const chunked = await counted(edge)
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
  chunked.send(
    request('POST /count', [`Content-Type: ${linesType}`, 'Transfer-Encoding: chunked']) + chunk,
  )
  await chunked.see(/\{"error":"payload_too_large","message":"The body is over 1000 bytes."/)
  await chunked.closed
  const declared = await openRaw(edge.port)
  declared.send(post('/count', 'x'.repeat(1_001), [`Content-Type: ${linesType}`]))
  assert.equal((await declared.answer()).status, 413)
})

test('a server that stops ends a stream with an error line; a sender that leaves ends its own', async () => {
  const edge = await startEdge({ endpoints: [counting] })
  const [left, open] = [await counted(edge), await counted(edge)]
  for (const one of [left, open]) {
    one.send(`${head(6)}abc`)
    await one.see(/\{"bytes":3\}/)
  }
  left.socket.destroy()
  await edge.stop()
  await open.closed
  assert.match(open.received(), /\{"error":"unavailable".*"bytes":3\}/)
  assert.match(edge.logged(), /a stream of lines broke off/)
})

test('a server that stops finishes each body that has arrived, and takes new ones until its delay is over', async () => {
  const edge = await startEdge({ endpoints: [counting] })
  const [whole, later] = [await counted(edge), await counted(edge)]
  isHeld = true
  const question = post('/count', 'abc', [`Content-Type: ${linesType}`])
  whole.send(question)
  await whole.see(/\{"bytes":3\}/)
  const drained = edge.drain(500)
  later.send(question)
  await drained
  isHeld = false
  for (const one of [whole, later]) assert.match(one.received(), /\{"done":true,"bytes":3\}/)
})

test('a sender may be silent for 30 seconds, or send a kilobyte a second', async () => {
  let now = 0
  async function* sent(pieces: readonly [ms: number, bytes: number][]) {
    for (const [ms, bytes] of pieces) {
      now += ms
      yield Buffer.alloc(bytes)
    }
  }
  const read = async (pieces: readonly [number, number][]) => {
    const request = { iterator: () => sent(pieces), resume() {} }
    const { signal } = new AbortController()
    let bytes = 0
    const body = streamedBody(request as never, { bytesMax: 1e9, signal }, () => now)
    for await (const chunk of body) bytes += chunk.length
    return bytes
  }
  const times = <Piece>(count: number, piece: Piece) => Array.from({ length: count }, () => piece)
  assert.equal(
    await read([
      [29_000, 60_000],
      [29_000, 60_000],
    ]),
    120_000,
  )
  assert.equal(await read(times(100, [10_000, 10_240])), 1_024_000)
  await assert.rejects(read(times(100, [10_000, 5_000])), /slow|time/)
  await assert.rejects(
    read([
      [1_000, 1],
      [29_500, 1],
      [1, 1],
    ]),
    /slow|time/,
  )
})
