/** The feed over HTTP: the envelopes that endpoints receive, each once. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { fanOut, webhookPerformer } from '../../../test/support/build/webhooks.ts'
import { roundsOf } from '../../../test/support/fault/rounds.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { startKeyed } from '../../../test/support/start/keyed.ts'
import { sql } from '../../platform/db/db.ts'
import { webhookContract } from '../endpoints/contract.ts'
import { webhookHandlers } from '../endpoints/handlers.ts'
import { deleteOldRows } from '../retention.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { type NewEvent, publishEvents } from './outbox.ts'
import { eventFeed } from './schema.ts'

const database = await testDatabase()
const { db } = database
const edge = await startKeyed(webhookContract, webhookHandlers(webhookPerformer(db)))
after(async () => {
  await edge.stop()
  await database.drop()
})
beforeEach(() => db.run(sql`truncate webhook_events cascade`))

const { path: eventsPath } = webhookContract.listWebhookEvents
const at = new Date('2026-05-14T09:00:00Z')
const shape = Compile(eventFeed)

interface Feed {
  positions: number[]
  events: { id: string; type: EventType; data: Record<string, unknown> }[]
  next: string
  hasMore: boolean
}

function event(type: EventType, workerId: string = randomUUID(), changes = {}): NewEvent {
  return { type, workerId, data: { ...eventTypes[type].example, workerId, ...changes } } as NewEvent
}

const publish = (...events: NewEvent[]) => db.transaction((tx) => publishEvents(tx, events, at))

async function fanOutAll(): Promise<void> {
  while ((await fanOut(db, 500)).length > 0);
}

async function read(query = ''): Promise<Feed> {
  const { status, json } = await edge.call('reader', { path: `${eventsPath}?${query}` })
  assert.equal(status, 200, JSON.stringify(json))
  assert.ok(shape.Check(json), JSON.stringify([...shape.Errors(json)]))
  return json
}

const typesOf = ({ events }: Feed) => events.map(({ type }) => type)

test('200: `since` begins with the events of that time, or behind the newest if there is none', async () => {
  const hour = (n: number) => new Date(at.getTime() + n * 3_600_000)
  const publishAt = (time: Date) =>
    db.transaction((tx) => publishEvents(tx, [event('score.updated')], time))
  // The second event is committed late: its position is higher than that of the third.
  for (const n of [0, 2, 1]) {
    await publishAt(hour(n))
    await fanOutAll()
  }
  const all = await read()
  assert.deepEqual(all.positions, [all.positions[0], Number(all.next) - 1, Number(all.next)])
  const since = async (time: Date) => (await read(`since=${time.toISOString()}`)).positions
  assert.deepEqual(await since(hour(0)), all.positions)
  assert.deepEqual(await since(hour(1)), all.positions.slice(1))
  assert.deepEqual(await since(hour(2)), all.positions.slice(1), 'one older event comes as well')
  const now = await read(`since=${hour(3).toISOString()}`)
  assert.deepEqual([now.events, now.next], [[], all.next])
  assert.deepEqual((await read(`since=${hour(3).toISOString()}&after=0`)).positions, all.positions)
  const behind = await read(`after=${all.positions[1]}`)
  assert.deepEqual(behind.positions, all.positions.slice(2))
})

test('200: the feed has each event as the envelope that is sent, in order', async () => {
  await publish(...eventTypeNames.map((type) => event(type)))
  await fanOutAll()
  const feed = await read()
  assert.deepEqual(typesOf(feed), eventTypeNames)
  assert.equal(feed.hasMore, false)
  const bodies = await db.rows<{ body: string }>(
    sql`select body from webhook_events order by position`,
  )
  assert.deepEqual(
    feed.events,
    bodies.map(({ body }) => JSON.parse(body)),
  )
})

test('200: `after` set to `next` returns only newer events; at the end `next` stays the same', async () => {
  assert.deepEqual(await read(), {
    schemaVersion: 'service.webhook_events.v1',
    events: [],
    positions: [],
    next: '0',
    hasMore: false,
  })
  await publish(event('score.updated'), event('score.revised'), event('dispute.opened'))
  await fanOutAll()
  const first = await read('limit=2')
  assert.deepEqual(typesOf(first), ['score.updated', 'score.revised'])
  assert.equal(first.hasMore, true)
  const second = await read(`limit=2&after=${first.next}`)
  assert.deepEqual(typesOf(second), ['dispute.opened'])
  assert.equal(second.hasMore, false)
  const third = await read(`after=${second.next}`)
  assert.deepEqual([third.events, third.next, third.hasMore], [[], second.next, false])
})

test('200: with `types`, `next` moves past other types, and a page is full', async () => {
  const wanted = 'dispute.opened'
  const events = Array.from({ length: 2_100 }, (_, i) =>
    event(i % 700 === 699 ? wanted : 'score.updated'),
  )
  await publish(...events)
  await fanOutAll()
  const seen: string[] = []
  let after = '0'
  for (let calls = 0, more = true; more; calls++) {
    assert.ok(calls < 10, 'the feed ends')
    const feed = await read(`types=${wanted}&limit=1&after=${after}`)
    assert.ok(feed.events.length <= 1)
    assert.ok(Number(feed.next) > Number(after) || !feed.hasMore)
    seen.push(...typesOf(feed))
    after = feed.next
    more = feed.hasMore
  }
  assert.deepEqual(seen, [wanted, wanted, wanted])
  assert.equal((await read(`types=score.updated,${wanted}&limit=100`)).events.length, 100)
})

test('200: an event that a withdrawn consent withholds is not in the feed', async () => {
  const worker = randomUUID()
  await publish(event('score.updated', worker))
  await fanOutAll()
  const withdrawal = { permission: 'score_sharing', granted: false }
  await publish(event('candidate.consent_changed', worker, withdrawal))
  await fanOutAll()
  assert.deepEqual(typesOf(await read()), ['candidate.consent_changed'])
  assert.deepEqual(typesOf(await read('types=score.updated')), [])
})

test('400: a reader whose next events were deleted for their age must start again', async () => {
  const wait = (days: number) => new Date(at.getTime() + days * 86_400_000)
  await publish(...eventTypeNames.map((type) => event(type)))
  await fanOutAll()
  const first = await read('limit=2')
  const last = await read('limit=6')
  await deleteOldRows(db, wait(31))
  await db.transaction((tx) => publishEvents(tx, [event('score.updated')], wait(31)))
  await fanOutAll()
  const query = `types=score.updated&after=${first.next}`
  const { status, json } = await edge.call('reader', { path: `${eventsPath}?${query}` })
  assert.equal(status, 400)
  assert.equal(json.error, 'invalid_parameter')
  assert.match(String(json.message), /^after: .*deleted/)
  assert.equal((await read()).events.length, 1)
  assert.equal(
    (await read(`after=${last.next}`)).events.length,
    1,
    'a reader that had read all misses none',
  )
})

test('400: malformed parameters are rejected', async () => {
  for (const query of [
    'after=-1',
    'after=01',
    'after=1e3',
    'after=',
    `after=${'9'.repeat(16)}`,
    'since=yesterday',
    'since=2026-02-30T09:00:00Z',
    'since=2026-05-14T09:60:00Z',
    'since=2026-05-14T09:00:00',
    'limit=0',
    'limit=101',
    'limit=05',
    'limit=1e1',
    'types=',
    'types=score.deleted',
    'types=score.updated,',
    'types=scoreXupdated',
    'types=score.updated&types=score.revised',
  ]) {
    const { status, json } = await edge.call('reader', { path: `${eventsPath}?${query}` })
    assert.equal(status, 400, query)
    assert.equal(json.error, 'invalid_parameter')
  }
})

const writers = 20
const eventsWanted = roundsOf('CHAOS_FEED_EVENTS', 2_000)

test(`${eventsWanted} events of ${writers} writers, read over HTTP while they are written: none is missed, none comes twice`, async (t) => {
  let written = 0
  const done = { writing: false, fanningOut: false }
  const write = async (): Promise<void> => {
    for (; written < eventsWanted; ) {
      const events = Array.from({ length: 20 }, () => event('score.updated'))
      written += events.length
      await publish(...events)
    }
  }
  const dispatch = async (): Promise<void> => {
    while (!done.writing) await fanOut(db, 200)
    await fanOutAll()
    done.fanningOut = true
  }
  const seen: string[] = []
  const follow = async (): Promise<void> => {
    for (let after = '0', last = false; ; ) {
      const feed = await read(`limit=100&after=${after}`)
      seen.push(...feed.events.map(({ id }) => id))
      after = feed.next
      if (feed.events.length === 0 && last) return
      if (feed.events.length === 0) last = done.fanningOut
    }
  }
  const dispatching = dispatch()
  const following = follow()
  await Promise.all(Array.from({ length: writers }, write))
  done.writing = true
  await Promise.all([dispatching, following])
  const rows = await db.rows<{ id: string }>(sql`select id from webhook_events order by position`)
  assert.equal(rows.length, written)
  assert.deepEqual(
    seen,
    rows.map(({ id }) => id),
  )
  t.diagnostic(
    `${rows.length} events of ${writers} writers at once: ${seen.length} read meanwhile in pages of 100, ` +
      `${new Set(seen).size} different ones, in the order of their positions. None missed, none repeated.`,
  )
})
