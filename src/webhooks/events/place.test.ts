/** The order events are read in: whoever follows it misses nothing, sees nothing twice, and sees a cause before its effect. */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import { placeEvents } from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { openDb, sql, type Tx } from '../../platform/db/db.ts'
import { eventTypes } from './event-types.ts'
import { type NewEvent, publishEvents } from './outbox.ts'
import { findEventsAfter } from './store.ts'

const database = await testDatabase()
const db = openDb({
  url: database.url,
  connectionsMax: 16,
  applicationName: 'order of events',
  statementTimeoutMs: 60_000,
  onError: () => {},
})
after(async () => {
  await db.close()
  await database.drop()
})
beforeEach(() => db.run(sql`truncate webhook_events cascade`))

const at = new Date('2026-05-14T09:00:00Z')
const ada = '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f'

/** The `version`th change of a worker. */
function change(version: number, workerId = ada, permission = 'search_listing'): NewEvent {
  const { example } = eventTypes['candidate.consent_changed']
  const data = { ...example, workerId, permission, consentVersion: version }
  return { type: 'candidate.consent_changed', workerId, data } as NewEvent
}

const publish = (tx: Tx, ...events: NewEvent[]) => publishEvents(tx, events, at)

/** What each change in the feed after `position` is. */
async function changesAfter(position: number): Promise<number[]> {
  const events = await findEventsAfter(db, { after: position, limit: 10_000 })
  return events.map(({ body }) => JSON.parse(body).data.consentVersion)
}

async function endOfFeed(): Promise<number> {
  const events = await findEventsAfter(db, { after: 0, limit: 10_000 })
  return events.at(-1)?.position ?? 0
}

/** A transaction that has done `work` and ends when it is told to. */
async function held(work: (tx: Tx) => Promise<unknown>) {
  const worked = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  const ended = db.transaction(async (tx) => {
    await work(tx)
    worked.resolve()
    await told.promise
  })
  await Promise.race([worked.promise, ended])
  return async () => {
    told.resolve()
    await ended
  }
}

test('an event that was written first and is committed last is not skipped', async () => {
  const commitFirst = await held((tx) => publish(tx, change(1)))
  await db.transaction((tx) => publish(tx, change(2)))
  await placeEvents(db, 10)
  assert.deepEqual(await changesAfter(0), [2])
  const seen = await endOfFeed()
  await commitFirst()
  await placeEvents(db, 10)
  assert.deepEqual(await changesAfter(seen), [1])
})

test('a transaction that wrote first and then waited for another comes after it: the cause before the effect', async () => {
  const lockAda = (tx: Tx) => tx.run(sql`select pg_advisory_xact_lock(7)`)
  const wrote = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<void>()
  const effect = db.transaction(async (tx) => {
    // By its transaction id it now stands before the cause.
    await publish(tx, change(9, randomUUID()))
    wrote.resolve()
    await mayGoOn.promise
    await lockAda(tx)
    await publish(tx, change(2))
  })
  await wrote.promise
  const commitCause = await held(async (tx) => {
    await lockAda(tx)
    await publish(tx, change(1))
  })
  mayGoOn.resolve()
  await commitCause()
  await effect
  await placeEvents(db, 10)
  assert.deepEqual(await changesAfter(0), [9, 1, 2])
})

test('positions go on where they were after the events before were removed', async () => {
  await db.transaction((tx) => publish(tx, change(1)))
  await placeEvents(db, 10)
  const seen = await endOfFeed()
  await db.run(sql`delete from webhook_events`)
  await db.transaction((tx) => publish(tx, change(2)))
  await placeEvents(db, 10)
  assert.deepEqual(await changesAfter(seen), [2])
})

test('placing that is cut off leaves everything waiting, in order', async () => {
  await db.transaction((tx) => publish(tx, change(1), change(2), change(3)))
  const cut = db.transaction(async (tx) => {
    await placeEvents(tx, 2)
    throw new Error('cut off')
  })
  await assert.rejects(cut, /cut off/)
  assert.deepEqual(await changesAfter(0), [])
  await placeEvents(db, 10)
  assert.deepEqual(await changesAfter(0), [1, 2, 3])
})

test('at most as many as asked for are placed, the oldest first, and none a second time', async () => {
  await db.transaction((tx) => publish(tx, ...[1, 2, 3, 4, 5].map((version) => change(version))))
  const counts: number[] = []
  for (let i = 0; i < 4; i++) counts.push((await placeEvents(db, 2)).length)
  assert.deepEqual(counts, [2, 2, 1, 0])
  assert.deepEqual(await changesAfter(0), [1, 2, 3, 4, 5])
})

test('a page begins where the one before ended', async () => {
  await db.transaction((tx) => publish(tx, ...[1, 2, 3, 4, 5].map((version) => change(version))))
  await placeEvents(db, 10)
  const pages: number[] = []
  for (let after = 0; ; ) {
    const page = await findEventsAfter(db, { after, limit: 2 })
    const last = page.at(-1)
    if (last === undefined) break
    pages.push(page.length)
    after = last.position
  }
  assert.deepEqual(pages, [2, 2, 1])
})

