/** nginx, Caddy and HAProxy with their files of deploy/, in front of two nodes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type ClientRequest, createServer, type IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls, type SecureVersion } from 'node:tls'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { openDb } from '../../src/platform/db/db.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { publicLine } from '../../test/support/build/workers.ts'
import type { Question, Reply } from '../../test/support/start/ask.ts'
import { issue, scoreLine } from '../../test/support/start/deployment.ts'
import {
  type Env,
  eventually,
  freePort,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import {
  hostName,
  missingProxy,
  type Proxy,
  proxyNames,
  startProxy,
} from '../../test/support/start/proxies.ts'
import { testAuthority } from '../../test/support/start/receiver.ts'

const folder = temporaryFolder()
const dataDir = join(folder, 'database')
const startDatabase = () => startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
let database = await startDatabase()

const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: join(folder, 'data'),
  PUBLIC_URL: `https://${hostName}`,
  TRUSTED_PROXIES: '127.0.0.1',
  NODES: '2',
  SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  KEY_CALLS_PER_MINUTE: '1000000',
  KEY_CALLS_PER_DAY: '100000000',
  DRAIN_DELAY_SECONDS: '5',
}
const username = 'ada'
const ports = [await freePort(), await freePort()]
const nodes: ServerProcess[] = []
const startNode = (port = 0) => startServer({ ...env, PORT: String(port) })
await report(['migrate'], env)
await report(['keys', 'create'], env)
const from = join(folder, 'people.ndjson')
writeFileSync(from, `${JSON.stringify(publicLine({ username }))}\n`)
await report(['workers', 'import', '--from', from], env)
const { account } = await report(['accounts', 'create', 'Reader'], env)
await report(['credits', 'grant', 'Reader', '1000000', '--reason', 'test'], env)
const scopes = ['--scope', 'candidates:read', '--scope', 'scores:read']
const { key } = await report(['api-keys', 'create', 'Reader', ...scopes], env)
nodes.push(...(await Promise.all(ports.map(startNode))))
const token = String(
  (await report(['operators', 'create-token', 'HR', '--role', 'ingest'], env)).secret,
)
const db = openDb({
  url: database.url,
  connectionsMax: 1,
  applicationName: 'kit',
  onError: () => {},
})
const session = await newSession(db, { accountId: (account as { id: string }).id })
await db.close()
const [credential = assert.fail()] = await issue(env, folder, [scoreLine()])

const ca = testAuthority().cert
const tls = { host: '127.0.0.1', servername: hostName, ca }

async function responseOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = await once(sent, 'response')
  return response
}

/** Sends a request over HTTP/1.1, from `from`, an address of this machine. */
async function ask(
  port: number,
  { method = 'GET', path, headers = {}, body }: Question,
  { from = '127.0.0.1', agent }: { from?: string; agent?: Agent } = {},
): Promise<Reply> {
  const sent = httpsRequest({
    ...tls,
    port,
    method,
    path,
    headers: { Host: hostName, ...headers },
    localAddress: from,
    agent: agent ?? false,
  })
  const answered = responseOf(sent)
  sent.end(body)
  const response = await answered
  const chunks = await response.toArray()
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks),
  }
}

const keyed = () => ({ Authorization: `Bearer ${String(key)}` })
const calls: Record<string, () => Question> = {
  document: () => ({ path: '/.well-known/did.json' }),
  'paid read': () => ({ path: `/api/v1/candidates/${username}`, headers: keyed() }),
  search: () => ({ path: `/api/v1/candidates/search?q=${username}`, headers: keyed() }),
  verify: () => ({
    method: 'POST',
    path: '/api/v1/score-vc/verify',
    headers: { 'Content-Type': 'application/json', ...keyed() },
    body: JSON.stringify(credential),
  }),
}

interface Load {
  /** Number of calls with status 200. */
  done: number
  failed: string[]
  stop(): Promise<void>
}

