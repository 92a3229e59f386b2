/**
 * Publishes events at a rate, some of them in transactions that roll back on purpose, and counts
 * the events that arrive at receivers. A test then compares the two.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256Hex } from '../../../src/platform/crypto/bytes.ts'
import { type Db, sql } from '../../../src/platform/db/db.ts'
import { verifySignature } from '../../../src/webhooks/delivery/attempt-request.ts'
import { eventTypes } from '../../../src/webhooks/events/event-types.ts'
import { publishEvents } from '../../../src/webhooks/events/outbox.ts'
import { createEndpoint } from '../build/webhooks.ts'
import { type Received, startReceiver } from '../start/receiver.ts'

/** Worker ids, one event each, grouped by the outcome of the transaction. */
export interface Published {
  committed: Set<string>
  rolledBack: Set<string>
  /** The connection broke during the commit, so the outcome is unknown. */
  unsaid: Set<string>
}

export interface EventLoad {
  published: Published
  stop(): void
  /** Resolves after `stop`, once no transaction is in progress. */
  ended: Promise<void>
}

const pauseMs = 25
const batchMax = 100
/**
 * Largest number of deliveries in the backlog. Publishing pauses there, so that the test also ends
 * on a machine that is slower than the load.
 */
const backlogMax = 5_000

/**
 * Publishes `eventsASecond` events a second until `stop`, even while the database is down. One
 * transaction in five rolls back after its writes.
 */
export function eventLoad(db: Db, arrivals: Arrivals, eventsASecond: number): EventLoad {
  const published = noneYet()
  const stopping = new AbortController()
  const publishing = async (): Promise<void> => {
    let due = 0
    for (let turn = 0, last = performance.now(); !stopping.signal.aborted; turn++) {
      await pause(pauseMs)
      const now = performance.now()
      due = Math.min(batchMax, due + ((now - last) / 1_000) * eventsASecond)
      last = now
      const waiting = published.committed.size * arrivals.endpointCount - arrivals.count()
      if (due < 1 || waiting > backlogMax) continue
      if (turn % 5 === 4) await publishBatch(db, published, { count: 3, isRolledBack: true })
      await publishBatch(db, published, { count: Math.floor(due), isRolledBack: false })
      due -= Math.floor(due)
    }
  }
  return { published, stop: () => stopping.abort(), ended: publishing() }
}

export function noneYet(): Published {
  return { committed: new Set(), rolledBack: new Set(), unsaid: new Set() }
}

class RolledBack extends Error {}

/** Publishes `count` events in one transaction. */
export async function publishBatch(
  db: Db,
  { committed, rolledBack, unsaid }: Published,
  { count, isRolledBack }: { count: number; isRolledBack: boolean },
): Promise<void> {
  const workerIds = Array.from({ length: count }, () => randomUUID())
  const events = workerIds.map((workerId) => {
    const data = { ...eventTypes['score.updated'].example, workerId }
    return { type: 'score.updated', workerId, data } as const
  })
  const became = await db
    .transaction(async (tx) => {
      await publishEvents(tx, events, new Date())
      if (isRolledBack) throw new RolledBack()
    })
    .then(
      () => committed,
      (error: unknown) => (error instanceof RolledBack ? rolledBack : unsaid),
    )
  for (const workerId of workerIds) became.add(workerId)
}

export interface Arrivals {
  /** Number of requests so far. */
  count(): number
  endpointCount: number
  /** Number of arrivals by endpoint path and event id: `/PATH EVENT`. */
  times: ReadonlyMap<string, number>
  /** SHA-256 of the body, by event id. */
  digests: ReadonlyMap<string, string>
  /** Contract violations that the receiver saw, one sentence each. */
  faults: readonly string[]
  close(): Promise<void>
}

/**
 * Creates endpoints on one receiver. The receiver accepts every request at once, checks each
 * signature and stores no body.
 */
