import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { type Db, openDb, sql } from '../db/db.ts'
import type { RateLimits } from '../http/contract.ts'
import { UnavailableError } from '../http/errors.ts'
import type { ClientNetwork, RateLimiter, RateVerdict } from './limiter.ts'
import { inProcessRateLimiter } from './process-limiter.ts'
import { databaseRateLimiter, sweepRateWindows } from './shared-limiter.ts'
import {
  bucketName,
  decide,
  emptyLog,
  fillOf,
  quarterMs,
  type RateLog,
  type Run,
  verdictOf,
} from './window.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const dayMs = 86_400_000
const policy = { name: 'verify', perMinute: 60, perDay: 1_000 }
const neverAsked: RateLimiter = {
  take: () => Promise.reject(new Error('the fallback was asked')),
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

interface Row {
  hits: Date[]
  hitTotals: number[]
  hitBase: number
  quarters: Date[]
  totals: number[]
  base: number
  granted: number
}

function logOf({ hits, hitTotals, hitBase, quarters, totals, base }: Row): RateLog {
  return { minute: runsOf(hits, hitTotals, hitBase), day: runsOf(quarters, totals, base) }
}

function runsOf(times: readonly Date[], totals: readonly number[], base: number): Run[] {
  return times.map((time, i) => ({
    at: time.getTime(),
    count: (totals[i] as number) - (totals[i - 1] ?? base),
  }))
}

const waits = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 600 }) },
  { weight: 2, arbitrary: fc.integer({ min: 59_999, max: 60_001 }) },
  fc.integer({ min: quarterMs - 1, max: quarterMs + 1 }),
  fc.integer({ min: dayMs - 1, max: dayMs + quarterMs + 1 }),
  fc.integer({ min: 0, max: dayMs }),
  fc.integer({ min: -dayMs, max: 0 }),
)
const exactLimits = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 20 }),
})
const limitsArbitrary = fc.oneof(
  exactLimits,
  // Limits from 121 on are counted by half seconds.
  fc.record({
    perMinute: fc.integer({ min: 119, max: 130 }),
    perDay: fc.integer({ min: 1, max: 400 }),
  }),
)
const calls = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 100 }))
const schedules = fc.array(fc.tuple(waits, calls), {
  maxLength: 40,
  size: 'max',
})

function decideInDatabase(row: Row, now: number, wanted: number, limits: RateLimits) {
  return db.rows<Row>(sql`
    select hits, hit_totals as "hitTotals", hit_base as "hitBase", quarters, totals, base, granted
    from decide_rate(${row.hits}::timestamptz[], ${row.hitTotals}::integer[], ${row.hitBase}::integer,
      ${row.quarters}::timestamptz[], ${row.totals}::integer[],
      ${row.base}::integer, ${new Date(now)}::timestamptz, ${wanted}::integer,
      ${limits.perMinute}::integer, ${limits.perDay}::integer)`)
}

const emptyRow: Row = {
  hits: [],
  hitTotals: [],
  hitBase: 0,
  quarters: [],
  totals: [],
  base: 0,
  granted: 0,
}
const epoch = Date.parse('2026-05-14T09:00:00Z')

test('the database and the process decide alike on any schedule, also if the clock goes back', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, limitsArbitrary, async (schedule, limits) => {
      let row = emptyRow
      let log = emptyLog
      let now = epoch
      for (const [waitMs, wanted] of schedule) {
        now += waitMs
        const decision = decide(log, now, wanted, limits)
        log = decision.log
        row = (await decideInDatabase(row, now, wanted, limits))[0] as Row
        assert.equal(row.granted, decision.granted)
        assert.deepEqual(logOf(row), log)
      }
    }),
    { numRuns: 60 },
  )
})

test('a grant that is taken back leaves the windows as before', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, exactLimits, fc.nat(), async (schedule, limits, part) => {
      let row = emptyRow
      let now = epoch
      for (const [waitMs, wanted] of schedule) {
        now += waitMs
        row = (await decideInDatabase(row, now, wanted, limits))[0] as Row
      }
      const [more] = (await decideInDatabase(row, now, 8, limits)) as [Row]
      const kept = more.granted === 0 ? 0 : part % more.granted
      if (more.granted === kept) return
      const [less] = await decideInDatabase(more, now, kept - more.granted, limits)
      const [direct] = await decideInDatabase(row, now, kept, limits)
      assert.deepEqual({ ...less, granted: kept }, direct)
    }),
    { numRuns: 60 },
  )
})