/** Callers over HTTP/1.1 and HTTP/2 that make calls of every kind without a pause. */
function load(port: number): Load {
  const result: Load = { done: 0, failed: [], stop: async () => {} }
  const stopping = new AbortController()
  const count = (kind: string, status: number, body: string) => {
    if (status === 200) result.done++
    else result.failed.push(`${kind}: ${status} ${body.slice(0, 200)}`)
  }
  const overHttp1 = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!stopping.signal.aborted)
      for (const [kind, question] of Object.entries(calls)) {
        const { status, body } = await ask(port, question(), { agent }).catch(failure)
        count(`${kind} over HTTP/1.1`, status, String(body))
      }
    agent.destroy()
  }
  const overHttp2 = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Fewer requests than a proxy takes on one connection.
      const session = connectHttp2(`https://127.0.0.1:${port}`, tls)
      for (let i = 0; i < 50 && !stopping.signal.aborted; i++)
        for (const [kind, { method = 'GET', path, headers, body }] of asked()) {
          const stream = session.request({
            ...headers,
            ':method': method,
            ':path': path,
            ':authority': hostName,
          })
          const answered = once(stream, 'response').then(async ([head]) => ({
            status: Number(head[':status']),
            body: Buffer.concat(await stream.toArray()),
          }))
          stream.end(body)
          const { status, body: text } = await answered.catch(failure)
          count(`${kind} over HTTP/2`, status, String(text))
        }
      session.close()
    }
  }
  const callers = [overHttp1, overHttp1, overHttp1, overHttp2, overHttp2, overHttp2]
  const ended = Promise.all(callers.map((caller) => caller()))
  result.stop = async () => {
    stopping.abort()
    await ended
  }
  return result
}

const asked = () => Object.entries(calls).map(([kind, question]) => [kind, question()] as const)
const failure = (error: unknown) => ({ status: 0, body: String(error) })

