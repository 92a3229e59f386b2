/**
 * Slow callers, too many callers, overload, and the shutdown of a process. The limits are scaled
 * down; the behaviour is the real one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import {
  ask,
  faultOfError,
  openRaw,
  post,
  request,
  sampleEndpoints,
  startEdge,
  type TestEdge,
} from '../../test/support/start/edge.ts'
import { eventually } from '../../test/support/start/processes.ts'
import { publicDocument } from './http/document.ts'
import { type Answer, endpoint } from './http/endpoint.ts'

const fast = { checkIntervalMs: 20 }

/** Declares an endpoint that answers when the test says so, and a document of 32 MiB. */
function heldEndpoints() {
  const held: ((answer: Answer) => void)[] = []
  const arrivals: (() => void)[] = []
  const open = { area: 'x', summary: 'x', policy: { kind: 'open' }, responses: {} } as const
  const body = `"${'x'.repeat(1 << 25)}"`
  const representation = publicDocument({
    body: '{}',
    contentType: 'application/json',
    maxAgeSeconds: 1,
  })
  const large = {
    ...representation,
    representations: [{ encoding: 'identity' as const, bytes: Buffer.from(body), etag: '"x"' }],
  }
  const wait = (): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    held.push(resolve)
    for (const arrived of arrivals.splice(0)) arrived()
    return promise
  }
  const endpoints = [
    ...sampleEndpoints(),
    endpoint({
      ...open,
      operationId: 'held',
      method: 'GET',
      path: '/held',
      priority: 'write',
      answer: wait,
    }),
    endpoint({
      ...open,
      operationId: 'large',
      method: 'GET',
      path: '/large',
      priority: 'public',
      answer: () => ({ document: large }),
    }),
    endpoint({
      ...open,
      operationId: 'search',
      method: 'GET',
      path: '/search',
      priority: 'search',
      queryParameters: Type.Object({}),
      answer: () => ({ status: 200, body: {} }),
    }),
  ]
  /** Resolves when `count` requests wait for their response. */
  const waiting = async (count: number): Promise<void> => {
    while (held.length < count) await new Promise<void>((resolve) => arrivals.push(resolve))
  }
  const release = (): void => {
    for (const resolve of held.splice(0)) resolve({ status: 200, body: {} })
  }
  return { endpoints, waiting, release }
}

test('a response that cannot be written closes its connection, and the server keeps running', async (t) => {
  const open = { area: 'x', summary: 'x', policy: { kind: 'open' }, responses: {} } as const
  const unwritable = { status: 200, body: 1n }
  const edge = await startEdge({
    endpoints: [
      ...sampleEndpoints(),
      endpoint({
        ...open,
        operationId: 'atOnce',
        method: 'GET',
        path: '/at-once',
        priority: 'public',
        answer: () => unwritable,
      }),
      endpoint({
        ...open,
        operationId: 'later',
        method: 'GET',
        path: '/later',
        priority: 'public',
        answer: () => Promise.resolve(unwritable),
      }),
    ],
  })
  t.after(() => edge.stop())
  for (const path of ['/at-once', '/later']) {
    await assert.rejects(ask(edge.port, request(`GET ${path}`)), /the connection ended/, path)
    assert.equal((await ask(edge.port, request('GET /document'))).status, 200)
  }
  assert.equal(edge.logged().split('an answer could not be written').length, 3)
})

test('408: headers that do not arrive in time end the connection', async (t) => {
  const edge = await startEdge({
    limits: { ...fast, headersTimeoutMs: 100, requestTimeoutMs: 200 },
  })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.send('GET /document HTTP/1.1\r\nHost: x\r\nA: ')
  const answer = await connection.answer()
  await connection.closed
  assert.equal(faultOfError(answer, 'request_timeout'), null)
})

test('408: a connection that never sends anything is closed', async (t) => {
  const edge = await startEdge({
    limits: { ...fast, headersTimeoutMs: 100, requestTimeoutMs: 200 },
  })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  assert.equal(faultOfError(await connection.answer(), 'request_timeout'), null)
  await connection.closed
})