export async function startArrivals(db: Db, endpointCount: number): Promise<Arrivals> {
  const secrets = new Map<string, string>()
  const times = new Map<string, number>()
  const digests = new Map<string, string>()
  const attempts = new Set<string>()
  const faults: string[] = []
  const note = ({ path, headers, body }: Received): void => {
    const id = String(headers['service-webhook-id'])
    const attempt = String(headers['service-webhook-delivery'])
    const digest = sha256Hex(body)
    const key = `${path} ${id}`
    times.set(key, (times.get(key) ?? 0) + 1)
    if (attempts.has(attempt)) faults.push(`${key}: the attempt ${attempt} came twice`)
    attempts.add(attempt)
    if ((digests.get(id) ?? digest) !== digest) faults.push(`${key}: other bytes than before`)
    digests.set(id, digest)
    const signed = { secret: secrets.get(path) ?? '', body, nowSeconds: Date.now() / 1_000 }
    if (!verifySignature(String(headers['service-webhook-signature']), signed))
      faults.push(`${key}: its signature does not verify`)
  }
  const receiver = await startReceiver(['127.0.0.1'], (response, request) => {
    note(request)
    receiver.received.length = 0
    response.end()
  })
  const at = new Date(Date.now() - 60_000)
  for (let i = 0; i < endpointCount; i++) {
    const path = `/${i}`
    const { secret } = await createEndpoint(db, `https://127.0.0.1:${receiver.port}${path}`, { at })
    secrets.set(path, secret)
  }
  return {
    count: () => attempts.size,
    endpointCount,
    times,
    digests,
    faults,
    close: () => receiver.close(),
  }
}

/** Tells whether every event has been fanned out and every delivery has ended. */
export async function isDrained(db: Db): Promise<boolean> {
  const [row] = await db.rows<{ drained: boolean }>(sql`
    select not exists (select from webhook_deliveries where finished_at is null)
      and not exists (select from webhook_events where position is null) as drained`)
  return row?.drained ?? false
}

/**
 * Asserts that every committed event reached every endpoint with the committed bytes, that no other
 * event arrived, and that the database records the same. Returns the number of repeated requests
 * and a summary in numbers.
 */
export async function assertArrived(
  db: Db,
  { committed, rolledBack, unsaid }: Published,
  arrivals: Arrivals,
): Promise<{ repeats: number; summary: string }> {
  const events = await db.rows<{ workerId: string }>(
    sql`select worker_id as "workerId" from webhook_events`,
  )
  const kept = new Set(events.map(({ workerId }) => workerId))
  for (const id of committed) assert.ok(kept.has(id), `the event of ${id} was committed and lost`)
  for (const id of rolledBack) assert.ok(!kept.has(id), `the event of ${id} was rolled back`)
  for (const id of kept) assert.ok(committed.has(id) || unsaid.has(id), `nobody wrote ${id}`)
  await assertDelivered(db, arrivals)
  const { times, endpointCount } = arrivals
  const repeats = arrivals.count() - times.size
  const summary =
    `${events.length} events committed, ${events.filter((event) => unsaid.has(event.workerId)).length} of them without an answer to the commit; ` +
    `${rolledBack.size} rolled back: none arrived. ${endpointCount} endpoints × ${events.length} = ${times.size} deliveries: none is missing. ` +
    `${arrivals.count()} requests: ${repeats} came again under the same event id. ` +
    `Every body as committed, every signature valid.`
  return { repeats, summary }
}

/**
 * Asserts that every event reached every endpoint with the committed bytes, that no other event
 * arrived, and that the database records the same. Returns the number of events.
 */
export async function assertDelivered(db: Db, arrivals: Arrivals): Promise<number> {
  const { times, digests, faults, endpointCount } = arrivals
  assert.deepEqual(faults, [])
  const events = await db.rows<{ id: string; body: string }>(
    sql`select id, body from webhook_events`,
  )
  for (const { id, body } of events)
    for (let i = 0; i < endpointCount; i++) {
      assert.ok(times.has(`/${i} ${id}`), `${id} never came to endpoint ${i}`)
      assert.equal(digests.get(id), sha256Hex(body), `${id}: other bytes than were committed`)
    }
  assert.equal(digests.size, events.length, 'an event came that is not in the database')
  const statuses = await db.rows(sql`select distinct status from webhook_deliveries`)
  assert.deepEqual(statuses, [{ status: 'succeeded' }])
  return events.length
}
