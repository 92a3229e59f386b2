/** Due endpoints are found in round-robin order. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  forgetWebhooks,
  happen,
  lease,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { findDueEndpoints, releaseExpiredLeases } from './leasing-store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

const beforeAll = '00000000-0000-0000-0000-000000000000'

/** Creates endpoints with two deliveries each. Returns their ids in order. */
async function dueEndpoints(count: number): Promise<string[]> {
  const made = await Promise.all(
    Array.from({ length: count }, () => createEndpoint(db, 'https://hooks.example/')),
  )
  await happen(db, 'score.updated', { count: 2 })
  await fanOutEvents(db)
  return made.map(({ id }) => id).sort()
}

async function found(from: string, limit = 512) {
  const { endpoints, after: next } = await findDueEndpoints(db, { after: from, limit, now: began })
  return { ids: endpoints.map(({ endpointId }) => endpointId), next }
}

test('from any cursor every due endpoint is found once: first those after it, then those before', async () => {
  const ids = await dueEndpoints(5)
  assert.deepEqual(await found(beforeAll), { ids, next: null })
  for (const [i, id] of ids.entries())
    assert.deepEqual(await found(id), {
      ids: [...ids.slice(i + 1), ...ids.slice(0, i + 1)],
      next: null,
    })
})

test('pages continue where the previous page ended, and the last wraps around to the beginning', async () => {
  const ids = await dueEndpoints(5)
  assert.deepEqual(await found(beforeAll, 2), { ids: ids.slice(0, 2), next: ids[1] })
  assert.deepEqual(await found(ids[1] ?? '', 2), { ids: ids.slice(2, 4), next: ids[3] })
  assert.deepEqual(await found(ids[3] ?? '', 2), {
    ids: [ids[4], ids[0], ids[1]],
    next: null,
  })
})

test('a disabled, paused, parked, full or not yet due endpoint is skipped, also as the last of a page', async () => {
  const ids = await dueEndpoints(7)
  const [disabled, paused, parked, full, later, failing, plain] = ids
  const soon = new Date(began.getTime() + 1)
  await db.run(sql`
    update webhook_endpoints set
      disabled_at = case when id = ${disabled}::uuid then ${began}::timestamptz end,
      disabled_reason = case when id = ${disabled}::uuid then 'owner' end,
      paused_at = case when id = ${paused}::uuid then ${began}::timestamptz end,
      parked_until = case when id = ${parked}::uuid then ${soon}::timestamptz end,
      concurrency = case when id = ${full}::uuid then 1 else 4 end,
      consecutive_failures = case when id = ${failing}::uuid then 3 else 0 end`)
  await db.run(sql`
    update webhook_deliveries set due_at = ${soon} where endpoint_id = ${later}::uuid`)
  await lease(db, full ?? '')
  assert.deepEqual(await found(beforeAll), { ids: [failing, plain], next: null })
  assert.deepEqual(await found(beforeAll, 3), { ids: [], next: parked })
  const everybody = { after: beforeAll, limit: 9, now: began }
  const { endpoints, nextAt } = await findDueEndpoints(db, everybody)
  assert.deepEqual(nextAt, soon)
  assert.deepEqual(
    endpoints.map(({ isFailing, room, secrets }) => [isFailing, room, secrets.length]),
    [
      [true, 4, 1],
      [false, 4, 1],
    ],
  )
})

test('the next due time is the earliest of all endpoints that are not due now, or null if none is scheduled', async () => {
  const [disabled, parked, rated, later, due] = await dueEndpoints(5)
  const next = async () =>
    (await findDueEndpoints(db, { after: beforeAll, limit: 9, now: began })).nextAt
  assert.equal(await next(), null)
  const inMs = (ms: number) => new Date(began.getTime() + ms)
  await db.run(sql`
    update webhook_deliveries d set due_at = case d.endpoint_id
      when ${later}::uuid then ${inMs(30)}::timestamptz
      when ${due}::uuid then due_at
      else ${inMs(1)}::timestamptz end`)
  await db.run(sql`
    update webhook_endpoints set
      disabled_at = case when id = ${disabled}::uuid then ${began}::timestamptz end,
      disabled_reason = case when id = ${disabled}::uuid then 'owner' end,
      parked_until = case when id = ${parked}::uuid then ${inMs(20)}::timestamptz end,
      rate_per_second = case when id = ${rated}::uuid then 1 end,
      rate_from = case when id = ${rated}::uuid then ${inMs(10)}::timestamptz end`)
  const kept = [rated, parked, later]
  for (const [i, id] of kept.entries()) {
    assert.deepEqual(await next(), inMs(10 * (i + 1)))
    await db.run(sql`delete from webhook_deliveries where endpoint_id = ${id}::uuid`)
  }
  assert.equal(await next(), null)
})

test('an expired lease is ended once by any number of concurrent processes', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await happen(db)
  await fanOutEvents(db)
  await lease(db, id)
  const at = new Date(began.getTime() + 60_001)
  await db.transaction(async (tx) => {
    assert.equal(await releaseExpiredLeases(tx, at), 1)
    assert.equal(await releaseExpiredLeases(db, at), 0)
  })
  const found = await db.rows(sql`
    select status, attempts, interruptions from webhook_deliveries`)
  assert.deepEqual(found, [{ status: 'pending', attempts: 0, interruptions: 1 }])
})
