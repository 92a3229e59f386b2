import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  decideInDatabase,
  emptyWindows,
  type Windows,
} from '../../../test/support/build/rate-windows.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { type Db, openDb, sql } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { RateLimits } from '../http/contract.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from './limiter.ts'
import { inProcessRateLimiter } from './process-limiter.ts'
import { databaseRateLimiter, sweepRateWindows } from './shared-limiter.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const dayMs = 86_400_000
const policy = { name: 'verify', perMinute: 60, perDay: 1_000 }
const neverAsked: RateLimiter = {
  take: () => Promise.reject(new Error('the fallback was asked')),
  isFull: () => false,
}

/** Opens a limiter as another process has it: its own pool and memory. */
function process(now?: () => number): RateLimiter {
  const pool = openDb({
    url: database.url,
    connectionsMax: 2,
    applicationName: 'limits',
    synchronousCommit: 'off',
    onError: () => {},
  })
  after(() => pool.close())
  return databaseRateLimiter({ db: pool, fallback: neverAsked, ...(now && { now }) })
}

let networks = 0
/** Returns an address that no other test uses. */
function address(): ClientNetwork {
  return { buckets: [{ key: `address ${networks++}`, factor: 1 }] }
}
function network(wide: string): ClientNetwork {
  return {
    buckets: [
      { key: `network ${networks++}`, factor: 1 },
      { key: wide, factor: 10 },
    ],
  }
}

function takes(limiter: RateLimiter, caller: ClientNetwork, calls: number): Promise<RateVerdict[]> {
  return Promise.all(Array.from({ length: calls }, () => limiter.take(caller, policy)))
}
const allowedOf = (verdicts: readonly RateVerdict[]) =>
  verdicts.filter(({ allowed }) => allowed).length

/**
 * Lets time pass for every bucket by moving grants into the past, in whole quarter hours for the
 * day.
 */
async function pass(seconds: number): Promise<void> {
  const quarters = Math.floor(seconds / 900)
  await db.run(sql`
    update rate_windows set
      hits = array(select hit - ${seconds} * interval '1 second' from unnest(hits) hit order by hit),
      quarters = array(select q - ${quarters} * interval '15 minutes' from unnest(quarters) q order by q),
      decided_at = decided_at - ${seconds} * interval '1 second'`)
}

const exactLimits = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 20 }),
})
const schedules = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 8 })),
  { maxLength: 40, size: 'max' },
)
const epoch = Date.parse('2026-05-14T09:00:00Z')

/** Returns the windows of a bucket after a schedule, and the time of its end. */
async function windowsAfter(
  schedule: readonly (readonly [number, number])[],
  limits: RateLimits,
  begin = epoch,
) {
  let windows = emptyWindows
  let now = begin
  for (const [waitMs, wanted] of schedule) {
    now += waitMs
    windows = await decideInDatabase(db, windows, { now, wanted, limits })
  }
  return { windows, now }
}

test('a grant that is taken back leaves the counts as before', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, exactLimits, fc.nat(), async (schedule, limits, part) => {
      const { windows, now } = await windowsAfter(schedule, limits)
      const decide = (from: Windows, wanted: number) =>
        decideInDatabase(db, from, { now, wanted, limits })
      const more = await decide(windows, 8)
      const kept = more.granted === 0 ? 0 : part % more.granted
      if (more.granted === kept) return
      const less = await decide(more, kept - more.granted)
      const direct = await decide(windows, kept)
      assert.deepEqual(countsOf(less), countsOf(direct))
    }),
    { numRuns: 60 },
  )
})

/** Without the time of the last run: it may be that of a call that was taken back. */
function countsOf({ hits, hitTotals, quarters, totals }: Windows) {
  return { hits: hits.slice(0, -1), hitTotals, quarters, totals }
}

