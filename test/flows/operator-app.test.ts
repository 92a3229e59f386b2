/**
 * A small application runs a skills network by the operator API alone. Its requests are cut off and
 * repeated at random, and the server is killed once.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { operatorBase } from '../../src/operations/operator-routes.ts'
import { sql } from '../../src/platform/db/db.ts'
import { eventTypes } from '../../src/webhooks/events/event-types.ts'
import { publicLine } from '../support/build/workers.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { startReceiver, testAuthority } from '../support/start/receiver.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const folder = temporaryFolder()
const caFile = join(folder, 'ca.pem')
writeFileSync(caFile, testAuthority().cert)
const receiver = await startReceiver(['127.0.0.1'], (response) => response.end())
after(() => receiver.close())

const env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  SECRETS_KEYRING: `k1:${randomBytes(32).toString('base64')}`,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  WEBHOOK_CA_FILE: caFile,
}

/** Numbers from 0 to 1, the same in each run. */
function draws(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
const draw = draws(7)

interface Json {
  [member: string]: unknown
}
interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

/** The deployment, whose server may be killed and started again while requests run. */
let server: ServerProcess
/** Resolves while a server runs. */
let running = Promise.resolve()
let token = ''
let cuts = 0

function killAndRestart(): Promise<void> {
  running = restart()
  return running
}

async function restart(): Promise<void> {
  server.signal('SIGKILL')
  await server.ended
  server = await startServer(env)
}

/**
 * Sends a request once. `cut` ends the connection after that share of the body, or, with 1, before
 * the answer. Resolves to null without an answer.
 */
function sendOnce(
  { method, path, headers, body = '' }: Sent,
  cut: number | null,
): Promise<{ status: number; json: Json } | null> {
  return new Promise((resolve) => {
    const sent = request(
      server.base,
      {
        method,
        path: `${operatorBase}${path}`,
        headers: {
          Authorization: `Bearer ${token}`,
          ...headers,
          ...(body !== '' && { 'Content-Length': String(Buffer.byteLength(body)) }),
        },
        agent: false,
      },
      (reply) => {
        const parts: Buffer[] = []
        reply.on('data', (part: Buffer) => parts.push(part))
        reply.on('error', () => resolve(null))
        reply.on('end', () =>
          resolve({
            status: reply.statusCode ?? 0,
            json: lastLine(Buffer.concat(parts).toString()),
          }),
        )
      },
    )
    sent.on('error', () => resolve(null))
    if (cut === null) {
      sent.end(body)
      return
    }
    cuts++
    const lost = (): void => {
      sent.destroy()
      resolve(null)
    }
    const part = Buffer.from(body).subarray(0, Math.floor(body.length * cut))
    if (cut < 1) sent.write(part, lost)
    else sent.end(body, lost)
  })
}

/** An answer in lines ends with its sums. */
function lastLine(body: string): Json {
  return JSON.parse(body.trimEnd().split('\n').at(-1) || '{}') as Json
}

/** Sends a request until it is answered, cut off at random before. */
async function call(sent: Sent): Promise<Json> {
  const answer = await answerTo(sent)
  assert.equal(answer.status, 200, `${sent.method} ${sent.path}: ${JSON.stringify(answer.json)}`)
  return answer.json
}

async function answerTo(sent: Sent): Promise<{ status: number; json: Json }> {
  for (;;) {
    const fate = draw()
    const cut = fate < 0.1 ? 1 : fate < 0.2 ? draw() : null
    const answer = await sendOnce(sent, cut)
    if (answer === null || answer.status === 503) {
      await running
      continue
    }
    // The server was stopped while it read lines.
    if (answer.status === 200 && 'error' in answer.json) continue
    return answer
  }
}

const read = (path: string) => call({ method: 'GET', path, headers: {} })

function change(path: string, body: object = {}): Promise<Json> {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() }
  return call({ method: 'POST', path, headers, body: JSON.stringify(body) })
}

/**
 * Creates an API key. If its answer was lost, the secret is lost too: the key is revoked, and
 * another one is made.
 */
