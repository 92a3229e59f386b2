/** Resending, replaying missed events, and test events. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  disable,
  failing,
  forgetWebhooks,
  happen,
  lease,
  ok,
  receiver,
  refusalOf,
  startDelivering,
  statusesIn,
  verifies,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { disableEndpoint, enableEndpoint } from '../endpoints/enable.ts'
import { eventTypes } from '../events/event-types.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { acknowledgeBatch } from './acknowledge.ts'
import { findAttempts } from './delivery-store.ts'
import { outcomeOf } from './outcome.ts'
import { queueTestEvent, replaySince, resendEvent, resendEvents } from './resend.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

const failed = outcomeOf({ status: 500, headers: {}, body: Buffer.alloc(0), isCut: false }, began)

const resend = (endpointId: string, eventId: string) =>
  db.transaction((tx) => resendEvent(tx, { endpointId, owner: 'any', eventId, at: began }))

const replay = (endpointId: string, at = began) =>
  db.transaction((tx) => replaySince(tx, { endpointId, owner: 'any', since: began, at }))

const replayed = async (endpointId: string, at = began) => {
  const result = await replay(endpointId, at)
  return 'count' in result && [result.count, result.more]
}

test('a test event is sent once through the same queue, marked as a test; one a minute', async () => {
  const { url, received } = await receiver(failing)
  const { id, userId, secret } = await createEndpoint(db, url, { types: ['score.updated'] })
  const queue = (at: Date) =>
    db.transaction((tx) =>
      queueTestEvent(tx, { endpointId: id, owner: { userId }, type: 'dispute.opened', at }),
    )
  const first = await queue(began)
  assert.ok('eventId' in first)
  const soon = await queue(new Date(began.getTime() + 20_500))
  assert.deepEqual('headers' in soon && soon.headers, { 'Retry-After': '40' })
  const concurrent = await queue(new Date(began.getTime() - 500))
  assert.deepEqual('headers' in concurrent && concurrent.headers, { 'Retry-After': '60' })
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  deliverer.moveBy(1_000)
  await deliverer.deliver()
  assert.equal(received.length, 1)
  const [one] = received
  assert.match(String(one?.headers['service-webhook-id']), /^evt_test_[0-9a-f]{32}$/)
  assert.equal(one?.headers['service-webhook-test'], 'true')
  assert.equal(one?.headers['service-webhook-sequence'], undefined)
  assert.equal(one?.headers['service-webhook-event'], 'dispute.opened')
  assert.deepEqual(JSON.parse(one?.body ?? '').data, eventTypes['dispute.opened'].example)
  assert.ok(one && verifies(one, secret))
  assert.deepEqual(await statusesIn(db), ['exhausted'])
  assert.ok('eventId' in (await queue(new Date(began.getTime() + 60_000))))
})

test("another account's endpoint is not found: nothing is queued, shown or disabled", async () => {
  const { id: endpointId } = await createEndpoint(db, 'https://hooks.example/')
  const { userId } = await createEndpoint(db, 'https://hooks.example/')
  const type = 'score.updated'
  const queued = await db.transaction((tx) =>
    queueTestEvent(tx, { endpointId, owner: { userId }, type, at: began }),
  )
  assert.deepEqual(queued, { refusal: 'webhook_endpoint_not_found' })
  assert.deepEqual(await statusesIn(db), [])
  assert.equal(await findAttempts(db, { endpointId, owner: { userId }, limit: 1 }), null)
  const disabled = await db.transaction((tx) =>
    disableEndpoint(tx, { endpointId, owner: { userId }, reason: 'owner', now: began }),
  )
  assert.deepEqual(disabled, { refusal: 'webhook_endpoint_not_found' })
  assert.deepEqual(await findAttempts(db, { endpointId, owner: 'any', limit: 1 }), [])
})

test('an event is sent again on request, as a delivery of its own', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  const eventId = String(received[0]?.headers['service-webhook-id'])
  assert.equal(refusalOf(await resend(id, eventId)), null)
  await deliverer.deliver()
  assert.equal(received.length, 2)
  assert.equal(received[1]?.headers['service-webhook-id'], eventId)
  assert.equal(received[1]?.body, received[0]?.body)
  assert.equal(refusalOf(await resend(id, 'evt_none')), 'webhook_event_not_found')
  const unknownId = '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f'
  assert.equal(refusalOf(await resend(unknownId, eventId)), 'webhook_endpoint_not_found')
})

/** An endpoint whose receiver answers with these statuses in turn, and its event, sent once. */
async function sentOnce(...statuses: number[]) {
  const { url, received } = await receiver((response) =>
    response.writeHead(statuses.shift() ?? 200).end(),
  )
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  return { id, eventId: String(received[0]?.headers['service-webhook-id']), received, deliverer }
}