test('a key with 60,000 calls a minute has at most 121 runs in its row', async () => {
  const limits = { perMinute: 60_000, perDay: 100_000_000 }
  const calls = Array.from({ length: 722 }, () => [97, 20] as const)
  const { windows } = await windowsAfter(calls, limits)
  assert.ok(windows.hits.length <= 121, `${windows.hits.length}`)
  const counted = Math.ceil(60_000 / 97) * 20
  const count = (windows.hitTotals.at(-1) as number) - windows.hitBase
  assert.ok(count >= counted && count <= counted + Math.ceil(500 / 97) * 20, `${count}`)
})

test('running totals restart before they exceed the column', async () => {
  const windows = await decideInDatabase(
    db,
    {
      ...emptyWindows,
      hits: [new Date(epoch - 61_000), new Date(epoch - 59_000)],
      hitTotals: [2_000_000_000, 2_000_000_007],
      quarters: [new Date(epoch - 2 * dayMs), new Date(epoch)],
      totals: [2_100_000_000, 2_100_000_005],
    },
    { now: epoch, wanted: 3, limits: { perMinute: 60_000, perDay: 100_000_000 } },
  )
  const { hitTotals, hitBase, totals, base } = windows
  assert.deepEqual([hitTotals, hitBase, totals, base], [[7, 10], 0, [8], 0])
})

test('the verdict tells what is left of each window and the time at which a retry succeeds', async () => {
  const limiter = process()
  await fc.assert(
    fc.asyncProperty(schedules, exactLimits, async (schedule, limits) => {
      const caller = address()
      const own = { name: 'model', ...limits }
      await db.run(sql`delete from rate_windows`)
      await limiter.take(caller, { name: 'model', perMinute: 1_000, perDay: 1_000 })
      const begin = Date.now() - schedule.reduce((sum, [waitMs]) => sum + waitMs, 0)
      const { windows } = await windowsAfter(schedule, limits, begin)
      const { hits, hitTotals, hitBase, quarters, totals, base } = windows
      await db.run(sql`
        update rate_windows set hits = ${hits}, hit_totals = ${hitTotals}, hit_base = ${hitBase},
          quarters = ${quarters}, totals = ${totals}, base = ${base}`)
      const verdict = await limiter.take(caller, own)
      const [left] = await db.rows<Windows & { decidedAt: Date }>(sql`
        select hits, hit_totals as "hitTotals", hit_base as "hitBase", quarters, totals, base, granted,
          decided_at as "decidedAt"
        from rate_windows`)
      assert.ok(left)
      assert.deepEqual(verdict, verdictFrom(left, limits))
    }),
    { numRuns: 60 },
  )
})

/** Computes the verdict call by call. */
function verdictFrom(left: Windows & { decidedAt: Date }, limits: RateLimits): RateVerdict {
  const now = left.decidedAt.getTime()
  const minute = callsOf(left.hits, left.hitTotals, left.hitBase).map((at) => at + 60_000 - now)
  const day = callsOf(left.quarters, left.totals, left.base).map((at) => at + dayMs + 900_000 - now)
  const isAllowed = left.granted === 1
  const waits = [minute.at(-limits.perMinute) ?? 0, day.at(-limits.perDay) ?? 0]
  const seconds = (ms = 0) => Math.ceil(ms / 1_000)
  return {
    allowed: isAllowed,
    retryAfterSeconds: isAllowed ? 0 : Math.max(1, seconds(Math.max(...waits))),
    minute: {
      limit: limits.perMinute,
      remaining: limits.perMinute - minute.length,
      resetSeconds: Math.min(60, seconds(minute[0])),
    },
    day: {
      limit: limits.perDay,
      remaining: limits.perDay - day.length,
      resetSeconds: Math.min(86_400, seconds(day[0])),
    },
  }
}

/** Returns the time of the run of each counted call, in milliseconds. */
function callsOf(slots: readonly Date[], totals: readonly number[], base: number): number[] {
  return slots.flatMap((slot, i) =>
    Array<number>((totals[i] as number) - (totals[i - 1] ?? base)).fill(slot.getTime()),
  )
}