test('408: a body shorter than its Content-Length ends at its deadline, with one line in the log', async (t) => {
  // Long enough for the head.
  const edge = await startEdge({
    limits: { ...fast, headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 },
  })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.send(
    request('POST /echo', ['Content-Type: application/json', 'Content-Length: 9'], '{"a":1}'),
  )
  const answer = await connection.answer()
  await connection.closed
  assert.equal(faultOfError(answer, 'request_timeout'), null)
  const lines = edge.logged().trim().split('\n')
  assert.equal(lines.length, 1)
  const { status, route, requestId } = JSON.parse(lines[0] as string)
  assert.deepEqual([status, route, requestId], [408, '/echo', answer.headers['x-request-id']])
})

for (const [when, authorization] of [
  ['at once', 'x'],
  ['a moment later', `Bearer svc_live_${'a'.repeat(36)}`],
])
  test(`401, ${when}, before the body is complete: no second response follows at its deadline`, async (t) => {
    const edge = await startEdge({
      limits: { ...fast, headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 },
    })
    t.after(() => edge.stop())
    const connection = await openRaw(edge.port)
    const lines = ['Content-Type: application/json', 'Content-Length: 9']
    connection.send(request('POST /echo', [...lines, `Authorization: ${authorization}`], '{"a":1}'))
    assert.equal((await connection.answer()).status, 401)
    await assert.rejects(connection.answer(), /the connection ended after ""/)
    assert.equal(edge.logged().trim().split('\n').length, 1)
  })

test('400: a caller that keeps sending invalid bytes has time to read its response', async (t) => {
  const edge = await startEdge()
  t.after(() => edge.stop())
  // The timer for the remaining bytes fires only when the test says so.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const [broken, other] = [await openRaw(edge.port), await openRaw(edge.port)]
  broken.socket.pause()
  broken.send('NONSENSE\r\n\r\n')
  while (!edge.logged().includes('"status":400')) await nextTurn()
  broken.send('NONSENSE\r\n\r\n')
  for (let i = 0; i < 3; i++) {
    other.send(request('GET /document'))
    assert.equal((await other.answer()).status, 200)
  }
  assert.match(await edge.metrics.text(), /^http_connections 2$/m)
  broken.socket.resume()
  assert.equal((await broken.answer()).status, 400)
  t.mock.timers.runAll()
  await broken.closed
  other.socket.destroy()
})

test('a caller that does not read its response is disconnected', async (t) => {
  const { endpoints } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { ...fast, readTimeoutMs: 100 } })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.socket.pause()
  connection.send(request('GET /large'))
  await untilConnected(edge, 0)
  connection.socket.destroy()
})

test('a caller that does not read a response which waited behind others is disconnected', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { ...fast, readTimeoutMs: 100 } })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.socket.pause()
  connection.send(request('GET /held') + request('GET /large'))
  await waiting(1)
  release()
  await untilConnected(edge, 0)
  connection.socket.destroy()
})

