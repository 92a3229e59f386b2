/** Delivery with a real database, real receivers over TLS and a clock that the test moves. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { devNull } from 'node:os'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  began,
  createEndpoint,
  deliveriesIn,
  disable,
  failing,
  forgetWebhooks,
  happen,
  lease,
  ok,
  receiver,
  startDelivering,
  statusesIn,
  verifies,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { openLog } from '../../platform/observability/log.ts'
import { hasFileLeft, openFilesMax } from '../../platform/open-files.ts'
import { enableEndpoint, pauseEndpoint } from '../endpoints/enable.ts'
import { eventTypes } from '../events/event-types.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { publishEvents } from '../events/outbox.ts'
import { findAttempts } from './delivery-store.ts'
import { releaseExpiredLeases } from './leasing-store.ts'
import { retryWaitsSeconds } from './retry.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

const attemptsAt = async (endpointId: string, limit: number) =>
  (await findAttempts(db, { endpointId, owner: 'any', limit })) ?? assert.fail('no such endpoint')

const delivering = (parts: Parameters<typeof startDelivering>[1] = {}) => startDelivering(db, parts)

test('an event reaches each active endpoint that subscribes to its type, and no other', async () => {
  const { url, received } = await receiver(ok)
  const wants = await createEndpoint(db, url, { types: ['score.updated', 'dispute.opened'] })
  await createEndpoint(db, url, { types: ['dispute.opened'] })
  await createEndpoint(db, url, { at: new Date(began.getTime() + 1) })
  const disabled = await createEndpoint(db, url)
  await disable(db, disabled.id, began)
  await happen(db)
  await delivering().deliver()
  assert.equal(received.length, 1)
  const rows = await deliveriesIn(db)
  assert.deepEqual(
    rows.map(({ endpointId, status, attempts }) => [endpointId, status, attempts]),
    [[wants.id, 'succeeded', 1]],
  )
})

test('a delivery has the specified headers, and its signature verifies over the stored bytes', async () => {
  const { url, received } = await receiver(ok)
  const { secret } = await createEndpoint(db, url)
  await happen(db)
  await delivering().deliver()
  const [written] = await db.rows<{ id: string; body: string; position: number }>(
    sql`select id, body, position from webhook_events`,
  )
  const [one] = received
  assert.ok(one && written)
  assert.equal(one.body, written.body)
  assert.equal(one.method, 'POST')
  const { headers } = one
  assert.equal(headers['service-webhook-id'], written.id)
  assert.equal(headers['service-webhook-event'], 'score.updated')
  assert.match(String(headers['service-webhook-delivery']), /^[0-9a-f-]{36}$/)
  assert.equal(headers['service-webhook-timestamp'], String(began.getTime() / 1_000))
  assert.match(String(headers['service-webhook-signature']), /^t=\d+,v1=[0-9a-f]{64}$/)
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['service-webhook-attempt'], '1')
  assert.equal(headers['service-webhook-sequence'], String(written.position))
  assert.equal(headers['webhook-id'], written.id)
  assert.ok(verifies(one, secret))
  assert.ok(!verifies({ ...one, body: `${one.body} ` }, secret))
})

test('a failing receiver is tried ten times over 75 h 35 m: same id and bytes, fresh timestamp and signature', async () => {
  const { url, received } = await receiver(failing)
  const { id, secret } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering()
  await deliverer.deliver()
  for (const wait of retryWaitsSeconds) {
    deliverer.moveBy(wait - 1)
    await deliverer.deliver()
    const before = received.length
    deliverer.moveBy(1)
    await deliverer.deliver()
    assert.equal(received.length, before + 1, `after ${wait} s`)
  }
  assert.equal(deliverer.now().getTime() - began.getTime(), (75 * 60 + 35) * 60_000 + 5_000)
  assert.equal(received.length, 10)
  const of = (name: string) => new Set(received.map(({ headers }) => headers[name]))
  assert.equal(of('service-webhook-id').size, 1)
  assert.equal(of('service-webhook-delivery').size, 10)
  assert.equal(of('service-webhook-timestamp').size, 10)
  assert.equal(of('service-webhook-signature').size, 10)
  assert.equal(new Set(received.map(({ body }) => body)).size, 1)
  for (const one of received) assert.ok(verifies(one, secret))
  assert.deepEqual(await statusesIn(db), ['exhausted'])
  deliverer.moveBy(1_000_000)
  await deliverer.deliver()
  assert.equal(received.length, 10)
  const attempts = await attemptsAt(id, 100)
  assert.deepEqual(
    attempts.map((one) => one.attempt),
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  )
  const [last] = attempts
  assert.deepEqual(
    [last?.status, last?.responseStatus, last?.errorCode, last?.responseBody, last?.nextAttemptAt],
    ['failed', 500, 'http_status', 'broken', null],
  )
})

test('without a file descriptor nothing is sent and no attempt is counted, and five seconds later it is', {
  skip: process.platform !== 'linux' && 'the limit of a running process can be set on Linux only',
}, async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering()
  const free = takeAllFiles()
  await deliverer.deliver().finally(free)
  assert.deepEqual([received.length, await statusesIn(db)], [0, ['pending']])
  assert.deepEqual(await attemptsAt(id, 10), [])
  deliverer.moveBy(5)
  await deliverer.deliver()
  assert.deepEqual([received.length, await statusesIn(db)], [1, ['succeeded']])
  const attempts = await attemptsAt(id, 10)
  assert.deepEqual(
    attempts.map(({ attempt, status }) => [attempt, status]),
    [[1, 'succeeded']],
  )
})

/** Opens files up to the limit of this process. Returns the function that closes them. */
function takeAllFiles(): () => void {
  const limit = openFilesMax()
  const setLimit = (count: number | null) =>
    execFileSync('prlimit', [`--pid=${process.pid}`, `--nofile=${count}:`])
  setLimit(readdirSync('/proc/self/fd').length + 50)
  const taken: number[] = []
  while (hasFileLeft()) taken.push(openSync(devNull, 'r'))
  return () => {
    for (const file of taken) closeSync(file)
    setLimit(limit)
  }
}

