/**
 * Hostile receivers. Each gives a failed attempt with its own error code in bounded memory, while
 * others get their deliveries.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { createEndpoint, happen, startDelivering } from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import {
  startPlainTalker,
  startReceiver,
  startTalker,
} from '../../../test/support/start/receiver.ts'
import { sql } from '../../platform/db/db.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const name = 'hooks.example'

/** Writes `piece` again and again until the connection is closed. */
function repeating(socket: Socket, piece: string, first = ''): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(piece), 10)
  socket.once('close', () => clearInterval(timer))
}

const endless = 'x'.repeat(1_000_000)

/** Behaviour of each receiver after the TLS handshake, and the error code of the attempt. */
const receivers: Record<string, [talk: (socket: Socket) => void, errorCode: string]> = {
  silence: [() => undefined, 'timeout'],
  'headers that drip': [(socket) => repeating(socket, 'X-A: b\r\n', head(200)), 'timeout'],
  'an error whose body drips': [
    (socket) => repeating(socket, 'x', `${head(500)}Content-Length: 9999\r\n\r\n`),
    'http_status',
  ],
  'endless 103s': [(socket) => repeating(socket, `${head(103)}Link: </a>\r\n\r\n`), 'body_error'],
  '200 kB of headers': [
    (socket) => socket.write(`${head(200)}X-A: ${'b'.repeat(200_000)}\r\n\r\n`),
    'body_error',
  ],
  'no HTTP': [(socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'), 'body_error'],
  'a reset': [(socket) => socket.once('data', () => socket.destroy()), 'reset'],
  'a redirect': [
    (socket) => socket.end(`${head(307)}Location: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n`),
    'redirect',
  ],
  'a gigabyte of error': [
    (socket) =>
      repeating(socket, endless, `${head(500)}Content-Length: ${2 ** 30}\r\n\r\n${endless}`),
    'http_status',
  ],
}

function head(status: number): string {
  return `HTTP/1.1 ${status} Whatever\r\n`
}

async function portOf(starting: Promise<{ port: number; close(): Promise<void> }>) {
  const { port, close } = await starting
  after(close)
  return port
}

/** The attempts at an endpoint, with the first character of the body that was kept. */
async function resultsOf(endpointId: string): Promise<string[]> {
  const rows = await db.rows<{ result: string }>(sql`
    select concat(result, ' ', left(response_body, 1)) as result from webhook_attempts
    where endpoint_id = ${endpointId}::uuid`)
  return rows.map(({ result }) => result)
}

test('each hostile receiver gives its error code in bounded time and memory, and receivers that answer 2xx get everything, also if their body drips', async () => {
  const expected = new Map<string, string>()
  const add = async (port: number, errorCode: string) => {
    const { id } = await createEndpoint(db, `https://${name}:${port}/`)
    expected.set(id, errorCode)
  }
  for (const [talk, errorCode] of Object.values(receivers))
    await add(await portOf(startTalker([name], talk)), errorCode)
  await add(await portOf(startPlainTalker(() => undefined)), 'connect_timeout')
  await add(await portOf(startPlainTalker((socket) => socket.end('no TLS'))), 'tls_error')
  const healthy = await startReceiver([name], (response) => response.end())
  after(() => healthy.close())
  await createEndpoint(db, `https://${name}:${healthy.port}/`)
  const port = await portOf(
    startTalker([name], (socket) =>
      repeating(socket, 'x', `${head(200)}Content-Length: 9999\r\n\r\n`),
    ),
  )
  const drips = await createEndpoint(db, `https://${name}:${port}/`)
  const events = 2
  await happen(db, 'score.updated', { count: events })

  const rssBefore = process.memoryUsage().rss
  // Long enough for a slow machine to tell an answer from silence.
  const deliverer = startDelivering(db, {
    egress: { deadlines: { connectMs: 4_000, totalMs: 6_000 } },
  })
  await deliverer.deliver()
  assert.ok(process.memoryUsage().rss - rssBefore < 200_000_000, 'it took too much memory')

  assert.equal(healthy.received.length, events)
  assert.deepEqual(await resultsOf(drips.id), ['succeeded x', 'succeeded x'])
  const attempts = await db.rows<{ id: string; code: string; bodyLength: number; count: number }>(
    sql`select endpoint_id as id, error_code as code, count(*)::int as count,
        coalesce(max(octet_length(response_body)), 0)::int as "bodyLength"
      from webhook_attempts where result = 'failed' group by 1, 2`,
  )
  assert.deepEqual(
    new Map(attempts.map(({ id, code, count }) => [id, `${code} ${count}`])),
    new Map([...expected].map(([id, code]) => [id, `${code} ${events}`])),
  )
  for (const { bodyLength } of attempts) assert.ok(bodyLength <= 2_048)
})