async function untilHeld(edge: TestEdge, count: number): Promise<void> {
  const gauge = async () =>
    /^http_waiting\{priority="write"\} (\d+)$/m.exec(await edge.metrics.text())?.[1]
  while ((await gauge()) !== String(count)) await nextTurn()
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

async function untilConnected(edge: TestEdge, count: number): Promise<void> {
  const gauge = async () => /^http_connections (\d+)$/m.exec(await edge.metrics.text())?.[1]
  while ((await gauge()) !== String(count)) await nextTurn()
}

test('the connections of one address are limited, those of a trusted proxy are not', async (t) => {
  const limits = { connectionsPerAddressMax: 2 }
  const edge = await startEdge({ trustedProxies: [], limits })
  t.after(() => edge.stop())
  const two = [await openRaw(edge.port), await openRaw(edge.port)]
  for (const connection of two) {
    connection.send(request('GET /document'))
    assert.equal((await connection.answer()).status, 200)
  }
  const third = await openRaw(edge.port)
  await third.closed
  two[0]?.socket.destroy()
  await untilConnected(edge, 1)
  const next = await openRaw(edge.port)
  next.send(request('GET /document'))
  assert.equal((await next.answer()).status, 200, 'whoever leaves makes room')
  for (const { socket } of [...two, next]) socket.destroy()

  const behindProxy = await startEdge({ trustedProxies: ['127.0.0.0/8'], limits })
  const all = await Promise.all([1, 2, 3, 4].map(() => openRaw(behindProxy.port)))
  for (const connection of all) {
    connection.send(request('GET /document'))
    assert.equal((await connection.answer()).status, 200)
  }
  for (const { socket } of all) socket.destroy()
  await behindProxy.stop()
})

test('the connections of all addresses together are limited, and refused ones are counted', async (t) => {
  const edge = await startEdge({ limits: { connectionsMax: 2 } })
  t.after(() => edge.stop())
  const two = [await openRaw(edge.port), await openRaw(edge.port)]
  for (const connection of two) {
    connection.send(request('GET /document'))
    assert.equal((await connection.answer()).status, 200)
  }
  await (await openRaw(edge.port)).closed
  assert.match(await edge.metrics.text(), /^http_connections_refused 1$/m)
  for (const { socket } of two) socket.destroy()
})

const gate = { slots: 1, turnMs: 5, turnAloneMs: 5, waitMs: 60_000 }

test('503 overloaded: a request is rejected when its wait is over, and not before', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { gate: { ...gate, waitMs: 50 } } })
  t.after(() => edge.stop())
  const busy = ask(edge.port, request('GET /held'))
  await waiting(1)
  const sentAt = performance.now()
  const connection = await openRaw(edge.port)
  connection.send(request('GET /held'))
  const refused = await connection.answer()
  assert.ok(performance.now() - sentAt >= 50)
  assert.equal(faultOfError(refused, 'overloaded'), null)
  assert.match(refused.headers['retry-after'] ?? '', /^[123]$/)
  assert.equal((await ask(edge.port, request('GET /search'))).status, 200, 'another priority')
  release()
  assert.equal((await busy).status, 200)
  connection.send(request('GET /held'))
  await waiting(1)
  release()
  assert.equal((await connection.answer()).status, 200, 'the connection lives on')
  assert.match(await edge.metrics.text(), /^http_shed_total\{route="GET \/held"\} 1$/m)
  connection.socket.destroy()
})

test('a client with one request waits for one round of all clients, not for the requests of another', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { gate } })
  t.after(() => edge.stop())
  const order: string[] = []
  const send = async (client: string) => {
    const connection = await openRaw(edge.port)
    connection.send(request('GET /held', [`X-Forwarded-For: ${client}`]))
    const served = connection.answer().then(() => order.push(client))
    return served.finally(() => connection.socket.destroy())
  }
  const first = send('192.0.2.1')
  await waiting(1)
  const flood = Array.from({ length: 20 }, () => send('192.0.2.1'))
  await untilHeld(edge, 20)
  const light = send('198.51.100.1')
  await untilHeld(edge, 21)
  const all = [first, ...flood, light]
  for (let served = 1; served < all.length; served++) {
    release()
    await waiting(1)
  }
  release()
  await Promise.all(all)
  assert.equal(order.indexOf('198.51.100.1'), 2, order.join())
})

test('a request whose caller leaves while it waits is not served', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { gate } })
  t.after(() => edge.stop())
  const busy = ask(edge.port, request('GET /held'))
  await waiting(1)
  const leaver = await openRaw(edge.port)
  leaver.send(request('GET /held'))
  await untilHeld(edge, 1)
  leaver.socket.destroy()
  await untilHeld(edge, 0)
  release()
  await busy
  assert.match(edge.logged(), /"status":499/)
  assert.match(await edge.metrics.text(), /^http_in_flight\{priority="write"\} 0$/m)
})

test('8 unanswered requests of one connection are answered; one more closes it', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints })
  t.after(() => edge.stop())
  const eight = await openRaw(edge.port)
  eight.send(request('GET /held').repeat(8))
  await waiting(1)
  const nine = await openRaw(edge.port)
  nine.send(request('GET /held').repeat(9))
  await nine.closed
  for (let i = 0; i < 8; i++) {
    await waiting(1)
    release()
    assert.equal((await eight.answer()).status, 200)
  }
  for (let round = 0; round < 3; round++) {
    eight.send(request('GET /document').repeat(8))
    for (let i = 0; i < 8; i++) assert.equal((await eight.answer()).status, 200)
  }
  assert.match(await edge.metrics.text(), /^http_connections_refused 1$/m)
  eight.socket.destroy()
})