test('a resend that succeeds ends the pending retry of the same event at the same endpoint', async () => {
  const { id, eventId, received, deliverer } = await sentOnce(500)
  const other = await createEndpoint(db, (await receiver(failing)).url)
  await resend(other.id, eventId)
  await resend(id, eventId)
  await deliverer.deliver()
  assert.deepEqual(await statusesIn(db), ['cancelled', 'pending', 'succeeded'])
  const attempts = await findAttempts(db, { endpointId: id, owner: 'any', limit: 5 })
  assert.deepEqual(
    attempts?.map((one) => one.nextAttemptAt),
    [null, null],
  )
  deliverer.moveBy(86_400)
  await deliverer.deliver()
  assert.equal(received.length, 2)
})

test('a retry that succeeds ends the pending retry of a resend', async () => {
  const { id, eventId, received, deliverer } = await sentOnce(500, 500)
  deliverer.moveBy(4)
  await resend(id, eventId)
  await deliverer.deliver()
  deliverer.moveBy(1)
  await deliverer.deliver()
  assert.equal(received.length, 3)
  assert.deepEqual(await statusesIn(db), ['succeeded', 'cancelled'])
})

test('a resend that is requested after a success is sent, and a failed one is tried again', async () => {
  const { id, eventId, received, deliverer } = await sentOnce(200, 500)
  deliverer.moveBy(1)
  await db.transaction((tx) =>
    resendEvent(tx, { endpointId: id, owner: 'any', eventId, at: deliverer.now() }),
  )
  await deliverer.deliver()
  assert.equal(received.length, 2)
  deliverer.moveBy(5)
  await deliverer.deliver()
  assert.equal(received.length, 3)
  assert.deepEqual(await statusesIn(db), ['succeeded', 'succeeded'])
})

test('an attempt in flight that fails after a resend has succeeded is not tried again', async () => {
  const { id, eventId, received, deliverer } = await sentOnce(500)
  deliverer.moveBy(5)
  const [inFlight] = await lease(db, id, { now: deliverer.now() })
  await resend(id, eventId)
  await deliverer.deliver()
  assert.deepEqual(await statusesIn(db), ['sending', 'succeeded'])
  const dueAt = new Date(deliverer.now().getTime() + 300_000)
  const delivery = inFlight ?? assert.fail('nothing is leased')
  const sent = { outcome: failed, startedAt: deliverer.now(), durationMs: 5 }
  await acknowledgeBatch({ db }, [{ delivery, status: 'pending', dueAt, sent }], deliverer.now())
  deliverer.moveBy(300)
  await deliverer.deliver()
  assert.equal(received.length, 2)
  assert.deepEqual(await statusesIn(db), ['cancelled', 'succeeded'])
})

test('a replay sends every missed event since the given time, each once', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 2 })
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  await disable(db, id, deliverer.now())
  deliverer.moveBy(60)
  await happen(db, 'score.updated', { count: 3, at: deliverer.now() })
  await deliverer.deliver()
  await db.transaction((tx) =>
    enableEndpoint(tx, { endpointId: id, owner: 'any', activeMax: 20, at: deliverer.now() }),
  )
  assert.deepEqual(await replayed(id, deliverer.now()), [3, false])
  assert.deepEqual(await replayed(id, deliverer.now()), [0, false])
  deliverer.moveBy(1)
  await deliverer.deliver()
  assert.equal(received.length, 5)
  assert.equal(new Set(received.map(({ headers }) => headers['service-webhook-id'])).size, 5)
})