test('placing from many processes at once gives each event one position', async () => {
  const versions = Array.from({ length: 300 }, (_, i) => i + 1)
  await db.transaction((tx) => publish(tx, ...versions.map((version) => change(version))))
  const placed = await Promise.all(Array.from({ length: 12 }, () => placeEvents(db, 40)))
  assert.equal(new Set(placed.flat().map(({ id }) => id)).size, 300)
  assert.deepEqual(await changesAfter(0), versions)
})

test('a position is not read before a lower one: placing waits for placing', async () => {
  const commitFirst = await held((tx) => publish(tx, change(1)))
  await db.transaction((tx) => publish(tx, change(2)))
  const endPlacing = await held((tx) => placeEvents(tx, 10))
  await commitFirst()
  const other = { ended: false }
  const placing = placeEvents(db, 1).finally(() => {
    other.ended = true
  })
  while (!other.ended && (await waiters()) === 0);
  const meanwhile = await changesAfter(0)
  await endPlacing()
  await placing
  assert.deepEqual(meanwhile, [])
  assert.deepEqual(await changesAfter(0), [2, 1])
})

async function waiters(): Promise<number> {
  const [row] = await db.rows<{ waiters: number }>(sql`
    select count(*) as waiters from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`)
  return row?.waiters ?? 0
}

test('withdrawals while events are written and placed: no deadlock, and nothing withheld is read afterwards', async () => {
  const workers = Array.from({ length: 20 }, () => randomUUID())
  const changes = workers.map((workerId) => change(1, workerId))
  const scores = workers.map((workerId): NewEvent => {
    const { example } = eventTypes['score.updated']
    return { type: 'score.updated', workerId, data: { ...example, workerId } }
  })
  await db.transaction((tx) => publish(tx, ...scores, ...changes, ...scores))
  const withdraw = (workerId: string) =>
    db.transaction((tx) => publish(tx, change(2, workerId, 'score_sharing')))
  await Promise.all([
    ...workers.map(withdraw),
    ...Array.from({ length: 30 }, () => placeEvents(db, 7)),
  ])
  while ((await placeEvents(db, 100)).length > 0);
  const feed = await findEventsAfter(db, { after: 0, limit: 1_000 })
  assert.deepEqual(
    [...new Set(feed.map(({ body }) => JSON.parse(body).type))],
    ['candidate.consent_changed'],
  )
  assert.equal(feed.length, 2 * workers.length)
})

const writers = 10
const eventsWanted = 5_000

test(`${eventsWanted} events of ${writers} writers, read while they are written: none is missed, none comes twice, each worker's in order`, async () => {
  const workers: string[] = Array.from({ length: 25 }, () => randomUUID())
  const committed = new Map(workers.map((workerId) => [workerId, 0]))
  let written = 0
  const end = { ofWriting: false, ofPlacing: false }

  /** One to four changes of two workers under their locks, one time in ten rolled back. */
  async function writeSome(): Promise<void> {
    const chosen = [randomInt(25), randomInt(25)].sort((a, b) => a - b)
    const versions = new Map<string, number>()
    const fails = randomInt(10) === 0
    try {
      await db.transaction(async (tx) => {
        // What is written before the locks draws the transaction id in another order than the events.
        await publish(tx, change(1, randomUUID()))
        for (const place of new Set(chosen)) {
          const workerId = workers[place] as string
          await tx.run(sql`select pg_advisory_xact_lock(100 + ${place}::integer)`)
          const from = committed.get(workerId) as number
          const count = randomInt(1, 3)
          const events = Array.from({ length: count }, (_, i) => change(from + 1 + i, workerId))
          await publish(tx, ...events)
          versions.set(workerId, from + count)
        }
        if (fails) throw new Error('rolled back on purpose')
        // Before the commit lets go of the locks: the next holder counts on from here.
        for (const [workerId, version] of versions) committed.set(workerId, version)
        written += 1
      })
    } catch (error) {
      if (!fails) throw error
    }
  }

  async function write(): Promise<void> {
    while (written + sum(committed.values()) < eventsWanted) await writeSome()
  }

  async function place(): Promise<void> {
    while (!end.ofWriting) await placeEvents(db, 50)
    while ((await placeEvents(db, 500)).length > 0);
  }

  const seen: { id: string; workerId: string; version: number }[] = []
  async function read(): Promise<void> {
    let position = 0
    for (let last = false; ; ) {
      const page = await findEventsAfter(db, { after: position, limit: randomInt(1, 200) })
      for (const { body, position: next } of page) {
        assert.ok(next > position)
        position = next
        const { id, data } = JSON.parse(body)
        seen.push({ id, workerId: data.workerId, version: data.consentVersion })
      }
      if (page.length === 0 && last) return
      // One more page after the end was seen: something may have been placed in between.
      last = page.length === 0 && end.ofPlacing
    }
  }

  const reading = read()
  const placing = Promise.all([place(), place()])
  await Promise.all(Array.from({ length: writers }, write))
  end.ofWriting = true
  await placing
  end.ofPlacing = true
  await reading

  const total = written + sum(committed.values())
  assert.ok(total >= eventsWanted)
  assert.equal(seen.length, total)
  assert.equal(new Set(seen.map(({ id }) => id)).size, total)
  for (const [workerId, last] of committed) {
    const versions = seen
      .filter((event) => event.workerId === workerId)
      .map((event) => event.version)
    assert.deepEqual(
      versions,
      [...Array(last).keys()].map((i) => i + 1),
    )
  }
})

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
