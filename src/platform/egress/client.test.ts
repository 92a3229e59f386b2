/**
 * Tests the client against hostile servers: time and memory stay bounded, and every failure gets
 * one name.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { freePort } from '../../../test/support/start/processes.ts'
import {
  startPlainTalker,
  startReceiver,
  startTalker,
  testAuthority,
} from '../../../test/support/start/receiver.ts'
import { type EgressOptions, openEgress } from './client.ts'
import type { EgressAnswer } from './exchange.ts'
import { failureText } from './failures.ts'
import { strangerRules } from './rules.ts'

const names = ['hooks.example', 'other.example', '127.0.0.1']
const rules = strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' })

/**
 * Long enough for a slow machine. A test that waits for an answer that never comes sets its own
 * deadline.
 */
const longDeadlines = { connectMs: 120_000, totalMs: 120_000 }

/** Opens a client that resolves every name to this machine. */
function client(options: Partial<EgressOptions> = {}) {
  const egress = openEgress({
    rules,
    extraCa: testAuthority().cert,
    resolve: () => Promise.resolve(['127.0.0.1']),
    deadlines: longDeadlines,
    ...options,
  })
  after(() => egress.close())
  return egress
}

/** Returns the server, and closes it at the end of the tests. */
async function open<Server extends { close(): Promise<void> }>(starting: Promise<Server>) {
  const server = await starting
  after(() => server.close())
  return server
}

const post = { method: 'POST', body: '{}' } as const

function failureOf(answer: EgressAnswer): string {
  return 'failure' in answer ? failureText(answer.failure, answer.error) : `status ${answer.status}`
}

test('a closed client sends nothing, even if it never sent before', async () => {
  const { port, received } = await open(startReceiver(names, (response) => response.end()))
  const egress = client()
  await egress.close()
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'reset')
  assert.deepEqual(received, [])
})

test('the client connects to the vetted address; Host, SNI and certificate are those of the name', async () => {
  const { port, received } = await open(startReceiver(names, (response) => response.end('thanks')))
  const asked: string[] = []
  const resolve = (name: string) => {
    asked.push(name)
    return Promise.resolve(['127.0.0.1'])
  }
  const answer = await client({ resolve }).send({
    ...post,
    url: `https://hooks.example:${port}/a?b=c`,
    headers: { 'Content-Type': 'application/json' },
  })
  assert.ok('status' in answer)
  assert.deepEqual([answer.status, String(answer.body), answer.isCut], [200, 'thanks', false])
  assert.deepEqual(asked, ['hooks.example'])
  const [request] = received
  assert.equal(request?.headers.host, `hooks.example:${port}`)
  assert.deepEqual([request?.method, request?.path, request?.body], ['POST', '/a?b=c', '{}'])
})

test('an address in a URL is vetted like any other, and the certificate must name it', async () => {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const resolve = () => Promise.reject(new Error('an address is not looked up'))
  const url = `https://127.0.0.1:${port}/`
  assert.equal(failureOf(await client({ resolve }).send({ ...post, url })), 'status 200')
  const strict = client({ resolve, rules: strangerRules({ ports: 'any' }) })
  assert.equal(failureOf(await strict.send({ ...post, url })), 'blocked_address')
})

test('tls_error: a certificate of another name or of an unknown issuer is rejected', async () => {
  const other = await open(startReceiver(['other.example'], (response) => response.end()))
  const url = `https://hooks.example:${other.port}/`
  const misnamed = await client().send({ ...post, url })
  assert.equal(failureOf(misnamed), 'tls_error: certificate is for another name')
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const untrusting = client({ extraCa: undefined })
  const answer = await untrusting.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(
    failureOf(answer),
    'tls_error: certificate chain is incomplete, or its issuer is unknown',
  )
})

