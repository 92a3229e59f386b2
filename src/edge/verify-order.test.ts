/**
 * The order of checks on a route with a body and an optional key (decision D18), and the exact size
 * limit of a body.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  ask,
  faultOfError,
  openRaw,
  post,
  request,
  startEdge,
  validKey,
} from '../../test/support/start/edge.ts'
import { UnavailableError } from '../platform/errors.ts'

const edge = await startEdge()
after(() => edge.stop())

let callers = 0
const from = (caller: number): string => `X-Forwarded-For: 10.2.${caller >> 8}.${caller & 255}`
const send = (body: string | Buffer, lines: string[] = []) =>
  ask(edge.port, post('/echo', body, [from(++callers), ...lines]))

const object = (bytes: number): string => `{${' '.repeat(bytes - 2)}}`

function chunked(body: string, chunkBytes: number): Buffer {
  const head = request('POST /echo', [
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
    from(++callers),
  ])
  const parts = [head]
  for (let at = 0; at < body.length; at += chunkBytes) {
    const part = body.slice(at, at + chunkBytes)
    parts.push(`${part.length.toString(16)}\r\n${part}\r\n`)
  }
  return Buffer.from(`${parts.join('')}0\r\n\r\n`)
}

test('the checks run in this order: version, media type, key, rate, size, JSON', async () => {
  const wrong = {
    version: 'Service-Version: 2020-01-01',
    type: 'Content-Type: text/plain',
    key: 'Authorization: Bearer x',
  }
  const large = object(262_145)
  const order = [
    await send(large, [wrong.version, wrong.type, wrong.key]),
    await send(large, [wrong.type, wrong.key]),
    await send(large, [wrong.key]),
    await send(large),
    await send('{'),
    await send('{}'),
  ]
  assert.deepEqual(
    order.map(({ status }) => status),
    [400, 415, 401, 413, 400, 200],
  )
  const [version] = order
  assert.ok(version !== undefined && faultOfError(version, 'unsupported_version') === null)
})

test('429: the 61st call of one address within a minute is rejected before its size is checked', async () => {
  const caller = from(++callers)
  for (let call = 1; call <= 60; call++) {
    const { status, headers } = await ask(edge.port, post('/echo', '{}', [caller]))
    assert.equal(status, 200, `call ${call}`)
    assert.equal(headers['ratelimit-policy'], '"minute";q=60;w=60, "day";q=1000;w=86400')
    assert.match(headers.ratelimit ?? '', new RegExp(`^"minute";r=${60 - call};t=\\d+, "day";r=`))
  }
  const refused = await ask(edge.port, post('/echo', object(262_145), [caller]))
  assert.equal(faultOfError(refused, 'rate_limited'), null)
  const wait = Number(refused.headers['retry-after'])
  assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `Retry-After ${wait}`)
  assert.match(refused.headers.ratelimit ?? '', /^"minute";r=0;t=\d+/)
  const other = await send('{}')
  assert.equal(other.status, 200, 'another address is not touched')
})

test('401, and 429 from the 31st failure of one address: its anonymous calls are counted apart', async () => {
  const caller = from(++callers)
  const present = () => ask(edge.port, post('/echo', '{}', [caller, 'Authorization: x']))
  for (let call = 0; call < 30; call++) assert.equal((await present()).status, 401)
  const refused = await present()
  assert.equal(faultOfError(refused, 'rate_limited'), null)
  assert.match(refused.headers['retry-after'] ?? '', /^\d+$/)
  const { headers } = await ask(edge.port, post('/echo', '{}', [caller]))
  assert.match(headers.ratelimit ?? '', /^"minute";r=59;/)
})

test('503: if the limiter does not answer, no call is admitted', async () => {
  const away = new UnavailableError('no database')
  const other = await startEdge({
    limiter: { take: () => Promise.reject(away), isFull: () => false },
  })
  const answer = await ask(other.port, post('/echo', '{}'))
  await other.stop()
  assert.equal(faultOfError(answer, 'unavailable'), null)
  assert.equal(answer.headers['retry-after'], '1')
})

test('200: a body of 262,144 bytes is accepted, by length and chunked', async () => {
  assert.equal((await send(object(262_144))).status, 200)
  assert.equal((await ask(edge.port, chunked(object(262_144), 10_000))).status, 200)
  assert.equal((await ask(edge.port, chunked(object(262_144), 262_144))).status, 200)
})

test('413: a length of 262,145 bytes is rejected before the body is sent', async () => {
  const lines = ['Content-Type: application/json', 'Content-Length: 262145', from(++callers)]
  const answer = await ask(edge.port, request('POST /echo', lines))
  assert.equal(faultOfError(answer, 'payload_too_large'), null)
  assert.match(JSON.parse(String(answer.body)).message, /262144/)
})

test('413: a chunked body of 262,145 bytes is rejected while it is read', async () => {
  const connection = await openRaw(edge.port)
  const whole = chunked(object(262_145 + 5), 262_145)
  // Without its last bytes: a server that reads the whole body first would wait for them.
  connection.send(whole.subarray(0, whole.length - 10))
  const answer = await connection.answer()
  connection.socket.destroy()
  assert.equal(faultOfError(answer, 'payload_too_large'), null)
})

test('413: the response arrives whole although the caller keeps sending, then the connection ends', async () => {
  const connection = await openRaw(edge.port)
  const megabyte = Buffer.alloc(1_048_576, ' ')
  connection.send(
    request('POST /echo', [
      'Content-Type: application/json',
      `Content-Length: ${64 * megabyte.length}`,
      from(++callers),
    ]),
  )
  for (let i = 0; i < 8; i++) connection.send(megabyte)
  assert.equal((await connection.answer()).status, 413)
  await connection.closed
})

test('100 Continue is sent after all checks that need no body, and not before', async () => {
  const expect = ['Content-Type: application/json', 'Expect: 100-continue']
  const fine = await openRaw(edge.port)
  fine.send(request('POST /echo', [...expect, 'Content-Length: 2', from(++callers)]))
  assert.equal((await fine.answer()).status, 100)
  fine.send('{}')
  assert.equal((await fine.answer()).status, 200)
  fine.socket.destroy()
  const refusals = [
    ['Content-Length: 262145'],
    ['Content-Length: 2', 'Authorization: x'],
    ['Content-Length: 2', 'Content-Encoding: gzip'],
  ]
  for (const lines of refusals) {
    const refused = await openRaw(edge.port)
    refused.send(request('POST /echo', [...expect, ...lines, from(++callers)]))
    assert.ok([401, 413, 415].includes((await refused.answer()).status))
    await refused.closed
  }
})

test('200: an endpoint that declares it receives ambiguous JSON, with the reason', async () => {
  const bodies = ['{"a":1,"a":1}', '{"a":"\\udc00"}', '{"a":1e999}', '{"__proto__":1}']
  for (const body of [...bodies, `{"a":${'['.repeat(40)}${']'.repeat(40)}}`]) {
    const answer = await send(body)
    assert.equal(answer.status, 200, body)
    assert.equal(typeof JSON.parse(String(answer.body)).ambiguous, 'string')
  }
})

test('200: a media type is accepted in every legal spelling', async () => {
  const types = [
    'application/json',
    'APPLICATION/JSON',
    'application/ld+json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; Charset=Utf-8',
    'application/ld+json; profile="http://www.w3.org/ns/json-ld#compacted"',
  ]
  for (const type of types)
    assert.equal((await send('{}', [`Content-Type: ${type}`])).status, 200, type)
  assert.equal((await send('{}', ['Content-Encoding: identity'])).status, 200)
})

test('a connection stays open after a rejection whose body was short', async () => {
  const connection = await openRaw(edge.port)
  connection.send(post('/echo', '{"a":1}', ['Authorization: x']))
  connection.send(request('GET /document'))
  assert.equal((await connection.answer()).status, 401)
  assert.equal((await connection.answer()).status, 200)
  connection.socket.destroy()
})

test('413: a connection stays open after a body of 1,048,576 bytes, and ends after one more', async () => {
  for (const [bytes, ends] of [
    [1_048_576, 'keep-alive'],
    [1_048_577, 'close'],
  ] as const) {
    const connection = await openRaw(edge.port)
    connection.send(post('/echo', object(bytes), [from(++callers)]))
    const { status, headers } = await connection.answer()
    assert.deepEqual([status, headers.connection], [413, ends])
    if (ends === 'keep-alive') {
      connection.send(request('GET /document'))
      assert.equal((await connection.answer()).status, 200)
      connection.socket.destroy()
    } else await connection.closed
  }
})

test('a test key has the limits of its address on a route open to anonymous callers', async (t) => {
  const caller = { ...validKey.caller, environment: 'test' as const }
  const other = await startEdge({ authenticate: () => Promise.resolve({ ...validKey, caller }) })
  t.after(() => other.stop())
  const call = (lines: string[]) => ask(other.port, post('/echo', '{}', [from(0), ...lines]))
  for (const [i, lines] of [
    ['Authorization: Bearer k'],
    [],
    ['Authorization: Bearer k'],
  ].entries()) {
    const { status, headers } = await call(lines)
    assert.equal(status, 200)
    assert.match(headers['ratelimit-policy'] ?? '', /^"minute";q=60;/)
    assert.match(headers.ratelimit ?? '', new RegExp(`^"minute";r=${59 - i};`))
  }
})

test('a valid key has its own limits at any address', async () => {
  const other = await startEdge({ authenticate: () => Promise.resolve(validKey) })
  const answer = await ask(other.port, post('/echo', '{}', ['Authorization: Bearer k']))
  await other.stop()
  assert.equal(answer.status, 200)
  assert.match(answer.headers['ratelimit-policy'] ?? '', /^"minute";q=600;/)
})
