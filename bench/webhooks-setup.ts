/** Receiver, endpoints, events and jobs processes of `webhooks.ts`, and their processor time. */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ServerCertificate } from '../src/demo/certificates.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { eventTypeNames, eventTypes } from '../src/webhooks/events/event-types.ts'
import { type NewEvent, publishEvents } from '../src/webhooks/events/outbox.ts'
import { createEndpoint, testRing } from '../test/support/build/webhooks.ts'
import { forkBench } from './children.ts'
import { onceMessage } from './serving.ts'
import type { JobsOrder, JobsReport } from './webhooks-jobs.ts'
import type { Arrival, ReceiverReport } from './webhooks-receiver.ts'

export const fanOut = 10
/** Ten endpoints subscribe to each type. */
export const types = eventTypeNames.slice(0, 5)
const endpointsMadeAt = new Date(0)

export const ringText = [...testRing]
  .map(([kid, key]) => `${kid}:${Buffer.from(key).toString('base64')}`)
  .join()

/** Milliseconds since 1970 with fractions, on the receiver's clock. */
export const nowMs = (): number => performance.timeOrigin + performance.now()

export interface BenchReceiver {
  url: string
  take(): Promise<ReceiverReport>
  stop(): void
}

export async function startBenchReceiver(certificate: ServerCertificate): Promise<BenchReceiver> {
  const child = forkBench('webhooks-receiver.ts', certificate)
  const [port] = (await onceMessage(child)) as [number]
  return {
    url: `https://127.0.0.1:${port}`,
    take: () => ask<ReceiverReport>(child),
    stop: () => child.disconnect(),
  }
}

export interface BenchJobs {
  report(): Promise<JobsReport>
  stop(): Promise<void>
}

export async function startBenchJobs(order: Omit<JobsOrder, 'ring'>): Promise<BenchJobs> {
  const child = forkBench('webhooks-jobs.ts', { ...order, ring: ringText } satisfies JobsOrder)
  await onceMessage(child)
  return { report: () => ask<JobsReport>(child), stop: () => ended(child) }
}

export async function ask<Answer>(child: ChildProcess, question: object = {}): Promise<Answer> {
  const answering = onceMessage(child)
  child.send(question)
  const [answer] = await answering
  return answer as Answer
}

export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.disconnect()
  })
}

/** Creates fifty endpoints under `path` and removes all events. */
export async function fresh(db: Db, receiver: BenchReceiver, path: string): Promise<void> {
  await db.run(sql`truncate webhook_events, webhook_endpoints, webhook_secrets,
    webhook_deliveries, webhook_attempts`)
  for (const type of types)
    for (let i = 0; i < fanOut; i++)
      await createEndpoint(db, `${receiver.url}${path}/${type}/${i}`, {
        types: [type],
        at: endpointsMadeAt,
      })
  await db.run(sql`analyze webhook_endpoints, webhook_secrets`)
}

/** Adds endpoints for all types on a shared host. */
export async function addEndpoints(db: Db, urls: readonly string[]): Promise<void> {
  for (const url of urls) await createEndpoint(db, url, { types, at: endpointsMadeAt })
}

export function someEvent(i: number): NewEvent {
  const type = types[i % types.length] ?? 'score.updated'
  const workerId = randomUUID()
  return { type, workerId, data: { ...eventTypes[type].example, workerId } } as NewEvent
}

/** Writes fifty events in each transaction. */
export async function publish(db: Db, count: number): Promise<void> {
  for (let done = 0; done < count; done += 50) {
    const events = Array.from({ length: Math.min(50, count - done) }, (_, i) => someEvent(done + i))
    await db.transaction((tx) => publishEvents(tx, events, new Date()))
  }
}

/** Returns the number of statements that publishing an event adds to the caller's transaction. */
export async function statementsToPublish(db: Db): Promise<number> {
  let count = 0
  await db.transaction((tx) =>
    publishEvents(
      {
        ...tx,
        rows: (statement) => {
          count++
          return tx.rows(statement)
        },
        run: (statement) => {
          count++
          return tx.run(statement)
        },
      },
      [someEvent(0)],
      new Date(),
    ),
  )
  return count
}

export async function untilDispatched(db: Db): Promise<void> {
  await until(async () => {
    const rows = await db.rows(sql`select 1 from webhook_events where position is null limit 1`)
    return rows.length === 0
  })
}

export async function untilDelivered(db: Db): Promise<void> {
  await untilDispatched(db)
  await until(async () => {
    const rows = await db.rows(sql`
      (select 1 from webhook_deliveries where status = 'pending' limit 1)
      union all (select 1 from webhook_deliveries where status = 'sending' limit 1)`)
    return rows.length === 0
  })
}

export const pauseAll = (db: Db) => db.run(sql`update webhook_endpoints set paused_at = now()`)
export const resumeAll = (db: Db) => db.run(sql`update webhook_endpoints set paused_at = null`)

export async function until(met: () => Promise<boolean>): Promise<void> {
  while (!(await met())) await pause(20)
}

/**
 * Publishes events one by one at a steady rate with `publishOne`, which returns the event id.
 * Returns the commit times by id.
 */
export async function steadily(
  { perSecond, seconds }: { perSecond: number; seconds: number },
  publishOne: (i: number) => Promise<string>,
): Promise<Map<string, number>> {
  const committed = new Map<string, number>()
  const publishing: Promise<unknown>[] = []
  const count = Math.round(perSecond * seconds)
  const began = performance.now()
  for (let i = 0; i < count; i++) {
    await pause(Math.max(0, began + (i * 1_000) / perSecond - performance.now()))
    publishing.push(publishOne(i).then((id) => committed.set(id, nowMs())))
  }
  await Promise.all(publishing)
  return committed
}

export interface Lags {
  p50: number
  p99: number
}

/** Returns the milliseconds from commit to the first arrival of each event at each path. */
export function lagsOf(
  arrivals: readonly Arrival[],
  committed: ReadonlyMap<string, number>,
): Lags & { count: number } {
  const first = new Map<string, number>()
  for (const { path, id, at } of arrivals) {
    const since = committed.get(id)
    const key = `${path} ${id}`
    if (since !== undefined && !first.has(key)) first.set(key, at - since)
  }
  const sorted = [...first.values()].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), count: sorted.length }
}