test('60 of 500 concurrent calls through two processes are granted, and the 61st a minute later', async () => {
  const caller = address()
  const [one, two] = [process(), process()]
  const began = performance.now()
  const verdicts = (await Promise.all([takes(one, caller, 250), takes(two, caller, 250)])).flat()
  const took = (performance.now() - began) / 1_000
  assert.equal(allowedOf(verdicts), 60)
  for (const { allowed, retryAfterSeconds, minute } of verdicts) {
    assert.equal(minute.limit, 60)
    if (!allowed) assert.ok(retryAfterSeconds >= 60 - took && retryAfterSeconds <= 60)
    else assert.equal(retryAfterSeconds, 0)
  }
  await pass(60)
  assert.equal(allowedOf(await takes(process(), caller, 61)), 60)
})

test('no rolling minute or day holds more than its limit, counted over two processes under load', async () => {
  let now = 0
  const [one, two] = [process(() => now), process(() => now)]
  const callers = Array.from({ length: 20 }, address)
  const own = { name: 'load', perMinute: 7, perDay: 30 }
  for (const expected of [7, 7, 7, 7, 2, 0]) {
    const counts = callers.map(() => 0)
    const call = async (i: number) => {
      const which = (i * 7) % callers.length
      const limiter = i % 2 === 0 ? one : two
      const { allowed } = await limiter.take(callers[which] as ClientNetwork, own)
      if (allowed) counts[which] = (counts[which] ?? 0) + 1
    }
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => call(i)))
    assert.deepEqual(new Set(counts), new Set([expected]))
    await pass(60)
    now += 60_000
  }
})

test('1,000 calls a day are granted and not one more, until the quarter hour is 24 hours over', async () => {
  const caller = address()
  for (let minute = 0; minute < 16; minute++) {
    assert.equal(allowedOf(await takes(process(), caller, 60)), 60)
    await pass(60)
  }
  const verdicts = await takes(process(), caller, 60)
  assert.equal(allowedOf(verdicts), 40)
  const refused = verdicts.find(({ allowed }) => !allowed)
  assert.equal(refused?.day.remaining, 0)
  assert.equal(refused?.minute.remaining, 20)
  assert.ok((refused?.retryAfterSeconds ?? 0) > 86_400 - 900)
  await pass(86_400 - 900)
  assert.equal(allowedOf(await takes(process(), caller, 1)), 0)
  await pass(1_800)
  assert.equal(allowedOf(await takes(process(), caller, 1)), 1)
})

test('the first calls of a bucket are bound by the day limit, also if the minute allows more', async () => {
  const [limiter, caller] = [process(), address()]
  const small = { name: 'small', perMinute: 10, perDay: 3 }
  const verdicts = Array.from({ length: 5 }, () => limiter.take(caller, small))
  assert.equal(allowedOf(await Promise.all(verdicts)), 3)
})

test('a network of many hosts gets ten times the limit, and its denied calls are not counted for the host', async () => {
  const hosts = Array.from({ length: 11 }, () => network('wide 1'))
  const [one, two] = [process(), process()]
  const verdicts = await Promise.all(
    hosts.flatMap((host) => [takes(one, host, 40), takes(two, host, 40)]),
  )
  assert.equal(allowedOf(verdicts.flat()), 600)
  const rows = await db.rows<{ perMinute: number; hits: number; total: number }>(sql`
    select per_minute as "perMinute", coalesce(hit_totals[cardinality(hit_totals)], 0) as hits, totals[cardinality(totals)] as total
    from rate_windows order by decided_at desc, per_minute limit 12`)
  const narrow = rows.filter(({ perMinute }) => perMinute === 60)
  assert.equal(
    narrow.reduce((sum, { hits }) => sum + hits, 0),
    600,
  )
  assert.equal(
    narrow.reduce((sum, { total }) => sum + (total ?? 0), 0),
    600,
  )
  assert.ok(narrow.every(({ hits }) => hits <= 60))
})