for (const [index, name] of proxyNames.entries())
  void describe(name, { skip: missingProxy(name) }, () => {
    const client = (host: number) => `127.1.${index}.${host}`
    let proxy: Proxy
    before(async () => {
      proxy = await startProxy(
        name,
        folder,
        ports.map((port) => `127.0.0.1:${port}`),
      )
    })
    after(() => proxy.stop())

    test('TLS begins at 1.2, HTTP/2 is offered, and plain HTTP leads to HTTPS', async () => {
      const protocolOf = async (version: SecureVersion) => {
        const options = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' }
        const socket = connectTls({
          ...tls,
          ...options,
          port: proxy.port,
          ALPNProtocols: ['h2', 'http/1.1'],
        })
        await once(socket, 'secureConnect')
        socket.destroy()
        return socket.alpnProtocol
      }
      await assert.rejects(protocolOf('TLSv1.1'))
      assert.equal(await protocolOf('TLSv1.2'), 'h2')
      assert.equal(await protocolOf('TLSv1.3'), 'h2')
      const { status, headers } = await fetch(`http://127.0.0.1:${proxy.httpPort}/x?y=z`, {
        redirect: 'manual',
      })
      assert.ok([301, 308].includes(status), String(status))
      assert.match(headers.get('location') ?? '', /^https:\/\/127\.0\.0\.1(:\d+)?\/x\?y=z$/)
    })

    test('probes and metrics are not public', async () => {
      for (const path of ['/healthz', '/readyz', '/metrics', '/%72eadyz', '/readyz?a=b'])
        assert.equal((await ask(proxy.port, { path })).status, 404, path)
    })

    test('429: a client cannot choose its address by X-Forwarded-For', async () => {
      const verify = async (forged: string, from: string) => {
        const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': forged }
        const body = JSON.stringify(credential)
        const question = { method: 'POST', path: '/api/v1/score-vc/verify', headers, body }
        return (await ask(proxy.port, question, { from })).status
      }
      const forgeries = Array.from({ length: 70 }, (_, i) => `192.0.2.${i}`)
      const statuses = await Promise.all(forgeries.map((forged) => verify(forged, client(1))))
      assert.equal(statuses.filter((status) => status === 200).length, 60)
      assert.equal(statuses.filter((status) => status === 429).length, 10)
      assert.equal(await verify(client(1), client(2)), 200)
    })

    test('a client cannot choose what is traced by traceparent', async () => {
      const node = createServer((request, response) => {
        response.end(JSON.stringify(request.headers))
      })
      await once(node.listen(0, '127.0.0.1'), 'listening')
      const { port } = node.address() as AddressInfo
      const front = await startProxy(name, temporaryFolder(), [`127.0.0.1:${port}`])
      const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
      const question = { path: '/', headers: { traceparent, tracestate: 'a=b' } }
      const { status, body } = await ask(front.port, question)
      await front.stop()
      node.close()
      assert.equal(status, 200)
      const { traceparent: passed = '', tracestate } = JSON.parse(String(body))
      assert.deepEqual([passed, tracestate], ['', 'a=b'])
    })

    test('a live stream arrives at once, and 1 GiB of lines passes', {
      timeout: 120_000,
    }, async (t) => {
      const live = httpsRequest({
        ...tls,
        port: proxy.port,
        path: '/dashboard/requests/live?after=0',
        headers: { Host: hostName, ...session.headers },
        agent: false,
      })
      live.end()
      const stream = await responseOf(live)
      assert.equal(stream.headers['content-type'], 'text/event-stream')
      const first = once(stream, 'data')
      await ask(proxy.port, calls.search?.() ?? assert.fail())
      await first
      live.destroy()

      const lines = httpsRequest({
        ...tls,
        port: proxy.port,
        method: 'POST',
        path: '/api/operator/v1/workers',
        headers: {
          Host: hostName,
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/x-ndjson',
        },
        agent: false,
      })
      const began = performance.now()
      lines.write('{"unknown":1}\n'.repeat(5_000))
      const answered = responseOf(lines).then(async (answer) => {
        const [some] = await once(answer, 'data')
        assert.match(String(some), /"line":1,/)
        return answer.toArray()
      })
      // nginx passes on an answer once the body is whole.
      if (name !== 'nginx') await responseOf(lines)
      const mebibyte = Buffer.from(`${' '.repeat(1_048_575)}\n`)
      await pipeline(Readable.from(Array.from({ length: 1_023 }, () => mebibyte)), lines)
      const last =
        Buffer.concat(await answered)
          .toString()
          .trim()
          .split('\n')
          .at(-1) ?? ''
      assert.match(last, /^{"done":true,"lines":6023,/)
      t.diagnostic(`1 GiB in ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    })

    test('408: a client that sends its head or its body slowly is refused', {
      timeout: 60_000,
    }, async (t) => {
      const body = JSON.stringify(credential)
      const post = `POST /api/v1/score-vc/verify HTTP/1.1\r\nHost: ${hostName}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const started: Record<string, [begin: string, more: string]> = {
        'a head that trickles': [`GET / HTTP/1.1\r\nHost: ${hostName}\r\nX: `, 'x'],
        'a head that stalls': [`GET / HTTP/1.1\r\nHost: ${hostName}\r\nX: `, ''],
        'a body that trickles': [post + body.slice(0, 10), ' '],
        'a body that stalls': [post + body.slice(0, 10), ''],
      }
      const outcomes = Object.entries(started).map(async ([what, [begin, more]]) => {
        const socket = connectTls({ ...tls, port: proxy.port })
        await once(socket, 'secureConnect')
        let text = ''
        socket.setEncoding('utf8').on('data', (part: string) => (text += part))
        socket.on('error', () => {}).write(begin)
        const began = performance.now()
        const trickle = setInterval(() => socket.writable && socket.write(more), 200)
        await once(socket, 'close')
        clearInterval(trickle)
        assert.match(text, /^(HTTP\/1\.1 408 |$)/, what)
        return `${what}: ${((performance.now() - began) / 1_000).toFixed(1)} s`
      })
      t.diagnostic((await Promise.all(outcomes)).join(', '))
    })

    test('one node alone is served by the file without its second line', async () => {
      const alone = await startProxy(name, folder, [`127.0.0.1:${ports[0]}`])
      assert.equal((await ask(alone.port, { path: '/' })).status, 200)
      await alone.stop()
    })

    test('a rolling restart under load fails no call, and behind nginx at most a POST', async (t) => {
      const callers = load(proxy.port)
      for (const [i, port] of ports.entries()) {
        const from = callers.done
        await eventually('some calls', { see: async () => callers.done > from + 100 })
        nodes[i]?.signal('SIGTERM')
        assert.equal(await nodes[i]?.ended, 0)
        nodes[i] = await startNode(port)
        await eventually('the node is ready', {
          see: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200,
        })
      }
      const from = callers.done
      await eventually('some calls', { see: async () => callers.done > from + 100 })
      await callers.stop()
      t.diagnostic(`${callers.done} calls, ${callers.failed.length} failed`)
      // nginx asks no /readyz. A POST whose connection arrives while a node closes its port gets 502,
      // because nginx must not repeat it.
      const isPost = (failed: string) => name === 'nginx' && /^verify over \S+: 502 /.test(failed)
      assert.ok(callers.failed.length <= 1, callers.failed.join('\n'))
      assert.deepEqual(
        callers.failed.filter((failed) => !isPost(failed)),
        [],
      )
    })

    test('documents answer while PostgreSQL is stopped, and everything answers again after it', async () => {
      await database.stop()
      await eventually('no node is ready', {
        see: async () => {
          const answers = await Promise.all(
            ports.map((port) => fetch(`http://127.0.0.1:${port}/readyz`)),
          )
          return answers.every(({ status }) => status === 503)
        },
      })
      // Longer than a proxy needs to notice it.
      for (const began = performance.now(); performance.now() < began + 4_000; ) {
        const { status, body } = await ask(proxy.port, { path: '/.well-known/did.json' })
        assert.equal(status, 200, String(body))
      }
      database = await startDatabase()
      await eventually('a paid read', {
        see: async () => {
          const reply = await ask(proxy.port, calls['paid read']?.() ?? assert.fail())
          return reply.status === 200
        },
      })
    })
  })