test('each wait is up to a fifth shorter or longer than the schedule, and nothing is sent earlier', async () => {
  const { url, received } = await receiver(failing)
  await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering({ chance: Math.random })
  await deliverer.deliver()
  for (const [i, wait] of retryWaitsSeconds.entries()) {
    const [row] = await deliveriesIn(db)
    assert.ok(row !== undefined)
    const share = (row.dueAt.getTime() - deliverer.now().getTime()) / (wait * 1_000)
    assert.ok(share >= 0.8 && share <= 1.2, `wait ${i + 1} is ${share} of the schedule`)
    deliverer.moveTo(new Date(row.dueAt.getTime() - 1))
    await deliverer.deliver()
    assert.equal(received.length, i + 1)
    deliverer.moveTo(row.dueAt)
    await deliverer.deliver()
    assert.equal(received.length, i + 2)
  }
  assert.deepEqual(await statusesIn(db), ['exhausted'])
})

test('an attempt names the time of the next one until its delivery has ended', async () => {
  const answers = [500, 200]
  const { url } = await receiver((response) => response.writeHead(answers.shift() ?? 500).end())
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering()
  const following = async () => (await attemptsAt(id, 10)).map((one) => one.nextAttemptAt)
  assert.deepEqual(await following(), [])
  await deliverer.deliver()
  assert.deepEqual(await following(), [new Date(began.getTime() + 5_000)])
  deliverer.moveBy(5)
  await deliverer.deliver()
  assert.deepEqual(await following(), [null, null])
  // Attempts that began at the same time are in no fixed order.
  deliverer.moveBy(1)
  await happen(db, 'score.updated', { at: deliverer.now() })
  await deliverer.deliver()
  assert.notEqual((await following())[0], null)
  await disable(db, id, deliverer.now())
  assert.deepEqual(await following(), [null, null, null])
})

test('a receiver that fails once and then succeeds gets two attempts and is no longer failing', async () => {
  const { url, received } = await receiver((response) =>
    response.writeHead(received.length === 1 ? 503 : 204).end(),
  )
  await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering()
  await deliverer.deliver()
  deliverer.moveBy(5)
  await deliverer.deliver()
  assert.deepEqual(await statusesIn(db), ['succeeded'])
  assert.equal(received.length, 2)
  const [endpoint] = await db.rows(sql`
    select consecutive_failures, failing_since from webhook_endpoints`)
  assert.deepEqual(endpoint, { consecutive_failures: 0, failing_since: null })
})

for (const status of [301, 302, 307, 308]) {
  test(`${status}: a redirect is not followed and is a failure`, async () => {
    const { url, received } = await receiver((response) =>
      response.writeHead(status, { Location: '/elsewhere' }).end(),
    )
    const { id } = await createEndpoint(db, url)
    await happen(db)
    await delivering().deliver()
    assert.equal(received.length, 1)
    const [attempt] = await attemptsAt(id, 1)
    assert.deepEqual([attempt?.errorCode, attempt?.responseStatus], ['redirect', status])
  })
}