/** The head and one byte of a body of 200 KB. */
const dripped = (client: string) =>
  request(
    'POST /echo',
    ['Content-Type: application/json', 'Content-Length: 200000', `X-Forwarded-For: ${client}`],
    '{',
  )

test('200: a body that is still being read takes no slot', async (t) => {
  const edge = await startEdge({ limits: { gate } })
  t.after(() => edge.stop())
  const slow = await Promise.all([1, 2, 3].map(() => openRaw(edge.port)))
  for (const [i, connection] of slow.entries()) connection.send(dripped(`192.0.2.${i}`))
  await eventually('the bodies are open', {
    see: async () => /^http_open_bodies 3$/m.test(await edge.metrics.text()),
  })
  const answer = await ask(edge.port, post('/echo', '{}', ['X-Forwarded-For: 198.51.100.1']))
  assert.equal(answer.status, 200)
  for (const { socket } of slow) socket.destroy()
  await eventually('nothing is held of callers that are gone', {
    see: async () => /^http_body_bytes 0$/m.test(await edge.metrics.text()),
  })
})

test('503 overloaded: beyond the limit of one network its slowest open body is cut', async (t) => {
  const edge = await startEdge({ limits: { openBodiesPerNetworkMax: 1 } })
  t.after(() => edge.stop())
  const [slow, next] = [await openRaw(edge.port), await openRaw(edge.port)]
  slow.send(dripped('192.0.2.1'))
  await eventually('the first body is open', {
    see: async () => /^http_open_bodies 1$/m.test(await edge.metrics.text()),
  })
  next.send(dripped('192.0.2.1'))
  const refused = await slow.answer()
  assert.equal(faultOfError(refused, 'overloaded'), null)
  assert.equal(refused.headers.connection, 'close')
  await slow.closed
  next.socket.destroy()
})

test('408: a body below the minimum rate ends its connection; a fast one continues', async (t) => {
  const edge = await startEdge({ limits: { ...fast, bodyGraceMs: 50, bodyRateMin: 100_000_000 } })
  t.after(() => edge.stop())
  const slow = await openRaw(edge.port)
  slow.send(dripped('192.0.2.1'))
  const refused = await slow.answer()
  assert.equal(faultOfError(refused, 'request_timeout'), null)
  assert.equal(refused.headers.connection, 'close')
  await slow.closed
  assert.equal((await ask(edge.port, post('/echo', '{}'))).status, 200)
})

test('503: an endpoint misses its deadline, and its late result is dropped', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { ...fast, answerTimeoutMs: 60 } })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.send(request('GET /held'))
  await waiting(1)
  assert.equal(faultOfError(await connection.answer(), 'unavailable'), null)
  assert.match(
    await edge.metrics.text(),
    /^http_in_flight\{priority="write"\} 0$/m,
    'it is given up',
  )
  release()
  connection.send(request('GET /document'))
  assert.equal((await connection.answer()).status, 200)
  connection.socket.destroy()
})

test('responses that are due on a connection are sent before the 413 that ends it', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  connection.send(request('GET /held'))
  await waiting(1)
  connection.send(
    request('POST /echo', ['Content-Type: application/json', 'Content-Length: 2000000']),
  )
  release()
  assert.equal((await connection.answer()).status, 200)
  assert.equal((await connection.answer()).status, 413)
  await connection.closed
})

test('400: a body that breaks off behind another request gets its response after that one', async (t) => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints })
  t.after(() => edge.stop())
  const connection = await openRaw(edge.port)
  const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  connection.send(request('GET /held') + request('POST /echo', chunked, 'no chunk\r\n'))
  await waiting(1)
  release()
  assert.equal((await connection.answer()).status, 200)
  assert.equal((await connection.answer()).status, 400)
  await connection.closed
})

