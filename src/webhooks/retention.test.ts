/** Old rows of webhooks are deleted after a month; pending ones stay. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  disable,
  forgetWebhooks,
  happen,
  ok,
  receiver,
  startDelivering,
  statusesIn,
} from '../../test/support/build/webhooks.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { fanOutEvents } from './events/fan-out.ts'
import { findFeedFloor } from './events/store.ts'
import { deleteOldRows } from './retention.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

test('deliveries, attempts and events are deleted a month after their end; pending deliveries stay', async () => {
  const { url } = await receiver((response, { headers }) =>
    response.writeHead(headers['service-webhook-event'] === 'score.updated' ? 200 : 500).end(),
  )
  await createEndpoint(db, url)
  await happen(db, 'score.updated')
  await happen(db, 'dispute.opened')
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  assert.equal(await deleteOldRows(db, deliverer.now()), 0)
  deliverer.moveBy(31 * 86_400)
  assert.equal(await deleteOldRows(db, deliverer.now()), 2)
  assert.deepEqual(await statusesIn(db), ['pending'])
  const [left] = await db.rows(sql`
    select (select count(*)::int from webhook_events) as events,
      (select count(*)::int from webhook_attempts) as attempts`)
  assert.deepEqual(left, { events: 1, attempts: 1 })
})

test('an undispatched event stays at any age, and is delivered when a jobs process runs again', async () => {
  const { url, received } = await receiver(ok)
  await createEndpoint(db, url)
  await happen(db)
  const deliverer = startDelivering(db)
  deliverer.moveBy(31 * 86_400)
  assert.equal(await deleteOldRows(db, deliverer.now()), 0)
  await deliverer.deliver()
  assert.equal(received.length, 1)
})

test('the floor of the feed is the highest position of a deleted event, in any order of deletion', async () => {
  await happen(db, 'score.updated', { at: new Date(began.getTime() + 86_400_000) })
  await happen(db)
  let last = 0
  await fanOutEvents(db, ({ position }) => (last = position))
  for (const days of [30.5, 31.5]) {
    assert.equal(await deleteOldRows(db, new Date(began.getTime() + days * 86_400_000)), 1)
    assert.equal(await findFeedFloor(db), last)
  }
})

test('an endpoint is deleted with its secrets a month after it was disabled; an active one stays', async () => {
  const { url } = await receiver(ok)
  const [old, active] = [await createEndpoint(db, url), await createEndpoint(db, url)]
  await happen(db)
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  await disable(db, old.id, began)
  deliverer.moveBy(29 * 86_400)
  const later = await createEndpoint(db, url, { at: deliverer.now() })
  await disable(db, later.id, deliverer.now())
  deliverer.moveBy(2 * 86_400)
  await deleteOldRows(db, deliverer.now())
  const left = await db.rows<{ id: string }>(sql`
    select n.id from webhook_endpoints n join webhook_secrets s on s.endpoint_id = n.id`)
  assert.deepEqual(left.map(({ id }) => id).sort(), [active.id, later.id].sort())
  const secrets = await db.rows(sql`select 1 from webhook_secrets`)
  assert.equal(secrets.length, 2)
})