test('410: the endpoint is disabled at once and its pending deliveries are cancelled', async () => {
  const { url, received } = await receiver((response) => response.writeHead(410).end())
  await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 10 })
  await delivering({ slotsMax: 2 }).deliver()
  assert.ok(received.length <= 2)
  const found = new Set(await statusesIn(db))
  assert.ok(!found.has('pending') && !found.has('sending'))
  const [endpoint] = await db.rows(sql`
    select disabled_reason, disabled_at from webhook_endpoints`)
  assert.deepEqual(endpoint, { disabled_reason: 'gone', disabled_at: began })
})

test('Retry-After of a 429 parks the whole endpoint until then, at most for a day', async () => {
  const { url, received } = await receiver((response) =>
    response.writeHead(429, { 'Retry-After': '120' }).end(),
  )
  await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering()
  await deliverer.deliver()
  deliverer.moveBy(60)
  await happen(db, 'score.updated', { at: deliverer.now() })
  await deliverer.deliver()
  assert.equal(received.length, 1)
  deliverer.moveBy(60)
  await deliverer.deliver()
  assert.equal(received.length, 3)
})

test('the deliverer rests until the next due delivery: at least 25 ms, and at most 250 ms because of other processes', async () => {
  const { url } = await receiver((response) =>
    response.writeHead(429, { 'Retry-After': '120' }).end(),
  )
  await createEndpoint(db, url)
  const deliverer = delivering()
  await deliverer.deliver()
  assert.equal(deliverer.restMs(), 250)
  await happen(db)
  await deliverer.deliver()
  assert.equal(deliverer.restMs(), 250)
  deliverer.moveBy(119.9)
  assert.equal(deliverer.restMs(), 100)
  deliverer.moveBy(0.09)
  assert.equal(deliverer.restMs(), 25)
})

test('a blocked address is a failure like any other, and nothing is sent', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const deliverer = delivering({ egress: { resolve: () => Promise.resolve(['10.0.0.1']) } })
  await deliverer.deliver()
  assert.equal(received.length, 0)
  const [attempt] = await attemptsAt(id, 1)
  assert.deepEqual([attempt?.errorCode, attempt?.responseStatus], ['blocked_address', null])
  assert.match(await deliverer.metrics.text(), /webhook_blocked_total 1\n/)
})

test('after an endpoint is disabled no delivery of it is leased; once enabled it gets later events', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 3 })
  await fanOutEvents(db)
  await disable(db, id, began)
  const deliverer = delivering()
  await deliverer.deliver()
  assert.equal(received.length, 0)
  assert.deepEqual(await statusesIn(db), ['cancelled', 'cancelled', 'cancelled'])
  await db.transaction((tx) =>
    enableEndpoint(tx, { endpointId: id, owner: 'any', activeMax: 20, at: began }),
  )
  await happen(db)
  await deliverer.deliver()
  assert.equal(received.length, 1)
})

test('an endpoint that is disabled under full load soon gets nothing', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 3_000 })
  await fanOutEvents(db)
  const deliverer = delivering()
  const working = deliverer.keepWorking()
  while (received.length < 50) await pause(2)
  await disable(db, id, began)
  const atReturn = received.length
  assert.equal(await deliverer.pass(), 0, 'a pass after that leases nothing')
  await working.end()
  // Only deliveries that were leased before: at most as many as the endpoint may have in flight.
  assert.ok(received.length <= atReturn + 16, `${received.length - atReturn} more`)
  assert.deepEqual(new Set(await statusesIn(db)), new Set(['succeeded', 'cancelled']))
})

test('a paused endpoint gets nothing until it is resumed, and then everything', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await db.transaction((tx) => pauseEndpoint(tx, { endpointId: id, owner: 'any', pausedAt: began }))
  await happen(db, 'score.updated', { count: 3 })
  const deliverer = delivering()
  await deliverer.deliver()
  assert.equal(received.length, 0)
  await db.transaction((tx) => pauseEndpoint(tx, { endpointId: id, owner: 'any', pausedAt: null }))
  await deliverer.deliver()
  assert.equal(received.length, 3)
})

for (const permission of ['public_profile', 'score_sharing'] as const)
  test(`${permission} that is withdrawn while a delivery waits cancels it, and only the consent event is sent`, async () => {
    const { url, received } = await receiver(failing)
    await createEndpoint(db, url)
    await happen(db)
    const deliverer = delivering()
    await deliverer.deliver()
    const [event] = await db.rows<{ workerId: string }>(
      sql`select worker_id as "workerId" from webhook_events`,
    )
    const workerId = event?.workerId ?? ''
    const data = {
      ...eventTypes['candidate.consent_changed'].example,
      workerId,
      permission,
    }
    deliverer.moveBy(5)
    await db.transaction((tx) =>
      publishEvents(tx, [{ type: 'candidate.consent_changed', workerId, data }], deliverer.now()),
    )
    await deliverer.deliver()
    assert.deepEqual(
      received.map(({ headers }) => headers['service-webhook-event']),
      ['score.updated', 'candidate.consent_changed'],
    )
    assert.deepEqual(await statusesIn(db), ['cancelled', 'pending'])
  })

