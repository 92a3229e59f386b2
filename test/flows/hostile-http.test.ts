/**
 * Hostile HTTP, byte by byte over raw connections. Each answer has the expected status, exactly the
 * closed error body of the specification and the headers that every error carries (decision D6).
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fromElsewhere, hostileCases } from '../support/fault/hostile-requests.ts'
import fc from '../support/oracle/fc.ts'
import { ask, faultOfError, openRaw, post, request, startEdge } from '../support/start/edge.ts'

const edge = await startEdge()
after(() => edge.stop())

const json = 'Content-Type: application/json'

for (const [name, bytes, status, error] of hostileCases) {
  test(`${status} ${error}: ${name}`, async () => {
    const answer = await ask(edge.port, fromElsewhere(bytes))
    assert.equal(faultOfError(answer, error), null)
    assert.equal(answer.status, status)
  })
}

test('400: an unsupported version names the supported one', async () => {
  const answer = await ask(edge.port, request('GET /document', ['Service-Version: 2020-01-01']))
  assert.equal(JSON.parse(String(answer.body)).supported_version, '2026-05-14')
})

const ownHosts = ['scores.example.org', 'SCORES.example.org', 'scores.example.org:443']
for (const host of ownHosts)
  test(`200: an absolute-form target of our own host is served: ${host}`, async () => {
    const lines = 'HTTP/1.1\r\nHost: other.example\r\n\r\n'
    const plain = await ask(edge.port, request('GET /document'))
    const absolute = await ask(edge.port, `GET https://${host}/document?x=1 ${lines}`)
    assert.deepEqual([absolute.status, absolute.body], [200, plain.body])
    const root = await ask(edge.port, `GET http://${host} ${lines}`)
    assert.equal(faultOfError(root, 'not_found'), null)
  })

test('200: an absolute-form target is served if the Host header names the same host', async () => {
  const plain = await ask(edge.port, request('GET /document'))
  const lines = 'HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n\r\n'
  const absolute = await ask(edge.port, `GET http://127.0.0.1:3000/document ${lines}`)
  assert.deepEqual([absolute.status, absolute.body], [200, plain.body])
})

test('204: OPTIONS * names every method of the service', async () => {
  const answer = await ask(edge.port, request('OPTIONS *'))
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.allow, 'GET, HEAD, OPTIONS, POST')
  assert.match(answer.headers['x-request-id'] ?? '', /^[\w-]{16}$/)
})

for (const host of ['evil.example', 'user@scores.example.org', 'scores.example.org:8080', ''])
  test(`400: an absolute-form target of another host is rejected: "${host}"`, async () => {
    const lines = 'HTTP/1.1\r\nHost: scores.example.org\r\n\r\n'
    const answer = await ask(edge.port, `GET http://${host}/document ${lines}`)
    assert.equal(faultOfError(answer, 'bad_request'), null)
  })

test('415: the message names the received and the required media type', async () => {
  const long = `text/${'x'.repeat(200)}`
  const cases: [string[], string][] = [
    [[], 'There is no Content-Type. Send application/json or application/ld+json.'],
    [
      ['Content-Type: application/x-www-form-urlencoded'],
      'The Content-Type is application/x-www-form-urlencoded. Send application/json or application/ld+json.',
    ],
    [
      ['Content-Type: application/json; charset=utf-16'],
      'The Content-Type is application/json; charset=utf-16. Send application/json or application/ld+json in UTF-8.',
    ],
    [
      ['Content-Type: application/json', 'Content-Encoding: gzip'],
      'The Content-Encoding is gzip. Send application/json or application/ld+json without a Content-Encoding.',
    ],
    [
      [`Content-Type: ${long}`],
      `The Content-Type is ${long.slice(0, 100)}…. Send application/json or application/ld+json.`,
    ],
  ]
  for (const [lines, message] of cases) {
    const sent = request('POST /echo', ['Content-Length: 2', ...lines], '{}')
    const answer = await ask(edge.port, sent)
    assert.equal(faultOfError(answer, 'unsupported_media_type'), null)
    assert.equal(JSON.parse(String(answer.body)).message, message)
  }
})

test('400: the message names the parameter and its form', async () => {
  const answer = await ask(edge.port, request('GET /items/A'))
  assert.match(JSON.parse(String(answer.body)).message, /Parameter id .* Lowercase letters\./)
})

test('401: WWW-Authenticate names the scheme for keys', async () => {
  const answer = await ask(edge.port, post('/echo', '{}', ['Authorization: x']))
  assert.equal(answer.headers['www-authenticate'], 'Bearer')
})

test('500 and 503 reveal no internal detail', async () => {
  const broken = await ask(edge.port, request('GET /broken'))
  const away = await ask(edge.port, request('GET /away'))
  assert.doesNotMatch(String(broken.body) + String(away.body), /inside|secret|database/)
  assert.equal(away.headers['retry-after'], '7')
})

test('a rejected HEAD has the headers of the rejected GET and no body', async () => {
  const connection = await openRaw(edge.port)
  connection.send(request('HEAD /nothing') + request('GET /document'))
  const refused = await connection.answer({ head: true })
  const next = await connection.answer()
  connection.socket.destroy()
  assert.equal(refused.status, 404)
  assert.equal(refused.headers['content-type'], 'application/json')
  assert.equal(next.status, 200)
})

test('200: an Upgrade that the server did not offer is ignored', async () => {
  const lines = ['Connection: Upgrade', 'Upgrade: websocket']
  assert.equal((await ask(edge.port, request('GET /document', lines))).status, 200)
})

test('200: HTTP/1.0 without a Host is served and the connection ends', async () => {
  const connection = await openRaw(edge.port)
  connection.send('GET /document HTTP/1.0\r\n\r\n')
  assert.equal((await connection.answer()).status, 200)
  await connection.closed
})

test('a request hidden behind a rejected one is never served', async () => {
  const connection = await openRaw(edge.port)
  const hidden = request('GET /document')
  const body = `0\r\n\r\n${hidden}`
  const both = ['Content-Length: 4', 'Transfer-Encoding: chunked', 'Content-Type: application/json']
  connection.send(request('POST /echo', both, body))
  assert.equal((await connection.answer()).status, 400)
  await assert.rejects(connection.answer(), /the connection ended after ""/)
})

test('a pending answer is sent before the rejection of the next request on the connection', async () => {
  const connection = await openRaw(edge.port)
  connection.send(Buffer.concat([post('/echo', '{"a":1}'), Buffer.from('NONSENSE\r\n\r\n')]))
  const first = await connection.answer()
  assert.equal(first.status, 200)
  assert.equal(JSON.parse(String(first.body)).bytes, 7)
  assert.equal((await connection.answer()).status, 400)
  await connection.closed
})

test('every request before a rejected one gets its own answer, in order, and then the rejection is sent', async () => {
  const document = request('GET /document')
  const echo = String(post('/echo', '{"a":1}'))
  const broken = request('POST /echo', [json, 'Transfer-Encoding: chunked'], 'ZZ\r\n')
  const rounds: readonly (readonly [sent: string[], statuses: number[]])[] = [
    [['NONSENSE\r\n\r\n'], [400]],
    [
      [document, document, document, 'NONSENSE\r\n\r\n'],
      [200, 200, 200, 400],
    ],
    [
      [echo, echo, 'NONSENSE\r\n\r\n'],
      [200, 200, 400],
    ],
    [
      [echo, document, document, 'NONSENSE\r\n\r\n'],
      [200, 200, 200, 400],
    ],
    [
      [document, echo, document, 'NONSENSE\r\n\r\n'],
      [200, 200, 200, 400],
    ],
    [
      [document, document, broken],
      [200, 200, 400],
    ],
    [
      [echo, document, broken],
      [200, 200, 400],
    ],
    [
      [document, request('GET /document', ['Connection: close']), 'NONSENSE\r\n\r\n'],
      [200, 200],
    ],
  ]
  for (const [sent, statuses] of rounds) {
    const connection = await openRaw(edge.port)
    connection.send(sent.join(''))
    for (const [i, status] of statuses.entries())
      assert.equal((await connection.answer()).status, status, `${i} of ${sent.join(' ')}`)
    await assert.rejects(connection.answer(), /the connection ended after ""/)
  }
})

test('400: a Content-Length shorter than the body cuts the body, and the rest is not treated as a request', async () => {
  const connection = await openRaw(edge.port)
  const lines = ['Content-Type: application/json', 'Content-Length: 5', 'X-Forwarded-For: 10.9.9.9']
  connection.send(request('POST /echo', lines, '{"a":1}'))
  const first = await connection.answer()
  assert.equal(first.status, 400)
  await connection.closed
})

test('a caller that leaves in the middle of its body causes one log line and nothing else', async () => {
  const connection = await openRaw(edge.port)
  connection.send(request('POST /echo', [json, 'Content-Length: 100'], '{'))
  connection.socket.destroy()
  await connection.closed
  const answer = await ask(edge.port, request('GET /document'))
  assert.equal(answer.status, 200)
})

test('for any bytes the edge answers or closes the connection, and keeps serving', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('GET ', 'POST ', '/echo', '/items/%', ' HTTP/1.1\r\n', 'Host: x\r\n', '\r\n')
      .map((text) => Buffer.from(text)),
    fc
      .constantFrom(
        'Content-Length: 3\r\n',
        'Transfer-Encoding: chunked\r\n',
        '5\r\n',
        'Expect: 100-continue\r\n',
      )
      .map((text) => Buffer.from(text)),
  )
  const property = fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
    const connection = await openRaw(edge.port)
    connection.socket.end(Buffer.concat(pieces))
    await connection.closed
    assert.equal((await ask(edge.port, request('GET /document'))).status, 200)
  })
  await fc.assert(property, { numRuns: 200 })
})
