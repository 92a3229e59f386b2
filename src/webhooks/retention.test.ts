/** What is forgotten after a month, and what is kept. */
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
import { placeWaiting } from './events/place.ts'
import { findFeedFloor } from './events/store.ts'
import { forgetOldDeliveries } from './retention.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

test('a month after their end deliveries, attempts and then events are forgotten; what waits is kept', async () => {
  const { url } = await receiver((response, { headers }) =>
    response.writeHead(headers['service-webhook-event'] === 'score.updated' ? 200 : 500).end(),
  )
  await createEndpoint(db, url)
  await happen(db, 'score.updated')
  await happen(db, 'dispute.opened')
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  assert.equal(await forgetOldDeliveries(db, deliverer.now()), 0)
  deliverer.moveBy(31 * 86_400)
  assert.equal(await forgetOldDeliveries(db, deliverer.now()), 2)
  assert.deepEqual(await statusesIn(db), ['pending'])
  const [left] = await db.rows(sql`
    select (select count(*)::int from webhook_events) as events,
      (select count(*)::int from webhook_attempts) as attempts`)
  assert.deepEqual(left, { events: 1, attempts: 1 })
})

test('an event that was never placed is kept, however old, and delivered once a jobs process runs again', async () => {
  const { url, received } = await receiver(ok)
  await createEndpoint(db, url)
  await happen(db)
  const deliverer = startDelivering(db)
  deliverer.moveBy(31 * 86_400)
  assert.equal(await forgetOldDeliveries(db, deliverer.now()), 0)
  await deliverer.deliver()
  assert.equal(received.length, 1)
})

test('the feed begins behind the last event that was forgotten, in whatever order they are', async () => {
  await happen(db, 'score.updated', { at: new Date(began.getTime() + 86_400_000) })
  await happen(db)
  let last = 0
  await placeWaiting(db, ({ position }) => (last = position))
  for (const days of [30.5, 31.5]) {
    assert.equal(await forgetOldDeliveries(db, new Date(began.getTime() + days * 86_400_000)), 1)
    assert.equal(await findFeedFloor(db), last)
  }
})

test('an endpoint that was disabled a month ago is forgotten with its secrets; one that is active never', async () => {
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
  await forgetOldDeliveries(db, deliverer.now())
  const left = await db.rows<{ id: string }>(sql`
    select n.id from webhook_endpoints n join webhook_secrets s on s.endpoint_id = n.id`)
  assert.deepEqual(left.map(({ id }) => id).sort(), [active.id, later.id].sort())
  const secrets = await db.rows(sql`select 1 from webhook_secrets`)
  assert.equal(secrets.length, 2)
})