test('after a process died its leases expire, and its deliveries are sent again under the same event id', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  await fanOutEvents(db)
  assert.equal((await lease(db, id)).length, 1)
  const deliverer = delivering()
  deliverer.moveBy(59)
  assert.equal(await releaseExpiredLeases(db, deliverer.now()), 0)
  await deliverer.deliver()
  assert.equal(received.length, 0)
  deliverer.moveBy(2)
  assert.equal(await releaseExpiredLeases(db, deliverer.now()), 1)
  await deliverer.deliver()
  assert.equal(received.length, 1)
  assert.equal(received[0]?.headers['service-webhook-attempt'], '1')
  const attempts = await attemptsAt(id, 10)
  assert.deepEqual(attempts.map((one) => one.status).sort(), ['interrupted', 'succeeded'])
})

test('a delivery that was interrupted five times is given up', async () => {
  const { url } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  await fanOutEvents(db)
  for (let i = 1; i <= 5; i++) {
    const now = new Date(began.getTime() + i * 100_000)
    assert.equal((await lease(db, id, { now })).length, 1)
    await releaseExpiredLeases(db, new Date(now.getTime() + 60_001))
  }
  assert.deepEqual(await statusesIn(db), ['exhausted'])
})

test('a process whose lease has expired acknowledges nothing: the present holder decides', async () => {
  const held: ServerResponse[] = []
  const { url } = await receiver((response) => held.push(response))
  await createEndpoint(db, url)
  await happen(db)
  await fanOutEvents(db)
  const first = delivering()
  await first.pass()
  while (held.length < 1) await pause(2)
  const second = delivering()
  second.moveBy(61)
  await releaseExpiredLeases(db, second.now())
  await second.pass()
  while (held.length < 2) await pause(2)
  held[0]?.writeHead(500).end()
  await first.finish()
  assert.deepEqual(await statusesIn(db), ['sending'])
  assert.match(await first.metrics.text(), /webhook_late_attempts_total 1\n/)
  held[1]?.end()
  await second.finish()
  assert.deepEqual(await statusesIn(db), ['succeeded'])
  assert.match(await second.metrics.text(), /webhook_late_attempts_total 0\n/)
})

test('an endpoint never has more deliveries in flight than it may, and a failing one gets fewer', async () => {
  let underWay = 0
  let most = 0
  const four = Promise.withResolvers<void>()
  const { url } = await receiver(async (response) => {
    most = Math.max(most, ++underWay)
    // The first deliveries are answered once the maximum is in flight.
    if (most === 4) four.resolve()
    await four.promise
    setImmediate(() => {
      underWay--
      response.end()
    })
  })
  await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 60 })
  const deliverer = delivering()
  await deliverer.deliver()
  assert.ok(most >= 4 && most <= 16, `${most} at once`)
  const [grown] = await db.rows<{ concurrency: number }>(
    sql`select concurrency from webhook_endpoints`,
  )
  assert.ok((grown?.concurrency ?? 0) > 6)
})

test('failing endpoints together use at most a quarter of the slots, over any number of passes', async () => {
  const held: ServerResponse[] = []
  const { url } = await receiver((response) => held.push(response))
  for (let i = 0; i < 3; i++) await createEndpoint(db, url)
  await db.run(sql`update webhook_endpoints set consecutive_failures = 3`)
  await happen(db)
  await fanOutEvents(db)
  const deliverer = delivering({ slotsMax: 8 })
  assert.equal(await deliverer.pass(), 2)
  assert.equal(await deliverer.pass(), 0)
  while (held.length < 2) await pause(2)
  for (const response of held) response.writeHead(500).end()
  await deliverer.finish()
  assert.equal(await deliverer.pass(), 1)
  while (held.length < 3) await pause(2)
  held[2]?.end()
  await deliverer.finish()
})