async function createKey(name: string): Promise<string> {
  for (;;) {
    const path = '/accounts/Network/api-keys'
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() }
    const body = JSON.stringify({ name, scopes: ['webhooks:write'] })
    const { status, json } = await answerTo({ method: 'POST', path, headers, body })
    if (status === 200) return String(json.key)
    assert.equal(json.error, 'idempotency_key_spent')
    for (const key of await list(`${path}?`, 'keys'))
      if (key.name === name && key.state !== 'revoked')
        await change(`/api-keys/${String(key.id)}/revoke`)
  }
}

/** Returns the status of a read with an API key. */
async function statusWith(key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` }
  return (await fetch(`${server.base}/api/v1/webhooks/endpoints`, { headers })).status
}

/** Sends lines of JSON. */
function send(path: string, rows: readonly object[]): Promise<Json> {
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const body = rows.map((row) => JSON.stringify(row)).join('\n')
  return call({ method: 'POST', path, headers, body })
}

/** Reads all pages of a list. */
async function list(path: string, member: string): Promise<Json[]> {
  const rows: Json[] = []
  for (let next: string | null = ''; next !== null; ) {
    const page: Json = await read(`${path}limit=1000${next === '' ? '' : `&after=${next}`}`)
    rows.push(...(page[member] as Json[]))
    next = page.next as string | null
  }
  return rows
}

async function countOf(path: string, member: string): Promise<number> {
  return (await list(path, member)).length
}

const nameOf = (row: Json) => String(row.username)

const workerCount = 200
const itemCount = 4_000
const username = (n: number) => `worker-${n}`
/** One line in a hundred is wrong. */
const isBad = (n: number) => n % 100 === 50

const workers = Array.from({ length: workerCount }, (_, n) =>
  publicLine({ username: isBad(n) ? 'No' : username(n), externalId: `hr-${n}` }),
)
const goodWorkers = workers.flatMap((_, n) => (isBad(n) ? [] : n))

const sources = ['s0', 's1', 's2', 's3'].map((id) => {
  return { id, name: id, kind: 'organisation', group: id }
})

/** The last source sends one item in twenty. */
const items = Array.from({ length: itemCount }, (_, n) => ({
  workerExternalId: `hr-${goodWorkers[n % goodWorkers.length]}`,
  sourceId: n % 20 === 19 ? 's3' : `s${Math.floor(n / goodWorkers.length) % 3}`,
  externalId: `item-${n}`,
  skillId: 'hss:typescript',
  type: 'peer_review',
  value: isBad(n) ? 5_000 : Math.floor(draw() * 1_000),
  observedOn: '2026-05-14',
}))

/** Waits until no score is due and every delivery has ended. */
async function untilQuiet(): Promise<void> {
  await eventually('all scores are computed and all events are delivered', {
    withinMs: 240_000,
    see: async () => {
      const [row] = await db.rows<{ left: number }>(sql`
        select (select count(*) from score_recomputations)
          + (select count(*) from score_reissues)
          + (select count(*) from webhook_events where position is null)
          + (select count(*) from webhook_deliveries where finished_at is null) as left`)
      return row?.left === 0
    },
  })
}

test('an application registers workers, sends evidence, records decisions and revokes a source by the API alone; cut-off requests and a killed server lose and double nothing', async () => {
  await report(['keys', 'create'], env)
  const made = await report(['operators', 'create-token', 'network', '--role', 'admin'], env)
  token = String(made.secret)
  server = await startServer(env)

  await change('/accounts', { name: 'Network' })
  for (const credits of [500, 250])
    await change('/accounts/Network/credits', { credits, reason: `order of ${credits}` })
  const keys = [await createKey('reads'), await createKey('spare'), await createKey('old')]
  const all = await list('/accounts/Network/api-keys?', 'keys')
  const old = all.find(({ name, state }) => name === 'old' && state === 'active')
  await change(`/api-keys/${String(old?.id)}/revoke`)
  assert.deepEqual(await Promise.all(keys.map(statusWith)), [200, 200, 401])
  const url = `https://127.0.0.1:${receiver.port}/events`
  await change('/accounts/Network/webhooks', { url, events: Object.keys(eventTypes) })

  const registered = await send('/workers', workers)
  assert.equal(registered.rejected, workerCount / 100)
  await send('/sources', sources)
  const half = itemCount / 2
  const sent = [items.slice(0, half), items.slice(half)].map((part) => send('/evidence', part))
  await killAndRestart()
  const rejected = (await Promise.all(sent)).map((answer) => Number(answer.rejected))
  assert.deepEqual(rejected, [half / 100, half / 100])
  await untilQuiet()
  assert.equal(await countOf('/scores?', 'scores'), goodWorkers.length)

  // Workers decide, and one decision in two comes by a single change.
  for (let n = 0; n < 20; n++)
    await change(`/workers/${username(n)}/consents/score_sharing/withdraw`)
  const again = Array.from({ length: 10 }, (_, n) => {
    return { username: username(n), permission: 'score_sharing', granted: true, textVersion: '2' }
  })
  await send('/consents', again)
  await send('/identities', [{ username: username(20), state: 'revoked' }])

  const disputed = Array.from({ length: 10 }, (_, i) => username(30 + i))
  for (const [i, name] of disputed.entries()) {
    const { dispute } = await change(`/workers/${name}/disputes`, { kind: 'score' })
    const { id } = dispute as { id: string }
    if (i % 3 === 0) await change(`/disputes/${id}/withdraw`)
    else {
      await change(`/disputes/${id}/review`)
      await change(`/disputes/${id}/resolve`, { as: 'rejected' })
    }
  }
  for (let more: unknown = true; more === true; )
    ({ more } = await change('/sources/s3/evidence/revoke', { reason: 'source_removed' }))
  await untilQuiet()

  assert.ok(cuts >= 10, `${cuts} requests were cut off`)
  assert.equal(await countOf('/workers?', 'workers'), goodWorkers.length)
  assert.equal(await countOf('/evidence?', 'evidence'), itemCount - itemCount / 100)
  assert.equal(await countOf('/evidence?source=s3&state=active&', 'evidence'), 0)
  assert.partialDeepStrictEqual(await read('/accounts/Network/credits'), { balance: 750 })
  const endpoints = await read('/webhooks')
  assert.equal((endpoints.endpoints as object[]).length, 1)
  const disputes = await list('/disputes?all=true&', 'disputes')
  assert.deepEqual(disputes.map(nameOf).toSorted(), disputed.toSorted())
  for (let n = 0; n < 25; n++) {
    const { changes } = await read(`/workers/${username(n)}/consents`)
    const decisions = (changes as Json[]).filter((one) => one.permission === 'score_sharing')
    assert.deepEqual(
      decisions.map((one) => one.granted),
      n < 10 ? [true, false, true] : n < 20 ? [false, true] : [true],
      username(n),
    )
  }
  const hidden = await list('/workers?hidden=true&', 'workers')
  const isHidden = ({ scoreHiddenBy }: Json) => (scoreHiddenBy as string[]).length > 0
  assert.ok(hidden.every(isHidden))
  assert.deepEqual(
    hidden.map(nameOf).toSorted(),
    Array.from({ length: 11 }, (_, i) => username(10 + i)).toSorted(),
  )

  // Every event that may be told arrives, and each arrives at least once.
  const told = await db.rows<{ id: string; withheld: boolean }>(sql`
    select id, withheld_at is not null as withheld from webhook_events`)
  const arrived = new Set(receiver.received.map(({ headers }) => headers['service-webhook-id']))
  const known = new Set(told.map(({ id }) => id))
  assert.deepEqual(
    told.filter(({ id, withheld }) => !withheld && !arrived.has(id)),
    [],
  )
  assert.ok([...arrived].every((id) => known.has(String(id))))
  assert.ok(arrived.size > 3 * goodWorkers.length, `${arrived.size} events`)

  const audit = await read('/audit/verification')
  assert.equal(audit.broken, undefined)
  assert.equal((await report(['credits', 'audit'], env)).ok, true)
  const replayed = await report(['scores', 'replay', '--all'], env)
  assert.equal(replayed.differ, 0)
})

interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[]
  events: { name: string }[]
}

/** Starts a collector of OTLP. Returns its URL and the spans that arrive. */
async function startCollector() {
  const spans: OtlpSpan[] = []
  const collector = createServer((incoming, response) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString())
      spans.push(...resourceSpans[0].scopeSpans[0].spans)
      response.end('{}')
    })
  })
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  after(() => {
    collector.close()
    collector.closeAllConnections()
  })
  const { port } = collector.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans }
}

test('a trace leads from the caller through the request, its batches and statements to the webhook', async () => {
  const { url, spans } = await startCollector()
  server.signal('SIGTERM')
  await server.ended
  server = await startServer({ ...env, TRACES_URL: url, TRACES_SAMPLING: '1' })
  const key = await createKey('traced')
  const [traceId, parentId] = ['ab'.repeat(16), '12'.repeat(8)]
  const traceparent = (id: string, flags: string) => `00-${id}-${parentId}-${flags}`
  const withdraw = `${operatorBase}/workers/${username(40)}/consents/search_listing/withdraw`
  const changed = await fetch(server.base + withdraw, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Idempotency-Key': randomUUID(),
      traceparent: traceparent(traceId, '01'),
    },
  })
  assert.equal(changed.status, 200)
  const { value: delivered } = await eventually('the webhook arrives in the trace', {
    see: async () =>
      receiver.received.find(({ headers }) => String(headers.traceparent).includes(traceId)),
  })
  const readTraced = (id: string, flags: string) =>
    fetch(`${server.base}/api/v1/webhooks/endpoints`, {
      headers: { Authorization: `Bearer ${key}`, traceparent: traceparent(id, flags) },
    })
  const [readId, untracedId] = ['cd'.repeat(16), 'ef'.repeat(16)]
  await readTraced(untracedId, '00')
  await readTraced(readId, '01')
  const inTrace = (id: string) => spans.filter((span) => span.traceId === id)
  const requestIn = (id: string) => inTrace(id).find(({ kind }) => kind === 2)
  const attributeOf = ({ attributes }: OtlpSpan, name: string) => {
    const value = attributes.find((one) => one.key === name)?.value
    return value?.stringValue ?? value?.intValue
  }
  const deliveryIn = (id: string) => inTrace(id).find(({ name }) => name === 'deliver an event')
  // The receiver answers before the delivery is recorded, which ends its span.
  await eventually('the spans of the last request and of the delivery arrive', {
    see: async () => requestIn(readId) !== undefined && deliveryIn(traceId) !== undefined,
  })

  const requested = requestIn(traceId) ?? assert.fail()
  assert.equal(requested.parentSpanId, parentId)
  assert.equal(attributeOf(requested, 'http.response.status_code'), '200')
  const delivery = deliveryIn(traceId)
  assert.equal(delivery?.parentSpanId, requested.spanId)
  assert.equal(delivered?.headers.traceparent, `00-${traceId}-${delivery?.spanId}-01`)
  const queries = inTrace(traceId).map((span) => attributeOf(span, 'db.query.text') ?? '')
  assert.ok(queries.some((text) => text.startsWith('insert into webhook_events')))

  const read = requestIn(readId) ?? assert.fail()
  assert.deepEqual(
    read.events.map(({ name }) => name),
    ['started', 'authenticated', 'counted', 'worked', 'charged'],
  )
  const batch = inTrace(readId).find((span) => attributeOf(span, 'assay.batch.size') === '1')
  const statement = inTrace(readId).find(({ parentSpanId }) => parentSpanId === batch?.spanId)
  assert.ok(statement !== undefined && attributeOf(statement, 'db.system.name') === 'postgresql')
  assert.ok(read.startTimeUnixNano <= statement.startTimeUnixNano)
  assert.ok(statement.endTimeUnixNano <= read.endTimeUnixNano)
  assert.deepEqual(inTrace(untracedId), [], 'its caller does not trace')
  assert.ok(spans.some(({ name }) => name === 'fan out events'))
  server.signal('SIGTERM')
  await server.ended
})