const blocked = [
  ['127.0.0.2'],
  ['10.0.0.1'],
  ['169.254.169.254'],
  ['::1'],
  ['::ffff:127.0.0.2'],
  ['::7f00:2'],
  ['64:ff9b::7f00:1'],
  ['168.63.129.16'],
  ['127.0.0.1', '127.0.0.2'],
  ['127.0.0.2', '127.0.0.1'],
  ['not an address'],
]
for (const addresses of blocked) {
  test(`blocked_address: a name that resolves to ${addresses.join(' and ')} is refused`, async () => {
    const egress = client({ resolve: () => Promise.resolve(addresses) })
    const answer = await egress.send({ ...post, url: 'https://hooks.example/' })
    assert.equal(failureOf(answer), 'blocked_address')
    assert.ok('failure' in answer)
    for (const address of addresses) assert.ok(!answer.error.message.includes(address))
  })
}

test('a connection that turns out to lead to a blocked address is closed before a byte is written', {
  timeout: 60_000,
}, async () => {
  const written = Promise.withResolvers<string>()
  const { port } = await open(
    startPlainTalker((socket) => {
      let text = ''
      socket
        .once('close', () => written.resolve(text))
        .on('data', (part) => {
          text += part
          socket.end('HTTP/1.1 204 No Content\r\n\r\n')
        })
    }),
  )
  let looks = 0
  const changing = {
    ...rules,
    allowHttp: true,
    // The address is allowed when the client dials and denied once it is connected.
    get deny() {
      return looks++ === 0 ? [] : rules.allow
    },
  }
  const egress = client({ rules: changing })
  const answer = await egress.send({ ...post, url: `http://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'blocked_address')
  assert.equal(await written.promise, '')
})

test('a URL that is refused as text causes no connection', async () => {
  const asked: string[] = []
  const resolve = (name: string) => {
    asked.push(name)
    return Promise.resolve(['127.0.0.1'])
  }
  for (const url of [
    'http://hooks.example/',
    'https://hooks.example@127.0.0.1/',
    'https://0x7f.1/',
  ])
    assert.equal(failureOf(await client({ resolve }).send({ ...post, url })), 'blocked_address')
  assert.deepEqual(asked, [])
})

test('a name that resolves to a public address first and a private one next never gets a private connection (1,000 times)', async () => {
  const reached: (string | undefined)[] = []
  const answer = (socket: Socket): void => {
    reached.push(socket.localAddress)
    socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n')
  }
  const { port } = await open(startPlainTalker(answer, '0.0.0.0'))
  let turn = 0
  const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '127.0.0.2']]
  const egress = client({
    rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any', allowHttp: true }),
    resolve: () => Promise.resolve(answers[turn++ % 3] as string[]),
  })
  const outcomes: Record<string, number> = {}
  for (let i = 0; i < 1_000; i++) {
    const outcome = failureOf(await egress.send({ ...post, url: `http://hooks.example:${port}/` }))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  assert.deepEqual(outcomes, { 'status 204': 334, blocked_address: 666 })
  assert.deepEqual(new Set(reached), new Set(['127.0.0.1']))
  assert.equal(reached.length, 334)
})

test('no redirect is followed: its status is the answer', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const { port, received } = await open(
      startReceiver(names, (response) => response.writeHead(status, { Location: '/next' }).end()),
    )
    const answer = await client().send({ ...post, url: `https://hooks.example:${port}/` })
    assert.equal(failureOf(answer), `status ${status}`)
    assert.equal(received.length, 1)
  }
})

test('connect_refused: every address of the name refuses the connection', async () => {
  // No other program listens on it now or soon.
  const port = await freePort()
  const answer = await client().send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'connect_refused')
})

test('if the first address refuses, the next address is tried', async () => {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const egress = client({
    rules: strangerRules({ allowCidrs: ['127.0.0.0/8'], ports: 'any' }),
    resolve: () => Promise.resolve(['127.0.0.3', '127.0.0.1']),
  })
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'status 200')
})