test('200: the time of a slow body is added to the time of its response', async (t) => {
  const { endpoints, waiting } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { ...fast, answerTimeoutMs: 60 } })
  t.after(() => edge.stop())
  const slow = await openRaw(edge.port)
  const bytes = post('/echo', '{}')
  slow.send(bytes.subarray(0, -1))
  const late = ask(edge.port, request('GET /held'))
  await waiting(1)
  assert.equal((await late).status, 503, 'an answer is overdue by now')
  slow.send(bytes.subarray(-1))
  assert.equal((await slow.answer()).status, 200)
  slow.socket.destroy()
})

test('readiness is green if all checks pass, and red if one fails, throws or hangs', async () => {
  const ready = async (readiness: () => Promise<Record<string, string>>) => {
    const edge = await startEdge({ readiness })
    const answer = await ask(edge.port, request('GET /readyz'))
    const live = await ask(edge.port, request('GET /healthz'))
    await edge.stop()
    assert.equal(live.status, 200)
    assert.equal(answer.headers['cache-control'], 'private, no-store')
    return [answer.status, JSON.parse(String(answer.body))]
  }
  const ok = { database: 'ok' }
  assert.deepEqual(await ready(async () => ok), [200, { status: 'ready', checks: ok }])
  const red = { ...ok, key: 'none' }
  assert.deepEqual(await ready(async () => red), [503, { status: 'not_ready', checks: red }])
  const thrown = await ready(() => Promise.reject(new Error('inside')))
  assert.deepEqual(thrown, [503, { status: 'not_ready', checks: { checks: 'failed' } }])
  const silent = await ready(() => new Promise(() => {}))
  assert.equal(silent[0], 503)
})

test('drain: readiness turns red, requests in progress finish, then no connection is accepted', async () => {
  const { endpoints, waiting, release } = heldEndpoints()
  const edge = await startEdge({ endpoints })
  const kept = await openRaw(edge.port)
  kept.send(request('GET /document'))
  await kept.answer()
  const busy = await openRaw(edge.port)
  busy.send(request('GET /held'))
  await waiting(1)
  // Long enough to send the requests below.
  const drained = edge.drain(2_000)
  kept.send(request('GET /readyz'))
  const ready = await kept.answer()
  assert.equal(ready.status, 503)
  assert.equal(JSON.parse(String(ready.body)).checks.server, 'draining')
  assert.equal(ready.headers.connection, 'close')
  await kept.closed
  release()
  const finished = await busy.answer()
  assert.equal(finished.status, 200)
  assert.equal(finished.headers.connection, 'close', 'it began before anybody knew of the drain')
  await busy.closed
  await drained
  await assert.rejects(fetch(`http://127.0.0.1:${edge.port}/document`))
})

test('drain: a connection that waits to be accepted is answered', async () => {
  const edge = await startEdge()
  // The system accepts them before the server does.
  const connections = Array.from({ length: 50 }, () => openRaw(edge.port))
  const drained = edge.drain(0)
  const answers = connections.map(async (opened) => {
    const connection = await opened
    connection.send(request('GET /document'))
    return (await connection.answer()).status
  })
  assert.deepEqual(new Set(await Promise.all(answers)), new Set([200]))
  await drained
})

test('drain: a second call cuts off requests in progress', { timeout: 10_000 }, async () => {
  const { endpoints, waiting } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { drainTimeoutMs: 30_000 } })
  const busy = ask(edge.port, request('GET /held'))
  busy.catch(() => {})
  await waiting(1)
  const drained = edge.drain(0)
  await edge.drain(0)
  await assert.rejects(busy, /the connection ended/)
  await drained
})

test('drain: requests that exceed the drain timeout are cut off', async () => {
  const { endpoints, waiting } = heldEndpoints()
  const edge = await startEdge({ endpoints, limits: { drainTimeoutMs: 50 } })
  const busy = ask(edge.port, request('GET /held'))
  busy.catch(() => {})
  await waiting(1)
  await edge.drain(0)
  await assert.rejects(busy, /the connection ended/)
})
