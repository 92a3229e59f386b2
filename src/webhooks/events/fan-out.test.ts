/**
 * The order of the feed: a reader misses no event, reads none twice, and reads a cause before its
 * effect.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import { fanOut } from '../../../test/support/build/webhooks.ts'
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

/** Returns an event of a worker's change number `version`. */
function change(version: number, workerId = ada, permission = 'search_listing'): NewEvent {
  const { example } = eventTypes['candidate.consent_changed']
  const data = { ...example, workerId, permission, consentVersion: version }
  return { type: 'candidate.consent_changed', workerId, data } as NewEvent
}

const publish = (tx: Tx, ...events: NewEvent[]) => publishEvents(tx, events, at)

/** Returns the number of each change in the feed after `position`. */
async function changesAfter(position: number): Promise<number[]> {
  const events = await findEventsAfter(db, { after: position, limit: 10_000 })
  return events.map(({ body }) => JSON.parse(body).data.consentVersion)
}

async function endOfFeed(): Promise<number> {
  const events = await findEventsAfter(db, { after: 0, limit: 10_000 })
  return events.at(-1)?.position ?? 0
}

/** Starts a transaction that has done `work`. Returns the function that commits it. */
async function held(work: (tx: Tx) => Promise<unknown>) {
  const worked = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const ended = db.transaction(async (tx) => {
    await work(tx)
    worked.resolve()
    await mayEnd.promise
  })
  await Promise.race([worked.promise, ended])
  return async () => {
    mayEnd.resolve()
    await ended
  }
}

test('an event that is written first and committed last is not skipped', async () => {
  const commitFirst = await held((tx) => publish(tx, change(1)))
  await db.transaction((tx) => publish(tx, change(2)))
  await fanOut(db, 10)
  assert.deepEqual(await changesAfter(0), [2])
  const seen = await endOfFeed()
  await commitFirst()
  await fanOut(db, 10)
  assert.deepEqual(await changesAfter(seen), [1])
})

test('an event that waited for another transaction comes after the events of that transaction', async () => {
  const lockAda = (tx: Tx) => tx.run(sql`select pg_advisory_xact_lock(7)`)
  const wrote = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<void>()
  const effect = db.transaction(async (tx) => {
    // Its transaction id is now lower than that of the cause.
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
  await fanOut(db, 10)
  assert.deepEqual(await changesAfter(0), [9, 1, 2])
})

test('positions rise on after all earlier events were deleted', async () => {
  await db.transaction((tx) => publish(tx, change(1)))
  await fanOut(db, 10)
  const seen = await endOfFeed()
  await db.run(sql`delete from webhook_events`)
  await db.transaction((tx) => publish(tx, change(2)))
  await fanOut(db, 10)
  assert.deepEqual(await changesAfter(seen), [2])
})

test('a fan-out that rolls back leaves its events undispatched, in order', async () => {
  await db.transaction((tx) => publish(tx, change(1), change(2), change(3)))
  const rolledBack = db.transaction(async (tx) => {
    await fanOut(tx, 2)
    throw new Error('rolled back')
  })
  await assert.rejects(rolledBack, /rolled back/)
  assert.deepEqual(await changesAfter(0), [])
  await fanOut(db, 10)
  assert.deepEqual(await changesAfter(0), [1, 2, 3])
})

test('fan-out takes the oldest events up to its limit, and each event once', async () => {
  await db.transaction((tx) => publish(tx, ...[1, 2, 3, 4, 5].map((version) => change(version))))
  const counts: number[] = []
  for (let i = 0; i < 4; i++) counts.push((await fanOut(db, 2)).length)
  assert.deepEqual(counts, [2, 2, 1, 0])
  assert.deepEqual(await changesAfter(0), [1, 2, 3, 4, 5])
})

test('a page begins where the previous one ended', async () => {
  await db.transaction((tx) => publish(tx, ...[1, 2, 3, 4, 5].map((version) => change(version))))
  await fanOut(db, 10)
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

test('concurrent fan-outs give each event one position', async () => {
  const versions = Array.from({ length: 300 }, (_, i) => i + 1)
  await db.transaction((tx) => publish(tx, ...versions.map((version) => change(version))))
  const batches = await Promise.all(Array.from({ length: 12 }, () => fanOut(db, 40)))
  assert.equal(new Set(batches.flat().map(({ id }) => id)).size, 300)
  assert.deepEqual(await changesAfter(0), versions)
})

test('a position is never readable before a lower one: concurrent fan-outs take turns', async () => {
  const commitFirst = await held((tx) => publish(tx, change(1)))
  await db.transaction((tx) => publish(tx, change(2)))
  const endFanOut = await held((tx) => fanOut(tx, 10))
  await commitFirst()
  const other = { ended: false }
  const second = fanOut(db, 1).finally(() => {
    other.ended = true
  })
  while (!other.ended && (await waiters()) === 0);
  const meanwhile = await changesAfter(0)
  await endFanOut()
  await second
  assert.deepEqual(meanwhile, [])
  assert.deepEqual(await changesAfter(0), [2, 1])
})

async function waiters(): Promise<number> {
  const [row] = await db.rows<{ waiters: number }>(sql`
    select count(*) as waiters from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`)
  return row?.waiters ?? 0
}

test('withdrawals during writes and fan-outs cause no deadlock, and no withheld event is readable', async () => {
  const workers = Array.from({ length: 20 }, () => randomUUID())
  const changes = workers.map((workerId) => change(1, workerId))
  const scores = workers.map((workerId): NewEvent => {
    const { example } = eventTypes['score.updated']
    return { type: 'score.updated', workerId, data: { ...example, workerId } }
  })
  await db.transaction((tx) => publish(tx, ...scores, ...changes, ...scores))
  const withdraw = (workerId: string) =>
    db.transaction((tx) => publish(tx, change(2, workerId, 'score_sharing')))
  await Promise.all([...workers.map(withdraw), ...Array.from({ length: 30 }, () => fanOut(db, 7))])
  while ((await fanOut(db, 100)).length > 0);
  const feed = await findEventsAfter(db, { after: 0, limit: 1_000 })
  assert.deepEqual(
    [...new Set(feed.map(({ body }) => JSON.parse(body).type))],
    ['candidate.consent_changed'],
  )
  assert.equal(feed.length, 2 * workers.length)
})

const writers = 10
const eventsWanted = 5_000

test(`${eventsWanted} events of ${writers} writers, read while they are written: none is missed, none comes twice, and those of a worker are in order`, async () => {
  const workers: string[] = Array.from({ length: 25 }, () => randomUUID())
  const committed = new Map(workers.map((workerId) => [workerId, 0]))
  let written = 0
  const done = { writing: false, fanningOut: false }

  /** Writes one to four changes of two workers under their locks; one in ten rolls back. */
  async function writeSome(): Promise<void> {
    const chosen = [randomInt(25), randomInt(25)].sort((a, b) => a - b)
    const versions = new Map<string, number>()
    const fails = randomInt(10) === 0
    try {
      await db.transaction(async (tx) => {
        // A write before the locks assigns transaction ids in another order than the events have.
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
        // Before the commit releases the locks, because the next holder counts on from here.
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

  async function dispatch(): Promise<void> {
    while (!done.writing) await fanOut(db, 50)
    while ((await fanOut(db, 500)).length > 0);
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
      // Reads once more after the end, because events may have been dispatched in between.
      last = page.length === 0 && done.fanningOut
    }
  }

  const reading = read()
  const dispatching = Promise.all([dispatch(), dispatch()])
  await Promise.all(Array.from({ length: writers }, write))
  done.writing = true
  await dispatching
  done.fanningOut = true
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