test('a host whose own bucket frees later than its network gets the later time from any process', async () => {
  const host = network('wide 2')
  const began = performance.now()
  /** Whether `seconds` are left of `of`, minus the time that the test itself took. */
  const isLeft = (seconds: number, of: number): boolean =>
    seconds <= of && seconds >= of - (performance.now() - began) / 1_000
  for (let i = 0; i < 9; i++) await takes(process(), network('wide 2'), 60)
  await pass(10)
  assert.equal(allowedOf(await takes(process(), host, 60)), 60)
  await pass(20)
  const ignorant = process()
  const [other] = await takes(ignorant, network('wide 2'), 1)
  assert.ok(other && !other.allowed)
  assert.ok(isLeft(other.retryAfterSeconds, 30), `${other.retryAfterSeconds}`)
  const asked = await takes(ignorant, host, 100)
  const remembered = await takes(ignorant, host, 1_000)
  for (const verdict of [...asked, ...remembered]) {
    assert.ok(!verdict.allowed)
    assert.ok(isLeft(verdict.retryAfterSeconds, 40), `${verdict.retryAfterSeconds}`)
  }
})

test('a flood from ever new hosts of a full network reaches the database at most 256 times', async () => {
  let statements = 0
  const counting: Db = {
    ...db,
    transaction: (work) => {
      statements++
      return db.transaction(work)
    },
  }
  const limiter = databaseRateLimiter({ db: counting, fallback: neverAsked })
  for (let i = 0; i < 10; i++) await takes(limiter, network('wide 3'), 60)
  statements = 0
  for (let i = 0; i < 400; i++)
    assert.equal(allowedOf(await takes(limiter, network('wide 3'), 1)), 0)
  assert.equal(statements, 256)
})

test('a full bucket costs the database nothing until it frees; then a retry succeeds', async () => {
  let now = 0
  let statements = 0
  const counting: Db = {
    ...db,
    rows: (statement) => {
      statements++
      return db.rows(statement)
    },
  }
  const limiter = databaseRateLimiter({ db: counting, fallback: neverAsked, now: () => now })
  const caller = address()
  const last = (await takes(limiter, caller, 61)).at(-1)
  assert.ok(last && !last.allowed)
  const before = statements
  now = (last.retryAfterSeconds - 1) * 1_000
  const [denied] = await takes(limiter, caller, 1_000)
  assert.ok(denied && !denied.allowed)
  assert.equal(denied.retryAfterSeconds, 1)
  assert.equal(denied.minute.remaining, 0)
  assert.equal(statements, before)
  await pass(last.retryAfterSeconds)
  now += denied.retryAfterSeconds * 1_000
  assert.equal(allowedOf(await takes(limiter, caller, 1)), 1)
})

test('calls while denied do not move the time of the retry, in the minute and in the day', async () => {
  const caller = address()
  const first = await takes(process(), caller, 61)
  for (let i = 0; i < 5; i++) {
    await pass(10)
    assert.equal(allowedOf(await takes(process(), caller, 20)), 0)
  }
  await pass((first.at(-1)?.retryAfterSeconds ?? 0) - 50)
  assert.equal(allowedOf(await takes(process(), caller, 60)), 60)
})

test('a decision that waited for a lock uses the time at which it got the lock', async () => {
  const callers = [address(), address()] as const
  const limiter = process()
  await Promise.all(callers.map((caller) => takes(limiter, caller, 1)))
  const { taken, released } = await db.transaction(async (tx) => {
    await tx.rows(sql`
      select 1 from rate_windows where bucket = (
        select bucket from (select bucket from rate_windows order by decided_at desc limit 2) as own
        order by bucket desc limit 1
      ) for update`)
    const taken = Promise.all(callers.map((caller) => limiter.take(caller, policy)))
    while (!(await someoneWaits()));
    const [now] = await tx.rows<{ time: Date }>(sql`select clock_timestamp() as time`)
    return { taken, released: now?.time as Date }
  })
  await taken
  const [waited, free] = await db.rows<{ decidedAt: Date; hit: Date }>(sql`
    select decided_at as "decidedAt", hits[cardinality(hits)] as hit
    from (select * from rate_windows order by decided_at desc limit 2) as own order by bucket desc`)
  assert.ok(waited && free)
  assert.ok(waited.decidedAt >= released)
  assert.ok(free.decidedAt <= released)
  assert.deepEqual(waited.hit, waited.decidedAt)
})