test('dns_error: the cause is named', async () => {
  for (const [code, words] of [
    ['ENOTFOUND', 'the name does not exist'],
    ['ENODATA', 'the name has no address'],
    ['ETIMEOUT', 'the name server did not answer in time'],
  ]) {
    const resolve = () => Promise.reject(Object.assign(new Error('no address'), { code }))
    const answer = await client({ resolve }).send({ ...post, url: 'https://hooks.example/' })
    assert.equal(failureOf(answer), `dns_error: ${words}`)
  }
})

const hugeHead = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

/** The server's action after the TLS handshake, and the failure it must cause. */
const hostile: Record<string, [(socket: Socket) => void, string]> = {
  'that never answers': [() => undefined, 'timeout'],
  'that drips its headers': [
    (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n', 'X-A: b\r\n'),
    'timeout',
  ],
  'that drips its body': [
    (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n', 'x'),
    'timeout',
  ],
  'that sends 103 for ever': [
    (socket) => drip(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
    'body_error',
  ],
  'that floods with 103': [
    (socket) => pour(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1_000)),
    'body_error',
  ],
  'with 200 kB of headers': [
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-A: ${'b'.repeat(200_000)}\r\n\r\n`),
    'body_error',
  ],
  'with headers without end': [
    (socket) => pour(socket, `X-A: ${'b'.repeat(1_000)}\r\n`, 'HTTP/1.1 200 OK\r\n'),
    'body_error',
  ],
  'that is no HTTP server': [(socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'), 'body_error'],
  'that resets': [(socket) => socket.once('data', () => socket.destroy()), 'reset'],
  'that ends before its answer is whole': [
    (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx'),
    'reset',
  ],
  'that answers a gigabyte': [(socket) => pour(socket, 'x'.repeat(65_536), hugeHead), 'status 200'],
  'that answers chunks without end': [
    (socket) => pour(socket, '1000\r\n'.concat('x'.repeat(4_096), '\r\n'), chunkedHead),
    'status 200',
  ],
}

for (const [server, [talk, expected]] of Object.entries(hostile)) {
  test(`a server ${server}: ${expected}, in bounded time and memory`, async () => {
    const { port } = await open(startTalker(names, talk))
    const isEndless = expected === 'timeout'
    const egress = client(isEndless ? { deadlines: await hastyDeadlines() } : {})
    const before = process.memoryUsage().rss
    const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
    assert.equal(failureOf(answer), expected)
    assert.ok(process.memoryUsage().rss - before < 100_000_000, 'it took too much memory')
    if ('status' in answer) assert.deepEqual([answer.body.length, answer.isCut], [16_384, true])
  })
}

for (const [server, talk] of [
  [
    'drips the body',
    (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n', 'x'),
  ],
  [
    'closes within the body',
    (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
  ],
  ['breaks its chunks', (socket) => socket.end(`${chunkedHead}1\r\nx\r\nno length\r\n`)],
  [
    'sends a body that is longer than is read',
    (socket) => pour(socket, 'x'.repeat(9_999), hugeHead),
  ],
] as const satisfies readonly [string, (socket: Socket) => void][])
  test(`if the status is enough, a server that ${server} has answered, with the bytes that arrived in time`, async () => {
    const { port } = await open(startTalker(names, talk))
    const url = `https://hooks.example:${port}/`
    const answer = await client().send({ ...post, url, bodyWithinMs: 500 })
    assert.ok('status' in answer)
    assert.deepEqual([answer.status, answer.isCut], [200, true])
    assert.match(answer.body.toString(), /^x+$/)
  })

/** Measures a connection on this machine, and allows just long enough for it. */
async function hastyDeadlines() {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const began = performance.now()
  await client().send({ ...post, url: `https://hooks.example:${port}/` })
  const totalMs = 400 + 20 * (performance.now() - began)
  return { connectMs: totalMs, totalMs }
}

test('the deadline of an answer also ends its connection', { timeout: 20_000 }, async () => {
  const gone = Promise.withResolvers<void>()
  const { port } = await open(
    startTalker(names, (socket) => socket.resume().once('close', gone.resolve)),
  )
  const egress = client({ deadlines: await hastyDeadlines() })
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'timeout')
  await gone.promise
})

test('connect_timeout: the server hangs in the TLS handshake', async () => {
  const { port } = await open(startPlainTalker(() => undefined))
  const hasty = client({ deadlines: { connectMs: 400, totalMs: 120_000 } })
  const answer = await hasty.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'connect_timeout')
})

