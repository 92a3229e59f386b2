/** Failing endpoints are disabled, and deliveries to disabled endpoints cancelled. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  deliveriesIn,
  failing,
  forgetWebhooks,
  happen,
  receiver,
  startDelivering,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { noNotices } from '../delivery/notices.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { checkFailingEndpoints } from './enable.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

async function disabledAt(id: string): Promise<Date | null> {
  const [row] = await db.rows<{ at: Date | null }>(
    sql`select disabled_at as at from webhook_endpoints where id = ${id}`,
  )
  return row?.at ?? null
}

test('an endpoint is disabled after it has failed for five days, and not earlier', async () => {
  const { url } = await receiver(failing)
  const { id } = await createEndpoint(db, url)
  const deliverer = startDelivering(db)
  await happen(db, 'score.updated', { count: 3 })
  for (let hour = 0; hour < 120; hour++) {
    await deliverer.deliver()
    await checkFailingEndpoints(db, noNotices, deliverer.now())
    assert.equal(await disabledAt(id), null, `after ${hour} hours`)
    deliverer.moveBy(3_600)
  }
  await checkFailingEndpoints(db, noNotices, deliverer.now())
  assert.deepEqual(await disabledAt(id), deliverer.now())
})

test('an endpoint is disabled only after failures of three events since its last success, without interrupted and test attempts', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await happen(db)
  await fanOutEvents(db)
  const hours = (count: number) => new Date(began.getTime() + count * 3_600_000)
  await db.run(sql`
    update webhook_endpoints set failing_since = ${began}, last_failure_at = ${hours(119)},
      consecutive_failures = 20`)
  const attempt = (event: string, { trigger = 'event', result = 'failed', at = began } = {}) =>
    db.run(sql`
      insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, event_type, attempt,
        trigger, result, started_at)
      select ${randomUUID()}::uuid, id, endpoint_id, ${event}, event_type, 1, ${trigger},
        ${result}, ${at}
      from webhook_deliveries`)
  await attempt('one')
  await attempt('two')
  for (const how of [{ at: hours(-1) }, { result: 'interrupted' }, { trigger: 'test' }]) {
    await attempt('three', how)
    await checkFailingEndpoints(db, noNotices, hours(120))
    assert.equal(await disabledAt(id), null, JSON.stringify(how))
  }
  await attempt('three')
  await checkFailingEndpoints(db, noNotices, hours(120))
  assert.deepEqual(await disabledAt(id), hours(120))
})

test('a delivery that fan-out adds while its endpoint is being disabled is cancelled', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await happen(db)
  await fanOutEvents(db)
  await db.run(sql`
    update webhook_endpoints set disabled_at = ${began}, disabled_reason = 'owner'`)
  const waiting = await createEndpoint(db, 'https://hooks.example/')
  await happen(db)
  await fanOutEvents(db)
  await checkFailingEndpoints(db, noNotices, began)
  const found = (await deliveriesIn(db)).map(({ endpointId, status }) => [endpointId, status])
  assert.deepEqual(found, [
    [id, 'cancelled'],
    [waiting.id, 'pending'],
  ])
})
