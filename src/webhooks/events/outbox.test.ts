import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { fanOut } from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { type NewEvent, publishEvents } from './outbox.ts'
import { findEventsAfter } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => db.run(sql`truncate webhook_events cascade`))

const at = new Date('2026-05-14T09:00:00.750Z')
const ada = '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f'
const grace = '11111111-2222-4333-8444-555555555555'

/** Returns the example of a type for a worker, with changed members. */
function event(type: EventType, workerId = ada, changes: object = {}): NewEvent {
  const data = { ...eventTypes[type].example, workerId, ...changes }
  return { type, workerId, data } as NewEvent
}

const publish = (...events: NewEvent[]) => db.transaction((tx) => publishEvents(tx, events, at))

interface Row {
  type: EventType
  workerId: string
  createdAt: Date
  body: string
  withheld: boolean
}

function written(): Promise<Row[]> {
  return db.rows<Row>(sql`
    select type, worker_id as "workerId", created_at as "createdAt", body,
      withheld_at is not null as withheld
    from webhook_events order by seq`)
}

const typesOf = (rows: readonly Row[]) => rows.map((row) => row.type)

test('an event of each type is stored in the bytes of its envelope, with its id in them', async () => {
  await publish(...eventTypeNames.map((type) => event(type)))
  const rows = await written()
  assert.deepEqual(typesOf(rows), eventTypeNames)
  for (const { type, workerId, createdAt, body } of rows) {
    const envelope = JSON.parse(body)
    assert.equal(envelope.type, type)
    assert.equal(envelope.createdAt, '2026-05-14T09:00:00Z')
    assert.deepEqual(envelope.data, eventTypes[type].example)
    assert.match(envelope.id, /^evt_[0-9a-f]{32}$/)
    assert.equal(workerId, ada)
    assert.deepEqual(createdAt, at)
  }
  const ids = await db.rows<{ id: string; body: string }>(sql`select id, body from webhook_events`)
  for (const { id, body } of ids) assert.equal(JSON.parse(body).id, id)
  assert.equal(new Set(ids.map(({ id }) => id)).size, 6)
})

test('the events of one call keep their order: evidence.revoked, then score.revised', async () => {
  const change = [event('evidence.revoked'), event('score.revised')]
  await publish(...change, ...change.map(({ type }) => event(type, grace)))
  const rows = await written()
  assert.deepEqual(typesOf(rows), [
    'evidence.revoked',
    'score.revised',
    'evidence.revoked',
    'score.revised',
  ])
})

test('an empty call writes nothing', async () => {
  await publish()
  assert.deepEqual(await written(), [])
})

test('a transaction that rolls back leaves no event', async () => {
  const failing = db.transaction(async (tx) => {
    await publishEvents(tx, [event('score.updated')], at)
    throw new Error('the work failed')
  })
  await assert.rejects(failing, /the work failed/)
  assert.deepEqual(await written(), [])
  assert.deepEqual(await fanOut(db, 10), [])
})

test('data that does not fit its type is a defect: the call throws and writes nothing', async () => {
  const wrong = event('score.updated', ada, { email: 'ada@example.org' })
  await assert.rejects(
    publish(event('dispute.opened'), wrong),
    /score\.updated: email is not a known/,
  )
  await assert.rejects(
    publish(event('score.updated', ada, { score: 1001 })),
    /score\.updated: score/,
  )
  assert.deepEqual(await written(), [])
})

test('an event whose data names another worker is a defect', async () => {
  await assert.rejects(
    publish({ ...event('score.updated', grace), workerId: ada }),
    /another worker/,
  )
})

test('an unknown event type is a defect', async () => {
  const unknown = { ...event('score.updated'), type: 'score.deleted' } as unknown as NewEvent
  await assert.rejects(publish(unknown), /no event type score\.deleted/)
})

const consent = (permission: string, granted: boolean, workerId = ada) =>
  event('candidate.consent_changed', workerId, { permission, granted })

for (const permission of ['public_profile', 'score_sharing'])
  test(`after ${permission} is withdrawn, only events of consent are sent for the worker, also among dispatched ones`, async () => {
    await publish(consent(permission, true), event('score.updated'))
    await fanOut(db, 10)
    await publish(event('score.revised'), event('score.updated', grace))
    await publish(consent(permission, false))
    const rows = await written()
    assert.deepEqual(
      rows.map((row) => row.withheld),
      [false, true, true, false, false],
    )
    await fanOut(db, 10)
    const feed = await findEventsAfter(db, { after: 0, limit: 10 })
    assert.deepEqual(
      feed.map(({ body }) => [JSON.parse(body).type, JSON.parse(body).data.workerId]),
      [
        ['candidate.consent_changed', ada],
        ['score.updated', grace],
        ['candidate.consent_changed', ada],
      ],
    )
  })

test('a withdrawn search_listing or a granted score_sharing withholds no event', async () => {
  await publish(event('score.updated'))
  await publish(consent('search_listing', false), consent('score_sharing', true))
  assert.deepEqual(
    (await written()).map((row) => row.withheld),
    [false, false, false],
  )
})