async function someoneWaits(): Promise<boolean> {
  const waiting = await db.rows(sql`
    select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
  return waiting.length > 0
}

test('while the database does not answer the fallback decides; one probe a second brings the database back', async () => {
  let now = 0
  let up = true
  let asked = 0
  const outages: string[] = []
  const unsteady: Db = {
    ...db,
    rows: (statement) => {
      asked++
      return up ? db.rows(statement) : Promise.reject(new UnavailableError('down'))
    },
  }
  const limiter = databaseRateLimiter({
    db: unsteady,
    fallback: inProcessRateLimiter({ nodes: 2, now: () => now }),
    onOutage: ({ message }) => outages.push(message),
    now: () => now,
  })
  const caller = address()
  await takes(limiter, caller, 10)
  up = false
  assert.equal(allowedOf(await takes(limiter, caller, 100)), 30)
  assert.deepEqual(outages, ['down'])
  asked = 0
  now = 999
  await takes(limiter, caller, 100)
  assert.equal(asked, 0)
  now = 1_000
  await takes(limiter, caller, 100)
  assert.equal(asked, 1)
  up = true
  now = 2_000
  const [probe] = await takes(limiter, caller, 1)
  assert.equal(probe?.minute.remaining, 49)
  assert.equal(allowedOf(await takes(limiter, caller, 100)), 49)
  assert.deepEqual(outages, ['down'])
})

test('a defect in the store is thrown and is no outage', async () => {
  const limiter = databaseRateLimiter({
    db: { ...db, rows: () => Promise.reject(new TypeError('bug')) },
    fallback: neverAsked,
  })
  await assert.rejects(limiter.take(address(), policy), TypeError)
})

test('a window that becomes active while the sweep removes its row is never forgotten: no limit grants a call too many', async () => {
  await db.run(sql`delete from rate_windows`)
  const tight = { name: 'tight', perMinute: 3, perDay: 1_000 }
  const [one, two] = [process(), process()]
  for (let round = 0; round < 12; round++) {
    const callers = Array.from({ length: 120 }, address)
    await Promise.all(callers.map((caller) => one.take(caller, tight)))
    await pass(86_400 + 900)
    const calls = callers.flatMap((caller) =>
      Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? one : two).take(caller, tight)),
    )
    const answered = Promise.all(calls)
    const sweeps = Promise.all(Array.from({ length: 6 }, () => sweepRateWindows(db)))
    const verdicts = await answered
    await sweeps
    for (const [i] of callers.entries()) {
      const own = verdicts.slice(i * 6, i * 6 + 6)
      assert.equal(own.filter((verdict) => verdict.allowed).length, 3)
    }
  }
})

test('the sweep waits for no caller: a row that becomes active meanwhile is skipped and stays', async () => {
  await db.run(sql`delete from rate_windows`)
  await process().take(address(), policy)
  await pass(86_400 + 900)
  await db.transaction(async (tx) => {
    await tx.run(sql`update rate_windows set decided_at = clock_timestamp()`)
    assert.equal(await sweepRateWindows(db), 0)
  })
  assert.equal(await sweepRateWindows(db), 0)
  await pass(86_400 + 900)
  assert.equal(await sweepRateWindows(db), 1)
})

test('the sweep removes exactly the rows in which nothing counts any more', async () => {
  await db.run(sql`delete from rate_windows`)
  const limiter = process()
  // As many at once as one statement takes: a call that waits beyond the limiter's deadline is not
  // counted here.
  const callers = async (count: number) => {
    for (let left = count; left > 0; left -= 250)
      await Promise.all(Array.from({ length: 250 }, () => limiter.take(address(), policy)))
  }
  await callers(6_000)
  await pass(86_400 + 900 - 60)
  assert.equal(await sweepRateWindows(db), 0)
  await pass(60)
  await callers(3_000)
  assert.equal(await sweepRateWindows(db), 6_000)
  assert.equal(await sweepRateWindows(db), 0)
  const [left] = await db.rows<{ count: number }>(sql`select count(*) as count from rate_windows`)
  assert.equal(left?.count, 3_000)
})