test('a delivery in flight is not replayed beside it', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await happen(db)
  await fanOutEvents(db)
  await lease(db, id)
  assert.deepEqual(await replayed(id), [0, false])
})

test('an event that may no longer be sent is neither resent nor replayed', async () => {
  await happen(db)
  await fanOutEvents(db)
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  const [event] = await db.rows<{ id: string }>(sql`
    update webhook_events set withheld_at = ${began} returning id`)
  assert.equal(refusalOf(await resend(id, event?.id ?? '')), 'webhook_event_not_found')
  assert.deepEqual(await replayed(id), [0, false])
})

/** Due times of the pending deliveries that were never tried, in seconds after `began`. */
const dueIn = async (trigger: string) =>
  (
    await db.rows<{ dueAt: Date }>(sql`
      select due_at as "dueAt" from webhook_deliveries
      where status = 'pending' and attempts = 0 and trigger = ${trigger} order by due_at, id`)
  ).map(({ dueAt }) => (+dueAt - +began) / 1_000)

test('calls in a row send twenty events a second in all, not each', async () => {
  const { url } = await receiver(ok)
  await happen(db, 'score.updated', { count: 6 })
  await fanOutEvents(db)
  const { id } = await createEndpoint(db, url)
  const first = () =>
    db.transaction((tx) =>
      replaySince(tx, { endpointId: id, owner: 'any', since: began, at: began, limit: 2 }),
    )
  for (let n = 0; n < 3; n++) await first()
  assert.deepEqual(await dueIn('recovery'), [0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
})

test('a bulk resend sends chosen events or all that failed, once at a time, and nothing unknown', async () => {
  const { url, received } = await receiver((response) =>
    response.writeHead(received.length > 4 ? 200 : 500).end(),
  )
  const { id } = await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 3 })
  await happen(db, 'dispute.opened')
  const deliverer = startDelivering(db)
  await deliverer.deliver()
  const ids = received
    .filter(({ headers }) => headers['service-webhook-event'] === 'score.updated')
    .map(({ headers }) => String(headers['service-webhook-id']))
  const many = (over: Partial<Parameters<typeof resendEvents>[1]>) =>
    db.transaction(async (tx) => {
      const of = { endpointId: id, owner: 'any', eventIds: null, eventType: null } as const
      const resent = await resendEvents(tx, { ...of, since: began, at: began, ...over })
      return 'refusal' in resent ? resent.refusal : resent.count
    })
  const unknown = `evt_${'0'.repeat(32)}`
  await assert.rejects(
    db.transaction(async (tx) => {
      const of = { endpointId: id, owner: 'any', eventType: null, since: began, at: began } as const
      const { refusal } = (await resendEvents(tx, {
        ...of,
        eventIds: [ids[0] ?? '', unknown],
      })) as { refusal?: string }
      throw new Error(refusal)
    }),
    /webhook_event_not_found/,
  )
  assert.equal(await many({ eventIds: ids.slice(0, 1) }), 1)
  assert.equal(await many({}), 'webhook_resend_running')
  deliverer.moveBy(1)
  await deliverer.deliver()
  assert.equal(await many({ eventType: 'dispute.opened' }), 1)
  deliverer.moveBy(1)
  await deliverer.deliver()
  assert.equal(await many({}), 2, 'the two that were never delivered')
  assert.deepEqual(await dueIn('manual'), [0.05, 0.1])
  deliverer.moveBy(1)
  await deliverer.deliver()
  assert.equal(await many({}), 0)
  await disable(db, id, deliverer.now())
  assert.equal(await many({}), 'webhook_endpoint_disabled')
})
