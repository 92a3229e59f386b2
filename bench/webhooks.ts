/**
 * Delivering webhooks beside its limits, in one run: the bare HTTP client to the same receiver, leasing and acknowledging without sending, and
 * the bare client with a new TLS connection for each POST. 50 endpoints over TLS on one host, each event to 10 of them; database, receiver
 * and deliverer share this machine. WEBHOOK_EVENTS for more events than 1,000.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { createAuthority } from '../src/demo/certificates.ts'
import { type Db, openDb, sql } from '../src/platform/db.ts'
import { type Egress, openEgress } from '../src/platform/egress.ts'
import { strangerRules } from '../src/platform/egress-rules.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { openLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { migrate } from '../src/platform/migrate.ts'
import { openDeliverer } from '../src/webhooks/deliver.ts'
import { deliveryMeter } from '../src/webhooks/delivery-metrics.ts'
import { eventTypeNames, eventTypes } from '../src/webhooks/event-types.ts'
import { type NewEvent, publishEvents } from '../src/webhooks/outbox.ts'
import { placeWaiting } from '../src/webhooks/place.ts'
import { createEndpoint, testRing } from '../test/support/webhooks.ts'
import { report } from './measure.ts'

const eventCount = Number(process.env.WEBHOOK_EVENTS ?? 1_000)
const fanOut = 10
const types = eventTypeNames.slice(0, 5)
const log = openLog({ level: 'silent' })
const long = new Date(0)

/** The receiver, in a process of its own: /cold closes its connections, /slow takes five seconds, /drip never ends. */
const receiver = `
  const { createServer } = require('node:https')
  process.once('message', (certificate) => {
    const server = createServer(certificate, (request, response) => {
      request.resume().on('end', () => {
        if (request.url === '/slow') setTimeout(() => response.end(), 5000)
        else if (request.url === '/drip') { response.writeHead(200); setInterval(() => response.write('x'), 200).unref() }
        else if (request.url.startsWith('/cold')) response.writeHead(200, { connection: 'close' }).end()
        else response.end()
      })
    })
    server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  })`

const authority = createAuthority()
const sink = spawn(process.execPath, ['-e', receiver], {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
})
sink.send(authority.certify('127.0.0.1'))
const [port] = await once(sink, 'message')
const base = `https://127.0.0.1:${port}`

async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (count * 1_000) / (performance.now() - began)
}

async function bareSends(count: number, path: string, atOnce: number): Promise<number> {
  const agent = new Agent({ connections: atOnce, allowH2: false, connect: { ca: authority.cert } })
  const body = JSON.stringify(eventTypes['score.revised'].example)
  const one = async (): Promise<void> => {
    const options = { origin: base, path, method: 'POST' as const, body }
    const answer = await agent.request(options)
    await answer.body.dump()
  }
  let left = count
  const line = async (): Promise<void> => {
    while (left-- > 0) await one()
  }
  const rate = await perSecond(count, () => Promise.all(Array.from({ length: atOnce }, line)))
  await agent.close()
  return rate
}

async function fresh(db: Db, path: string): Promise<void> {
  await db.run(sql`truncate webhook_events, webhook_endpoints, webhook_secrets,
    webhook_deliveries, webhook_attempts`)
  for (const type of types)
    for (let i = 0; i < fanOut; i++)
      await createEndpoint(db, `${base}${path}`, { types: [type], at: long })
}

async function publish(db: Db, count: number): Promise<void> {
  for (let done = 0; done < count; done += 50) {
    const events = Array.from({ length: Math.min(50, count - done) }, (_, i): NewEvent => {
      const type = types[(done + i) % types.length] ?? 'score.updated'
      const workerId = randomUUID()
      return { type, workerId, data: { ...eventTypes[type].example, workerId } } as NewEvent
    })
    await db.transaction((tx) => publishEvents(tx, events, new Date()))
  }
}

function deliverer(db: Db, egress: Egress) {
  const meter = deliveryMeter(createMetrics())
  return openDeliverer({ db, egress, clock: () => new Date(), ring: testRing, meter, log })
}

/** A backlog of all events, from the first lease to the last acknowledgement. Deliveries a second. */
async function drained(db: Db, egress: Egress, path: string, count = eventCount): Promise<number> {
  await fresh(db, path)
  await publish(db, count)
  await placeWaiting(db)
  const { signal } = new AbortController()
  const rate = await perSecond(count * fanOut, () => deliverer(db, egress).work(signal))
  const [row] = await db.rows<{ done: number }>(
    sql`select count(*)::int as done from webhook_deliveries where status = 'succeeded'`,
  )
  if (row?.done !== count * fanOut) throw new Error(`${row?.done} of ${count * fanOut} arrived`)
  return rate
}