test('the backlog of one endpoint and a slow endpoint delay no other endpoint', async () => {
  const held: (() => void)[] = []
  const slow = await receiver((response) => held.push(() => response.end()))
  const quick = await receiver(ok)
  await createEndpoint(db, slow.url, { types: ['score.updated'] })
  await createEndpoint(db, quick.url, { types: ['dispute.opened'] })
  await happen(db, 'score.updated', { count: 400 })
  await happen(db, 'dispute.opened', { count: 40 })
  await fanOutEvents(db)
  const deliverer = delivering({ slotsMax: 16, egress: { deadlines: { totalMs: 20_000 } } })
  const working = deliverer.keepWorking()
  while (quick.received.length < 40) await pause(2)
  assert.ok(slow.received.length <= 4)
  const releasing = setInterval(() => {
    for (const release of held.splice(0)) release()
  }, 5)
  await working.end()
  clearInterval(releasing)
})

test('two deliverers send each delivery once', async () => {
  const { url, received } = await receiver(ok)
  for (let i = 0; i < 5; i++) await createEndpoint(db, url)
  await happen(db, 'score.updated', { count: 100 })
  const deliverers = [delivering(), delivering()]
  await Promise.all(deliverers.map(() => fanOutEvents(db)))
  const { signal } = new AbortController()
  // Either may find nothing for a moment, because the other has leased everything that fits.
  for (let rounds = 0; rounds < 200 && received.length < 500; rounds++)
    await Promise.all(
      deliverers.map(async (deliverer) => {
        await deliverer.work(signal)
        await deliverer.finish()
        // On a machine that connects too slowly, deliveries that could not begin are due again
        // later.
        deliverer.moveBy(1)
      }),
    )
  assert.equal(received.length, 500)
  const keys = received.map(({ headers }) => headers['service-webhook-delivery'])
  assert.equal(new Set(keys).size, 500)
  assert.deepEqual(new Set(await statusesIn(db)), new Set(['succeeded']))
})

test('deliveries whose secret cannot be opened wait without an attempt, others are sent, and one error a minute is logged', async () => {
  const { url, received } = await receiver(ok)
  const closed = await createEndpoint(db, url)
  await createEndpoint(db, url)
  await db.run(sql`
    update webhook_secrets set kid = 'lost' where endpoint_id = ${closed.id}::uuid`)
  await happen(db)
  let lines = 0
  const log = openLog({ level: 'error', to: { write: () => void lines++ } })
  const deliverer = delivering({ log })
  const countNotices = async () => {
    await deliverer.deliver()
    log.flush()
    return lines
  }
  assert.equal(await countNotices(), 1)
  deliverer.moveBy(59)
  assert.equal(await countNotices(), 1)
  deliverer.moveBy(1)
  assert.equal(await countNotices(), 2)
  assert.equal(received.length, 1)
  const rows = await deliveriesIn(db)
  const waiting = rows.find((row) => row.endpointId === closed.id)
  assert.deepEqual([waiting?.status, waiting?.attempts], ['pending', 0])
})

test('a connection that takes too long again and again is no failure of the receiver: the same attempt goes on', async () => {
  const { url, received } = await receiver(ok)
  await createEndpoint(db, url)
  await happen(db)
  let late = 5
  const error = new Error('connected too late')
  const deliverer = delivering({
    around: (usual) => ({
      ...usual,
      send: (request) =>
        late-- > 0 ? Promise.resolve({ failure: 'not_begun', error }) : usual.send(request),
    }),
  })
  await deliverer.deliver()
  assert.equal(received.length, 1)
  const [delivery] = await deliveriesIn(db)
  assert.deepEqual([delivery?.status, delivery?.attempts], ['succeeded', 1])
  assert.match(
    await deliverer.metrics.text(),
    /webhook_attempts_total\{code_class="2xx",error="none"\} 1\n/,
  )
})

test('a delivery that is cancelled while its connection takes too long is not sent', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  const error = new Error('connected too late')
  const deliverer = delivering({
    around: () => ({
      send: async () => {
        await disable(db, id, began)
        return { failure: 'not_begun', error }
      },
      close: () => Promise.resolve(),
    }),
  })
  await deliverer.deliver()
  assert.equal(received.length, 0)
  assert.deepEqual(await statusesIn(db), ['cancelled'])
})

test('if the database is away while an answer comes back, the delivery is acknowledged later and sent once', async () => {
  let refusals = 0
  const { url, received } = await receiver((response) => {
    refusals = 2
    response.end()
  })
  await createEndpoint(db, url)
  await happen(db)
  const rows: typeof db.rows = (statement) => {
    if (refusals === 0) return db.rows(statement)
    refusals--
    return Promise.reject(new UnavailableError('away'))
  }
  await delivering({ db: { ...db, rows } }).deliver()
  assert.equal(refusals, 0)
  assert.equal(received.length, 1)
  assert.deepEqual(await statusesIn(db), ['succeeded'])
})
