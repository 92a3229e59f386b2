/** The rate of an endpoint holds over all processes and concerns no other endpoint. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  forgetWebhooks,
  happen,
  ok,
  receiver,
  startDelivering,
} from '../../../test/support/build/webhooks.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { giveBackToRates, setLimits, takeFromRates } from './rate-store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

const limit = (id: string, perSecond: number | null) =>
  db.transaction((tx) => setLimits(tx, id, { perSecond }))

async function endpointOf(perSecond: number) {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await limit(id, perSecond)
  return { id, received }
}

test('at ten a second one delivery leaves each eighth of a second; without the rate all leave at once', async () => {
  const { id, received } = await endpointOf(10)
  const free = await receiver(ok)
  await createEndpoint(db, free.url)
  await happen(db, 'score.updated', { count: 20 })
  const deliverer = startDelivering(db)
  for (let eighth = 1; eighth <= 10; eighth++) {
    await deliverer.deliver()
    assert.equal(received.length, eighth)
    deliverer.moveBy(0.075)
    await deliverer.deliver()
    assert.equal(received.length, eighth, 'nothing in between')
    assert.equal(deliverer.restMs(), 50, 'and the deliverer is back in time')
    deliverer.moveBy(0.05)
  }
  assert.equal(free.received.length, 20)
  await limit(id, null)
  await deliverer.deliver()
  assert.equal(received.length, 20)
})

test('unused grants are there for the next pass', async () => {
  const { received } = await endpointOf(100)
  const deliverer = startDelivering(db)
  // The bucket holds ten; the endpoint has room for four.
  for (let i = 1; i <= 10; i++) {
    await happen(db, 'score.updated', { count: 1 })
    await deliverer.deliver()
    assert.equal(received.length, i)
  }
  await happen(db, 'score.updated', { count: 1 })
  await deliverer.deliver()
  assert.equal(received.length, 10)
  deliverer.moveBy(0.014)
  await deliverer.deliver()
  assert.equal(received.length, 11)
})

test('a rested endpoint has a tenth of a second saved up and no more', async () => {
  const { received } = await endpointOf(50)
  const deliverer = startDelivering(db)
  deliverer.moveBy(3_600)
  await happen(db, 'score.updated', { count: 30 })
  await deliverer.deliver()
  assert.equal(received.length, 5)
})

test('concurrent processes take no more than the bucket holds, and in no 1.25 seconds more than the rate', async () => {
  const step = fc.record({
    count: fc.integer({ min: 1, max: 40 }),
    ms: fc.integer({ min: 0, max: 300 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000 }),
      fc.array(step, { minLength: 1, maxLength: 8 }),
      async (perSecond, steps) => {
        const { id } = await createEndpoint(db, `https://hooks.example/${randomUUID()}`)
        await limit(id, perSecond)
        let now = began
        const taken: number[] = []
        for (const { count, ms } of steps) {
          now = new Date(now.getTime() + ms)
          const asked = [{ endpointId: id, count }]
          const grants = await Promise.all([1, 2].map(() => takeFromRates(db, asked, now)))
          const got = grants.flat().reduce((sum, grant) => sum + grant.count, 0)
          assert.ok(got <= Math.ceil(perSecond / 10), `${got} at once`)
          for (let n = 0; n < got; n++) taken.push(now.getTime())
          const lately = taken.filter((at) => now.getTime() - at < 1_250)
          assert.ok(lately.length <= perSecond, `${lately.length} of ${perSecond}`)
          if (got === 0) continue
          // Returning and taking again gives the same.
          await giveBackToRates(db, [{ endpointId: id, count: got }])
          const [again] = await takeFromRates(db, [{ endpointId: id, count: got }], now)
          assert.equal(again?.count, got)
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('two processes together keep one rate', async () => {
  const { received } = await endpointOf(20)
  await happen(db, 'score.updated', { count: 40 })
  await fanOutEvents(db)
  const deliverers = [startDelivering(db), startDelivering(db)]
  for (let tick = 0; tick < 10; tick++) {
    await Promise.all(deliverers.map((deliverer) => deliverer.deliver()))
    // Two are saved up, then one each 19th part of 1.25 seconds.
    assert.equal(received.length, 2 + tick)
    for (const deliverer of deliverers) deliverer.moveBy(0.066)
  }
})

test('a changed rate counts from then on; a change of another limit leaves it as it was', async () => {
  const { id } = await endpointOf(1)
  const take = () => takeFromRates(db, [{ endpointId: id, count: 40 }], began)
  assert.deepEqual(await take(), [{ endpointId: id, count: 1 }])
  await db.transaction((tx) => setLimits(tx, id, { atOnce: 2 }))
  assert.deepEqual(await take(), [])
  await limit(id, 100)
  assert.deepEqual(await take(), [{ endpointId: id, count: 10 }])
})

test('a process whose clock is behind gets nothing and puts nothing back', async () => {
  const { id } = await endpointOf(1)
  const take = (now: Date) => takeFromRates(db, [{ endpointId: id, count: 40 }], now)
  const ahead = new Date(began.getTime() + 10_000)
  assert.deepEqual(await take(ahead), [{ endpointId: id, count: 1 }])
  assert.deepEqual(await take(began), [])
  assert.deepEqual(await take(ahead), [])
})