test('tls_error: the server speaks no TLS', async () => {
  const { port } = await open(
    startPlainTalker((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  const answer = await client().send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'tls_error: the server does not speak TLS on this port')
})

test('a slow receiver does not hold up other receivers behind the same host', async () => {
  const held: (() => void)[] = []
  const { port } = await open(
    startReceiver(names, (response, { path }) => {
      if (path === '/slow') held.push(() => response.end())
      else response.end()
    }),
  )
  const egress = client()
  const slow = Array.from({ length: 50 }, () =>
    egress.send({ ...post, url: `https://hooks.example:${port}/slow` }),
  )
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/fast` })
  assert.equal(failureOf(answer), 'status 200')
  await Promise.race([Promise.all(slow), egress.close()])
  await Promise.all(slow)
})

test("the operator's proxy gets the name, and its refusal is blocked_address", async () => {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const asked: string[] = []
  const { connect } = await import('node:net')
  const proxy = await open(
    startPlainTalker((socket) => {
      socket.once('data', (head) => {
        const [line = ''] = String(head).split('\r\n')
        asked.push(line)
        if (line.includes('other.example')) {
          socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
          return
        }
        const through = connect(port, '127.0.0.1')
        through.on('error', () => undefined)
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(through).pipe(socket)
      })
    }),
  )
  const egress = client({
    proxyUrl: `http://127.0.0.1:${proxy.port}`,
    resolve: () => Promise.reject(new Error('the proxy resolves')),
  })
  const to = (host: string) => egress.send({ ...post, url: `https://${host}:${port}/` })
  assert.equal(failureOf(await to('hooks.example')), 'status 200')
  assert.equal(failureOf(await to('other.example')), 'blocked_address')
  assert.equal(
    failureOf(await egress.send({ ...post, url: 'https://10.0.0.1/' })),
    'blocked_address',
  )
  assert.deepEqual(
    asked.map((line) => line.split(' ').slice(0, 2).join(' ')),
    [`CONNECT hooks.example:${port}`, `CONNECT other.example:${port}`],
  )
})

/** Sends a piece every 20 ms, forever. */
function drip(socket: Socket, first: string, piece: string): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(piece), 20)
  socket.once('close', () => clearInterval(timer))
}

/** Sends as fast as the client reads, forever. */
function pour(socket: Socket, piece: string, first = ''): void {
  socket.write(first)
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

test('not_begun: connected after `beginBy`, the client writes no byte of the request, and the connection serves the next one', async () => {
  const { port, received } = await open(startReceiver(names, (response) => response.end()))
  let connections = 0
  const egress = client({
    resolve: async () => {
      connections++
      await new Promise((resolve) => setTimeout(resolve, 30))
      return ['127.0.0.1']
    },
  })
  const request = { ...post, url: `https://hooks.example:${port}/` }
  const late = await egress.send({ ...request, beginBy: performance.now() + 10 })
  assert.equal(failureOf(late), 'not_begun')
  assert.equal(received.length, 0)
  const next = await egress.send({ ...request, beginBy: performance.now() + 120_000 })
  assert.equal(failureOf(next), 'status 200')
  assert.equal(connections, 1)
})

test('a request that is given up while it connects is never sent', async () => {
  const { port, received } = await open(startReceiver(names, (response) => response.end()))
  const found = Promise.withResolvers<void>()
  const egress = client({ resolve: () => found.promise.then(() => ['127.0.0.1']) })
  const request = { ...post, url: `https://hooks.example:${port}/` }
  const late = await egress.send({ ...request, totalMs: 10 })
  assert.equal(failureOf(late), 'timeout')
  found.resolve()
  assert.equal(failureOf(await egress.send(request)), 'status 200')
  assert.equal(received.length, 1)
})
