/** What other servers do to this client, and what comes of it: a bounded time, bounded memory, one word. */
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
import { strangerRules } from './rules.ts'

const names = ['hooks.example', 'other.example', '127.0.0.1']
const rules = strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' })

/** As patient as a slow machine needs it; who waits for something that never comes says how long. */
const patientDeadlines = { connectMs: 120_000, totalMs: 120_000 }

/** A client that finds every name here. */
function client(options: Partial<EgressOptions> = {}) {
  const egress = openEgress({
    rules,
    extraCa: testAuthority().cert,
    resolve: () => Promise.resolve(['127.0.0.1']),
    deadlines: patientDeadlines,
    ...options,
  })
  after(() => egress.close())
  return egress
}

/** A server and what it is to be closed by. */
async function open<Server extends { close(): Promise<void> }>(starting: Promise<Server>) {
  const server = await starting
  after(() => server.close())
  return server
}

const post = { method: 'POST', body: '{}' } as const

function failureOf(answer: EgressAnswer): string {
  return answer.outcome === 'failed' ? answer.failure : `status ${answer.status}`
}

test('after closing nothing leaves, also where nothing had left before', async () => {
  const { port, received } = await open(startReceiver(names, (response) => response.end()))
  const egress = client()
  await egress.close()
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'reset')
  assert.deepEqual(received, [])
})

test('the vetted address is dialled; Host, SNI and certificate are those of the name', async () => {
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
  assert.ok(answer.outcome === 'answered')
  assert.deepEqual([answer.status, String(answer.body), answer.isCut], [200, 'thanks', false])
  assert.deepEqual(asked, ['hooks.example'])
  const [request] = received
  assert.equal(request?.headers.host, `hooks.example:${port}`)
  assert.deepEqual([request?.method, request?.path, request?.body], ['POST', '/a?b=c', '{}'])
})

test('an address in the URL is vetted like any other, and its certificate must name it', async () => {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const resolve = () => Promise.reject(new Error('an address is not looked up'))
  const url = `https://127.0.0.1:${port}/`
  assert.equal(failureOf(await client({ resolve }).send({ ...post, url })), 'status 200')
  const strict = client({ resolve, rules: strangerRules({ ports: 'any' }) })
  assert.equal(failureOf(await strict.send({ ...post, url })), 'blocked_address')
})

test('a certificate of another name, or of nobody known, is tls_error', async () => {
  const other = await open(startReceiver(['other.example'], (response) => response.end()))
  const url = `https://hooks.example:${other.port}/`
  assert.equal(failureOf(await client().send({ ...post, url })), 'tls_error')
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const untrusting = client({ extraCa: undefined })
  const answer = await untrusting.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'tls_error')
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
  test(`a name that leads to ${addresses.join(' and ')} is blocked_address`, async () => {
    const egress = client({ resolve: () => Promise.resolve(addresses) })
    const answer = await egress.send({ ...post, url: 'https://hooks.example/' })
    assert.equal(failureOf(answer), 'blocked_address')
    assert.ok(answer.outcome === 'failed')
    for (const address of addresses) assert.ok(!answer.error.message.includes(address))
  })
}

test('a connection that turns out to lead where it may not is closed before a byte is written', {
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
    // What is allowed when it is dialled is denied when it has connected.
    get deny() {
      return looks++ === 0 ? [] : rules.allow
    },
  }
  const egress = client({ rules: changing })
  const answer = await egress.send({ ...post, url: `http://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'blocked_address')
  assert.equal(await written.promise, '')
})

test('a URL that is refused as text is not sent to', async () => {
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

test('a name that answers public first and private next, 1,000 times: not one private connection', async () => {
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

test('nobody listens: connect_refused, once every address was tried', async () => {
  // Of no other program, now or soon.
  const port = await freePort()
  const answer = await client().send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'connect_refused')
})

test('the next address is tried where the first refuses', async () => {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const egress = client({
    rules: strangerRules({ allowCidrs: ['127.0.0.0/8'], ports: 'any' }),
    resolve: () => Promise.resolve(['127.0.0.3', '127.0.0.1']),
  })
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'status 200')
})

test('a name without an address is dns_error', async () => {
  const egress = client({ resolve: () => Promise.reject(new Error('ENOTFOUND')) })
  assert.equal(
    failureOf(await egress.send({ ...post, url: 'https://hooks.example/' })),
    'dns_error',
  )
})

/** What a server does after TLS stands, and the word for it. */
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
  'that answers a gigabyte': [
    (socket) =>
      pour(socket, 'x'.repeat(65_536), `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`),
    'status 200',
  ],
  'that answers chunks without end': [
    (socket) =>
      pour(
        socket,
        '1000\r\n'.concat('x'.repeat(4_096), '\r\n'),
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      ),
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
    if (answer.outcome === 'answered')
      assert.deepEqual([answer.body.length, answer.isCut], [16_384, true])
  })
}

/** Long enough for a connection to stand, as connections go on this machine, and no longer. */
async function hastyDeadlines() {
  const { port } = await open(startReceiver(names, (response) => response.end()))
  const began = performance.now()
  await client().send({ ...post, url: `https://hooks.example:${port}/` })
  const totalMs = 400 + 20 * (performance.now() - began)
  return { connectMs: totalMs, totalMs }
}

test('the deadline of an answer ends its connection too', { timeout: 20_000 }, async () => {
  const gone = Promise.withResolvers<void>()
  const { port } = await open(
    startTalker(names, (socket) => socket.resume().once('close', gone.resolve)),
  )
  const egress = client({ deadlines: await hastyDeadlines() })
  const answer = await egress.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'timeout')
  await gone.promise
})

test('a server that hangs in TLS is connect_timeout', async () => {
  const { port } = await open(startPlainTalker(() => undefined))
  const hasty = client({ deadlines: { connectMs: 400, totalMs: 120_000 } })
  const answer = await hasty.send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'connect_timeout')
})

test('a server that speaks no TLS is tls_error', async () => {
  const { port } = await open(
    startPlainTalker((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  const answer = await client().send({ ...post, url: `https://hooks.example:${port}/` })
  assert.equal(failureOf(answer), 'tls_error')
})

test('a slow receiver does not hold up others behind the same host', async () => {
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

test('through the proxy of the operator: it is asked for the name, and its refusal is blocked_address', async () => {
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

/** A piece every 20 ms, for ever. */
function drip(socket: Socket, first: string, piece: string): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(piece), 20)
  socket.once('close', () => clearInterval(timer))
}

/** As fast as it is taken, for ever. */
function pour(socket: Socket, piece: string, first = ''): void {
  socket.write(first)
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

test('connected later than it may begin: not a byte of the request is written, and the connection serves the next', async () => {
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

test('given up while it connected: it is never sent', async () => {
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
