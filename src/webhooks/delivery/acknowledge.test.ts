/**
 * The effect of attempts on their endpoint: whether it fails, how much it may take at once, and
 * until when it is parked.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  forgetWebhooks,
  happen,
  lease,
  statusesIn,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { type AttemptEnd, acknowledgeBatch } from './acknowledge.ts'
import { type ClaimedDelivery, releaseExpiredLeases } from './leasing-store.ts'
import { outcomeOf } from './outcome.ts'
import { queueTestEvent } from './resend.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

/** Creates an endpoint with `count` leased deliveries. */
async function underWay(count: number) {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await happen(db, 'score.updated', { count })
  await fanOutEvents(db)
  return { id, deliveries: await lease(db, id, { count }) }
}

async function testEventUnderWay() {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await db.transaction((tx) =>
    queueTestEvent(tx, { endpointId: id, owner: 'any', type: 'score.updated', at: began }),
  )
  return { id, deliveries: await lease(db, id) }
}

/**
 * Acknowledges that the receiver answered each delivery in this way. Returns how many leases had
 * expired.
 */
function answered(
  deliveries: readonly ClaimedDelivery[],
  status: number,
  { headers = {}, at = began }: { headers?: Record<string, string>; at?: Date } = {},
): Promise<number> {
  const body = Buffer.alloc(0)
  const outcome = outcomeOf({ status, headers, body, isCut: false }, at)
  const ends = deliveries.map(
    (delivery): AttemptEnd => ({
      delivery,
      status: outcome.succeeded ? 'succeeded' : 'exhausted',
      dueAt: null,
      sent: { outcome, startedAt: at, durationMs: 5 },
    }),
  )
  return acknowledgeBatch({ db }, ends, at)
}

interface Health {
  failures: number
  failingSince: Date | null
  concurrency: number
  parkedUntil: Date | null
  disabledReason: string | null
}

async function healthOf(id: string): Promise<Health> {
  const [row] = await db.rows<Health>(sql`
    select consecutive_failures as failures, failing_since as "failingSince", concurrency,
      parked_until as "parkedUntil", disabled_reason as "disabledReason"
    from webhook_endpoints where id = ${id}::uuid`)
  return row ?? assert.fail('no such endpoint')
}

test('each failure of a batch counts', async () => {
  const { id, deliveries } = await underWay(5)
  await answered(deliveries.slice(0, 2), 500)
  await answered(deliveries.slice(2), 500)
  assert.equal((await healthOf(id)).failures, 5)
})

test('Retry-After stays in force while other answers come back', async () => {
  const { id, deliveries } = await underWay(3)
  const [parks, earlier, takes] = deliveries.map((delivery) => [delivery])
  await answered(parks ?? [], 429, { headers: { 'retry-after': '120' } })
  await answered(earlier ?? [], 429, { headers: { 'retry-after': '60' } })
  await answered(takes ?? [], 200)
  assert.deepEqual((await healthOf(id)).parkedUntil, new Date(began.getTime() + 120_000))
})

for (const status of [200, 410, 429, 500])
  test(`${status} to a test event does not change the endpoint, because its owner may be building the receiver`, async () => {
    const { id, deliveries } = await testEventUnderWay()
    await db.run(sql`
      update webhook_endpoints set failing_since = ${began}, consecutive_failures = 2`)
    const before = await healthOf(id)
    await answered(deliveries, status, { headers: { 'retry-after': '120' } })
    assert.deepEqual(await healthOf(id), before)
  })

test('410 to an attempt whose lease has expired disables nothing: the next attempt decides', async () => {
  const { id, deliveries } = await underWay(1)
  const at = new Date(began.getTime() + 60_001)
  await releaseExpiredLeases(db, at)
  assert.equal(await answered(deliveries, 410), 1)
  assert.equal((await healthOf(id)).disabledReason, null)
  assert.deepEqual(await statusesIn(db), ['pending'])
  assert.equal(await answered(await lease(db, id, { now: at }), 410, { at }), 0)
  assert.equal((await healthOf(id)).disabledReason, 'gone')
})
