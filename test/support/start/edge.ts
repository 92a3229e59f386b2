/** The HTTP edge with small endpoints, and raw connections to it that send bytes unchanged. */
import { connect, type Socket } from 'node:net'
import { Type } from 'typebox'
import type { PresentedKey } from '../../../src/edge/http/callers.ts'
import { publicDocument } from '../../../src/edge/http/document.ts'
import { type Endpoint, endpoint } from '../../../src/edge/http/endpoint.ts'
import { inProcessRateLimiter } from '../../../src/edge/rate-limit/process-limiter.ts'
import { createServer, type Server, type ServerOptions } from '../../../src/edge/server.ts'
import { errorTable, UnavailableError } from '../../../src/platform/errors.ts'
import { openLog } from '../../../src/platform/observability/log.ts'
import { createMetrics, type Metrics } from '../../../src/platform/observability/metrics.ts'
import './timeout-multiplier.ts'

export const publicUrl = 'https://scores.example.org'

export interface TestEdge extends Server {
  port: number
  metrics: Metrics
  /** Returns every line of the log so far. */
  logged(): string
  stop(): Promise<void>
}

/** Starts the edge. Stop it with `after(() => edge.stop())`. */
export async function startEdge(options: Partial<ServerOptions> = {}): Promise<TestEdge> {
  let lines = ''
  const log = openLog({ level: 'info', to: { write: (text) => void (lines += text) } })
  const metrics = createMetrics()
  const server = createServer({
    endpoints: sampleEndpoints(),
    limiter: inProcessRateLimiter({ nodes: 1 }),
    publicUrl,
    // No key is valid by default.
    authenticate: () => Promise.resolve(null),
    authenticateSession: () => Promise.resolve(null),
    failedKeyLimits: { perMinute: 30, perDay: 2_000 },
    notFoundLimits: { perMinute: 60, perDay: 20_000 },
    // A test can then act as many callers by X-Forwarded-For.
    trustedProxies: ['127.0.0.1'],
    readiness: () => Promise.resolve({ database: 'ok' }),
    log,
    metrics,
    ...options,
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const logged = (): string => {
    log.flush()
    return lines
  }
  return { ...server, port, metrics, logged, stop: () => server.drain(0) }
}

export const sampleText = JSON.stringify({ '@context': 'x', text: 'Straße '.repeat(200) })

const sampleDocument = publicDocument({
  body: sampleText,
  contentType: 'application/ld+json',
  maxAgeSeconds: 300,
  contextUrl: `${publicUrl}/context`,
})

const common = { area: 'Sample', summary: 'Sample', responses: {}, priority: 'public' } as const
const open = { ...common, method: 'GET', policy: { kind: 'open' } } as const
const anonymous = { perMinute: 60, perDay: 1_000 }
const optionalKey = {
  kind: 'optional-key',
  scope: 'scores:read',
  meter: 'score_lookup',
  anonymous,
  limits: { perMinute: 600, perDay: 100_000 },
} as const

/** A valid key as the access module returns it. */
export const validKey: PresentedKey = {
  caller: {
    kind: 'key',
    keyId: '0199fb58-0000-7000-8000-000000000001',
    accountId: '0199fb58-0000-7000-8000-000000000002',
    environment: 'live',
  },
  scopes: ['scores:read'],
  credits: { balance: 100, suspended: false },
}

/** Returns one endpoint of each kind. `echo` answers with the input of its handler. */
export function sampleEndpoints(): Endpoint[] {
  const body = {
    mediaTypes: ['application/json', 'application/ld+json'],
    schema: Type.Object({}),
    bytesMax: 262_144,
    ambiguousReachesHandler: true,
    examples: {},
  }
  return [
    endpoint({
      ...open,
      operationId: 'document',
      path: '/document',
      answer: () => ({ document: sampleDocument }),
    }),
    endpoint({
      ...open,
      operationId: 'item',
      path: '/items/{id}',
      pathParameters: Type.Object({
        id: Type.String({ minLength: 1, pattern: '^[a-z]+$', description: 'Lowercase letters.' }),
      }),
      queryParameters: Type.Object({
        digest: Type.Optional(Type.String({ pattern: '^[0-9a-f]{4}$' })),
      }),
      answer: ({ path, query }) => ({ status: 200, body: { ...path, ...query } }),
    }),
    endpoint({
      ...open,
      operationId: 'broken',
      path: '/broken',
      answer: () => Promise.reject(new Error('inside: whsec_secretsecretsecret')),
    }),
    endpoint({
      ...open,
      operationId: 'away',
      path: '/away',
      answer() {
        throw new UnavailableError('inside: no database', { retryAfterSeconds: 7 })
      },
    }),
    endpoint({
      ...common,
      operationId: 'echo',
      method: 'POST',
      path: '/echo',
      priority: 'search',
      policy: optionalKey,
      body,
      answer: ({ body, bodyAmbiguity }) => ({
        status: 200,
        body: { bytes: JSON.stringify(body).length, ambiguous: bodyAmbiguity },
      }),
    }),
    endpoint({
      ...common,
      operationId: 'strict',
      method: 'POST',
      path: '/strict',
      policy: { kind: 'open' },
      body: { ...body, bytesMax: 32_768, ambiguousReachesHandler: false },
      answer: () => ({ status: 200, body: {} }),
    }),
  ]
}

export interface RawAnswer {
  status: number
  /** Names in lower case. A repeated header is joined with a comma. */
  headers: Record<string, string>
  /** Header names as the server sent them. */
  names: string[]
  body: Buffer
}

export interface RawConnection {
  socket: Socket
  send(bytes: string | Buffer): void
  /** Returns the next complete answer. Rejects if the connection ends first. */
  answer(options?: { head?: boolean }): Promise<RawAnswer>
  closed: Promise<void>
}

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1')
  let received = Buffer.alloc(0)
  let wake = (): void => {}
  let over = false
  const end = (): void => {
    over = true
    wake()
  }
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      end()
      resolve()
    })
  })
  socket.on('error', end)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  socket.on('end', () => socket.end())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    async answer({ head = false } = {}) {
      for (;;) {
        const taken = takeAnswer(received, head)
        if (taken !== null) {
          received = received.subarray(taken.length)
          return taken.answer
        }
        if (over) throw new Error(`the connection ended after ${JSON.stringify(String(received))}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

/** Sends bytes on a new connection and returns the first answer. */
export async function ask(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  const connection = await openRaw(port)
  connection.send(bytes)
  try {
    return await connection.answer({ head: String(bytes).startsWith('HEAD ') })
  } finally {
    connection.socket.destroy()
  }
}

/** Returns an HTTP/1.1 request with a Host header and the given lines. */
export function request(line: string, lines: readonly string[] = [], body = ''): string {
  return `${line} HTTP/1.1\r\nHost: localhost\r\n${lines.map((text) => `${text}\r\n`).join('')}\r\n${body}`
}

export function post(path: string, body: string | Buffer, lines: readonly string[] = []): Buffer {
  const type = lines.some((line) => /^content-type:/i.test(line))
    ? []
    : ['Content-Type: application/json']
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  return Buffer.concat([
    Buffer.from(request(`POST ${path}`, [...type, length, ...lines])),
    Buffer.from(body),
  ])
}

function takeAnswer(bytes: Buffer, head: boolean): { answer: RawAnswer; length: number } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers: Record<string, string> = {}
  const names: string[] = []
  for (const text of lines) {
    const name = text.slice(0, text.indexOf(':'))
    const value = text.slice(name.length + 1).trim()
    names.push(name)
    const key = name.toLowerCase()
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`
  }
  const status = Number(line.split(' ')[1])
  const bodyless = head || status < 200 || status === 204 || status === 304
  const length = end + 4 + (bodyless ? 0 : Number(headers['content-length']))
  if (bytes.length < length) return null
  return { answer: { status, headers, names, body: bytes.subarray(end + 4, length) }, length }
}

const errorNames = new Set<string>(Object.keys(errorTable))

/**
 * Describes the defect of an error answer, or returns null. An error answer has the closed error
 * body of the specification and the headers that every error carries.
 */
export function faultOfError({ status, headers, names, body }: RawAnswer, error: string) {
  const answer: Record<string, unknown> = JSON.parse(body.toString())
  const expected: Record<string, RegExp> = {
    'content-type': /^application\/json$/,
    'cache-control': /^private, no-store$/,
    vary: /^Authorization, X-PAYMENT, PAYMENT-SIGNATURE, Service-Version$/,
    'service-version': /^2026-05-14$/,
    'x-request-id': /^[\w-]{16}$/,
    'x-content-type-options': /^nosniff$/,
    'content-security-policy': /^default-src 'none'; frame-ancestors 'none'$/,
    'referrer-policy': /^no-referrer$/,
    'cross-origin-resource-policy': /^cross-origin$/,
    'strict-transport-security': /^max-age=/,
    link: new RegExp(`^<${publicUrl}/docs/errors/${error}>; rel="help"$`),
  }
  for (const [name, form] of Object.entries(expected))
    if (!form.test(headers[name] ?? '')) return `header ${name}: ${headers[name]}`
  if (new Set(names.map((name) => name.toLowerCase())).size !== names.length)
    return `a header twice: ${names.join()}`
  if (answer.error !== error || !errorNames.has(error)) return `error ${String(answer.error)}`
  const extra = Object.keys(answer).filter((name) => !['error', 'message'].includes(name))
  if (extra.join() !== (error === 'unsupported_version' ? 'supported_version' : ''))
    return `members ${extra.join()}`
  if (typeof answer.message !== 'string' || answer.message === '') return 'no message'
  return status === errorTable[error as keyof typeof errorTable].status ? null : `status ${status}`
}