test('a key with 60,000 calls a minute has at most 121 runs in its row', async () => {
  const limits = { perMinute: 60_000, perDay: 100_000_000 }
  let row = emptyRow
  for (let now = epoch; now < epoch + 70_000; now += 97)
    row = (await decideInDatabase(row, now, 20, limits))[0] as Row
  assert.ok(row.hits.length <= 121, `${row.hits.length}`)
  const counted = Math.ceil(60_000 / 97) * 20
  const { minute } = logOf(row)
  const count = minute.reduce((sum, run) => sum + run.count, 0)
  assert.ok(count >= counted && count <= counted + Math.ceil(500 / 97) * 20, `${count}`)
})

test('running totals restart before they exceed the column', async () => {
  const limits = { perMinute: 60_000, perDay: 100_000_000 }
  const at = new Date(epoch - 59_000)
  const [row] = await decideInDatabase(
    {
      ...emptyRow,
      hits: [new Date(epoch - 61_000), at],
      hitTotals: [2_000_000_000, 2_000_000_007],
      quarters: [new Date(epoch - 2 * dayMs), new Date(epoch)],
      totals: [2_100_000_000, 2_100_000_005],
    },
    epoch,
    3,
    limits,
  )
  assert.ok(row)
  assert.deepEqual([row.hitTotals, row.hitBase, row.totals, row.base], [[7, 10], 0, [8], 0])
})

test('the verdict of the database is the one that the pure rules give for the row it leaves', async () => {
  const limiter = process()
  await fc.assert(
    fc.asyncProperty(schedules, limitsArbitrary, async (schedule, limits) => {
      const caller = address()
      const own = { name: 'model', ...limits }
      await db.run(sql`delete from rate_windows`)
      let row = emptyRow
      let now = Date.now() - schedule.reduce((sum, [waitMs]) => sum + Math.abs(waitMs), 0)
      await limiter.take(caller, { name: 'model', perMinute: 1_000, perDay: 1_000 })
      for (const [waitMs, wanted] of schedule) {
        now += Math.abs(waitMs)
        row = (await decideInDatabase(row, now, wanted, limits))[0] as Row
      }
      const { hits, hitTotals, hitBase, quarters, totals, base } = row
      await db.run(sql`
        update rate_windows set hits = ${hits}, hit_totals = ${hitTotals}, hit_base = ${hitBase}, quarters = ${quarters}, totals = ${totals}, base = ${base}`)
      const verdict = await limiter.take(caller, own)
      const [left] = await db.rows<Row & { decidedMs: number; hitsMs: number[] }>(sql`
        select hits, hit_totals as "hitTotals", hit_base as "hitBase", quarters, totals, base, granted,
          extract(epoch from decided_at)::float8 * 1000 as "decidedMs",
          array(select extract(epoch from hit)::float8 * 1000 from unnest(hits) hit) as "hitsMs"
        from rate_windows`)
      assert.ok(left)
      const { minute, day } = logOf(left)
      // A `Date` has no microseconds.
      const log = {
        minute: minute.map((run, i) => ({ ...run, at: left.hitsMs[i] as number })),
        day,
      }
      const fill = fillOf(log, left.decidedMs, limits)
      const name = bucketName(own, caller.buckets[0] as ClientNetwork['buckets'][number])
      const fills = [{ name, factor: 1, fill: rounded(fill) }]
      assert.deepEqual(verdict, verdictOf(left.granted === 1, limits, fills))
    }),
    { numRuns: 60 },
  )
})

/**
 * Times are microseconds in the database; doubles of milliseconds differ by less than a thousandth.
 */
function rounded<Fill extends object>(fill: Fill): Fill {
  const whole = ([name, ms]: [string, number]) => [name, Math.round(ms * 1_000) / 1_000]
  return Object.fromEntries(Object.entries(fill).map(whole)) as Fill
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
  /** Of the seconds that would be left without any delay. */
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
    select decided_at as "decidedAt", hits[2] as hit
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
