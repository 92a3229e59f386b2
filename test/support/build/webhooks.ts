/** Endpoints, events and a deliverer. The deliverer's clock stands still until a test moves it. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Keyring } from '../../../src/platform/crypto/keyring.ts'
import { type Db, type Queryable, sql } from '../../../src/platform/db/db.ts'
import { type Egress, type EgressOptions, openEgress } from '../../../src/platform/egress/client.ts'
import { strangerRules } from '../../../src/platform/egress/rules.ts'
import { openLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'
import { verifySignature } from '../../../src/webhooks/delivery/attempt-request.ts'
import { type DelivererOptions, openDeliverer } from '../../../src/webhooks/delivery/deliver.ts'
import { deliveryMeter } from '../../../src/webhooks/delivery/delivery-metrics.ts'
import { insertSecret } from '../../../src/webhooks/delivery/endpoint-store.ts'
import { claimDeliveries } from '../../../src/webhooks/delivery/leasing-store.ts'
import { newSecret, sealSecret, secretPrefix } from '../../../src/webhooks/delivery/secret.ts'
import { disableEndpoint } from '../../../src/webhooks/endpoints/enable.ts'
import type { WebhookPerformer } from '../../../src/webhooks/endpoints/handlers.ts'
import {
  type EventType,
  eventTypeNames,
  eventTypes,
} from '../../../src/webhooks/events/event-types.ts'
import { fanOutBatch, fanOutEvents } from '../../../src/webhooks/events/fan-out.ts'
import { type NewEvent, publishEvents } from '../../../src/webhooks/events/outbox.ts'
import type { WebhookServices } from '../../../src/webhooks/operation-parts.ts'
import { type Received, type Receiver, startReceiver, testAuthority } from '../start/receiver.ts'

export const testRing = new Map([['k1', randomBytes(32)]])

/** `testRing` in the format of the setting SECRETS_KEYRING. */
export const testRingText = [...testRing]
  .map(([kid, key]) => `${kid}:${key.toString('base64')}`)
  .join(',')

const log = openLog({ level: 'silent' })

export const began = new Date('2026-05-14T09:00:00.000Z')

/** Deletes every event, endpoint, secret, delivery and attempt. */
export function forgetWebhooks(db: Db): Promise<number> {
  return db.run(sql`truncate webhook_events, webhook_endpoints, webhook_secrets, webhook_deliveries,
    webhook_attempts`)
}

export interface TestEndpoint {
  id: string
  /** The account that owns the endpoint. */
  userId: string
  secret: string
}

export async function createEndpoint(
  db: Db,
  url: string,
  {
    types = eventTypeNames,
    at = began,
    userId = randomUUID(),
  }: { types?: readonly EventType[]; at?: Date; userId?: string } = {},
): Promise<TestEndpoint> {
  const id = randomUUID()
  const secret = newSecret()
  await db.transaction(async (tx) => {
    await tx.run(sql`
      insert into webhook_endpoints (id, user_id, url, event_types, created_at, updated_at)
      values (${id}, ${userId}, ${url}, ${types}, ${at}, ${at})`)
    await insertSecret(tx, {
      endpointId: id,
      version: 1,
      prefix: secretPrefix(secret),
      signsFrom: at,
      ...sealSecret(secret, { endpointId: id, version: 1 }, testRing),
    })
  })
  return { id, userId, secret }
}

export const disable = (db: Db, endpointId: string, now: Date) =>
  db.transaction((tx) => disableEndpoint(tx, { endpointId, owner: 'any', reason: 'owner', now }))

/** Publishes `count` events of the type, each about another worker. */
export function happen(db: Db, type: EventType = 'score.updated', { count = 1, at = began } = {}) {
  const events = Array.from({ length: count }, () => {
    const workerId = randomUUID()
    return { type, workerId, data: { ...eventTypes[type].example, workerId } } as NewEvent
  })
  return db.transaction((tx) => publishEvents(tx, events, at))
}

/** Fans out one batch of at most `events` events. */
export const fanOut = (db: Queryable, events: number) =>
  fanOutBatch(db, { events, deliveries: 20_000 })

export type Answer = (response: ServerResponse, received: Received) => unknown

export const ok: Answer = (response) => response.end()
export const failing: Answer = (response) => response.writeHead(500).end('broken')

/**
 * Starts a receiver that `startDelivering` can reach, and returns it with its URL. It closes after
 * the test.
 */
