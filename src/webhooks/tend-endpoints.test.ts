/** What is done about endpoints that fail, and about those that are disabled. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import {
  createEndpoint,
  failing,
  forgetWebhooks,
  happen,
  receiver,
  startDelivering,
} from '../../test/support/webhooks.ts'
import { sql } from '../platform/db.ts'
import { noNotices } from './notices.ts'
import { tendEndpoints } from './tend-endpoints.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

test('an endpoint that fails for five days is disabled, and not by one event, few attempts or a short time', async () => {
  const { url } = await receiver(failing)
  const { id } = await createEndpoint(db, url)
  const worker = startDelivering(db)
  await happen(db, 'score.updated', { count: 3 })
  const disabledAt = async () => {
    const [row] = await db.rows<{ at: Date | null }>(
      sql`select disabled_at as at from webhook_endpoints where id = ${id}`,
    )
    return row?.at ?? null
  }
  for (let hour = 0; hour < 120; hour++) {
    await worker.deliver()
    await tendEndpoints(db, noNotices, worker.now())
    assert.equal(await disabledAt(), null, `after ${hour} hours`)
    worker.moveBy(3_600)
  }
  await tendEndpoints(db, noNotices, worker.now())
  assert.deepEqual(await disabledAt(), worker.now())
})