/** Ten seconds of events at a steady rate. Milliseconds from commit to POST at the healthy endpoints. */
async function lags(db: Db, egress: Egress, bad: readonly string[]): Promise<[number, number]> {
  await fresh(db, '/hook')
  const spoilt = await Promise.all(bad.map((url) => createEndpoint(db, url, { types, at: long })))
  const ending = new AbortController()
  const sending = deliverer(db, egress)
  const looping = [() => placeWaiting(db), () => sending.work(ending.signal)].map(async (work) => {
    while (!ending.signal.aborted) {
      await work()
      await pause(25)
    }
  })
  for (let tick = 0; tick < 100; tick++) {
    await Promise.all([publish(db, 5), pause(100)])
  }
  await pause(1_000)
  ending.abort()
  await Promise.all(looping)
  const [row] = await db.rows<{ p50: number; p99: number }>(sql`
    select percentile_cont(0.5) within group (order by lag) as p50,
      percentile_cont(0.99) within group (order by lag) as p99
    from (
      select extract(epoch from a.started_at - e.created_at)::float8 * 1000 as lag
      from webhook_attempts a join webhook_events e on e.id = a.event_id
      where a.attempt = 1 and a.endpoint_id <> all(${spoilt.map(({ id }) => id)}::uuid[])
    ) lags`)
  await sending.finish()
  return [row?.p50 ?? Number.NaN, row?.p99 ?? Number.NaN]
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The server's user must get through.
chmodSync(folder, 0o755)
const server = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  durable: true,
  log: () => {},
})
const egress = openEgress({
  rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' }),
  extraCa: authority.cert,
})
const nowhere: Egress = {
  send: () =>
    Promise.resolve({
      outcome: 'answered',
      status: 200,
      headers: {},
      body: Buffer.alloc(0),
      isCut: false,
    }),
  close: () => Promise.resolve(),
}
try {
  await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
  const options = { connectionsMax: 8, applicationName: 'bench', onError: () => {} }
  const db = openDb({
    url: server.url,
    ...options,
    statementTimeoutMs: 30_000,
    connectionWaitMs: 30_000,
  })
  await bareSends(1_000, '/hook', 64)
  const raw = await bareSends(eventCount * fanOut, '/hook', 64)
  const leasing = await drained(db, nowhere, '/hook')
  await drained(db, egress, '/hook', 100)
  const warm = await drained(db, egress, '/hook')
  const rawCold = await bareSends(1_500, '/cold', 64)
  const cold = await drained(db, egress, '/cold', 150)
  const [cleanP50, cleanP99] = await lags(db, egress, [])
  const bad = ['https://127.0.0.1:1/dead', `${base}/slow`, `${base}/drip`]
  const [besideP50, besideP99] = await lags(db, egress, bad)
  report(`webhooks, ${eventCount} events to ${fanOut} endpoints each`, [
    { name: 'limit: the bare client, warm', value: raw, unit: 'POST/s' },
    { name: 'limit: leasing and acknowledging alone', value: leasing, unit: '/s' },
    { name: 'limit: the bare client, cold TLS', value: rawCold, unit: 'POST/s' },
    { name: 'delivered, warm', value: warm, unit: '/s' },
    { name: 'of the bare client', value: warm / raw, unit: '×', target: { min: 0.15 } },
    { name: 'of leasing alone', value: warm / leasing, unit: '×', target: { min: 0.4 } },
    { name: 'delivered, cold TLS', value: cold, unit: '/s' },
    { name: 'of the bare client, cold', value: cold / rawCold, unit: '×', target: { min: 0.6 } },
    { name: 'commit to POST at 500/s, p50', value: cleanP50, unit: 'ms', target: { max: 50 } },
    { name: 'commit to POST at 500/s, p99', value: cleanP99, unit: 'ms', target: { max: 300 } },
    { name: 'beside a dead, a slow, a dripping one, p50', value: besideP50, unit: 'ms' },
    {
      name: 'beside a dead, a slow, a dripping one, p99',
      value: besideP99,
      unit: 'ms',
      target: { max: 1.5 * cleanP99 + 50 },
    },
  ])
  await db.close()
} finally {
  await egress.close()
  sink.kill()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