export async function receiver(answer: Answer): Promise<Receiver & { url: string }> {
  const started = await startReceiver(['hooks.example'], answer)
  after(() => started.close())
  return { ...started, url: `https://hooks.example:${started.port}/hook` }
}

/**
 * Starts a deliverer that may send to 127.0.0.1. A test moves its clock. It closes after the test.
 */
export function startDelivering(
  db: Db,
  {
    egress,
    around = (usual) => usual,
    ...options
  }: Partial<Omit<DelivererOptions, 'egress'>> & {
    egress?: Partial<EgressOptions>
    /** Wraps the HTTP client of the deliverer. */
    around?: (usual: Egress) => Egress
  } = {},
) {
  const time = { now: began }
  const metrics = createMetrics()
  const client = openEgress({
    rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' }),
    extraCa: testAuthority().cert,
    resolve: () => Promise.resolve(['127.0.0.1']),
    // Generous deadlines, because these tests are not about deadlines and a busy machine is slow.
    deadlines: { totalMs: 15_000, connectMs: 10_000 },
    ...egress,
  })
  after(() => client.close())
  const deliverer = openDeliverer({
    db,
    egress: around(client),
    clock: () => time.now,
    ring: testRing,
    meter: deliveryMeter(metrics),
    log,
    chance: () => 0.5,
    ...options,
  })
  return {
    ...deliverer,
    metrics,
    moveTo: (now: Date) => (time.now = now),
    moveBy: (seconds: number) => (time.now = new Date(time.now.getTime() + seconds * 1_000)),
    now: () => time.now,
    /** Fans out and sends everything that is due now, until each delivery is acknowledged. */
    async deliver(): Promise<void> {
      await fanOutEvents(db)
      while ((await deliverer.pass()) > 0) await deliverer.finish()
    },
    /**
     * Delivers in a loop, as the jobs process does, until `end` is called. A failed pass does not
     * stop the loop.
     */
    keepWorking(): { end(): Promise<void> } {
      const ending = new AbortController()
      const working = (async () => {
        while (!ending.signal.aborted) {
          await deliverer.work(ending.signal).catch(() => undefined)
          await pause(5)
        }
        await deliverer.finish()
      })()
      return {
        end() {
          ending.abort()
          return working
        },
      }
    },
  }
}

/**
 * Tells whether the signature of a received request verifies with this secret at the request's own
 * timestamp.
 */
export function verifies(
  { headers, body }: Received,
  secret: string,
  name = 'service-webhook-signature',
) {
  const nowSeconds = Number(headers['service-webhook-timestamp'])
  return verifySignature(String(headers[name] ?? ''), { secret, body, nowSeconds })
}

/**
 * Claims due deliveries of an endpoint at `now` for 60 seconds, like a process that then sends
 * nothing.
 */
export function lease(
  db: Db,
  endpointId: string,
  { count = 1, now = began, secretVersion = 1 } = {},
) {
  return claimDeliveries(db, [{ endpointId, count, secretVersion }], {
    ids: Array.from({ length: count }, () => randomUUID()),
    now,
    until: new Date(now.getTime() + 60_000),
  })
}

export interface DeliveryRow {
  endpointId: string
  eventId: string
  status: string
  trigger: string
  attempts: number
  dueAt: Date
}

export function deliveriesIn(db: Db): Promise<DeliveryRow[]> {
  return db.rows<DeliveryRow>(sql`
    select endpoint_id as "endpointId", event_id as "eventId", status, trigger, attempts,
      due_at as "dueAt"
    from webhook_deliveries order by id`)
}

/** Statuses of the deliveries, in the order of their creation. */
export const statusesIn = async (db: Db) => (await deliveriesIn(db)).map((row) => row.status)

/** Performs operations on webhooks as a server does; an account's name is its id. */
export function webhookPerformer(
  db: Db,
  webhooks: Partial<Omit<WebhookServices['webhooks'], 'ring'>> & { ring?: Keyring | null } = {},
): WebhookPerformer {
  const { ring = testRing, ...more } = webhooks
  return {
    db,
    clock: systemClock,
    services: {
      accounts: {
        named: async (_, text) => ({ id: text, name: text }),
        names: async () => new Map(),
      },
      webhooks: {
        rules: strangerRules(),
        activeMax: 20,
        checkName: null,
        onSecretShown: () => {},
        ring: async () => ring,
        ...more,
      },
    },
  }
}

/** Returns the name of a refusal, or null. */
export function refusalOf(result: object): string | null {
  return 'refusal' in result ? String(result.refusal) : null
}
