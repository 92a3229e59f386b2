/**
 * The guarantee of a rate limit, for both places that decide: the function of the database, and the
 * fallback of one process.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decideInDatabase, emptyWindows } from '../../../test/support/build/rate-windows.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import type { RateLimits } from '../http/contract.ts'
import { inProcessRateLimiter } from './process-limiter.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const minuteMs = 60_000
const quarterMs = 900_000
const dayMs = 86_400_000
const epoch = Date.parse('2026-05-14T09:00:00Z')

/** Grants calls at a time; keeps its own state. */
type Decider = (now: number, wanted: number, limits: RateLimits) => Promise<number>

const limitsArbitrary = fc.oneof(
  fc.record({ perMinute: fc.integer({ min: 1, max: 6 }), perDay: fc.integer({ min: 1, max: 20 }) }),
  fc.record({
    perMinute: fc.integer({ min: 100, max: 130 }),
    perDay: fc.integer({ min: 1, max: 400 }),
  }),
)
const wanted = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 100 }))
/**
 * Milliseconds until the next call: bursts, around a minute, around a quarter hour, around a day.
 */
const waits = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 600 }) },
  { weight: 3, arbitrary: fc.integer({ min: minuteMs - 2, max: minuteMs + 2 }) },
  fc.integer({ min: quarterMs - 2, max: quarterMs + 2 }),
  fc.integer({ min: dayMs - 2, max: dayMs + quarterMs + 2 }),
  fc.integer({ min: 0, max: dayMs }),
)
const setBack = fc.integer({ min: -dayMs, max: 0 })

function schedulesOf(wait: fc.Arbitrary<number>) {
  return fc.array(fc.tuple(wait, wanted), { maxLength: 40, size: 'max' })
}

/**
 * Checks each decision against the times of all grants before it: no window of 60 seconds or 24
 * hours holds more than its limit, and a denied call would exceed a window that is at most `slack`
 * longer.
 */
async function checkGrants(
  decider: Decider,
  given: { schedule: readonly (readonly [number, number])[]; limits: RateLimits; slack: Slack },
): Promise<void> {
  const { schedule, limits, slack } = given
  const minute = window(minuteMs)
  const day = window(dayMs)
  const longMinute = window(minuteMs + slack.minuteMs)
  const longDay = window(dayMs + slack.dayMs)
  let now = epoch
  for (const [waitMs, wanted] of schedule) {
    now += waitMs
    const granted = await decider(now, wanted, limits)
    for (const each of [minute, day, longMinute, longDay]) each.add(now, granted)
    assert.ok(granted === 0 || minute.count() <= limits.perMinute)
    assert.ok(granted === 0 || day.count() <= limits.perDay)
    if (granted === wanted) continue
    const isDue = longMinute.count() >= limits.perMinute || longDay.count() >= limits.perDay
    assert.ok(isDue, `${wanted - granted} calls are denied at ${now} without need`)
  }
}

/**
 * Times of the calls in a window. If the clock is set back, calls of the future count as calls of
 * now, and calls that had left stay away.
 */
function window(lengthMs: number) {
  let times: number[] = []
  return {
    count: () => times.length,
    add(now: number, calls: number) {
      const kept = times.map((time) => Math.min(time, now)).filter((time) => time > now - lengthMs)
      times = [...kept, ...Array<number>(calls).fill(now)]
    },
  }
}

interface Slack {
  minuteMs: number
  dayMs: number
}

function databaseDecider(): Decider {
  let windows = emptyWindows
  return async (now, wanted, limits) => {
    windows = await decideInDatabase(db, windows, { now, wanted, limits })
    return windows.granted
  }
}

/** With the time of the clock that its limiter reads. */
function processDecider() {
  const clock = { now: epoch }
  const limiter = inProcessRateLimiter({ nodes: 1, now: () => clock.now })
  const caller = { buckets: [{ key: 'a', factor: 1 }] }
  const decider: Decider = async (now, wanted, limits) => {
    clock.now = now
    let granted = 0
    for (let i = 0; i < wanted; i++)
      if ((await limiter.take(caller, { name: 'p', ...limits })).allowed) granted++
    return granted
  }
  return {
    decider,
    isFullAt: (now: number) => ((clock.now = now), limiter.isFull(caller, { name: 'p' })),
  }
}

test('the database grants no minute and no day more than its limit, also if the clock is set back, and denies at most half a second or 15 minutes longer', async () => {
  const slack = { minuteMs: 500, dayMs: quarterMs }
  const schedules = schedulesOf(fc.oneof({ weight: 12, arbitrary: waits }, setBack))
  await fc.assert(
    fc.asyncProperty(schedules, limitsArbitrary, (schedule, limits) =>
      checkGrants(databaseDecider(), { schedule, limits, slack }),
    ),
    { numRuns: 100 },
  )
})

test('a process grants no minute and no day more than its limit, and denies no call without need', async () => {
  const slack = { minuteMs: 0, dayMs: 0 }
  await fc.assert(
    fc.asyncProperty(schedulesOf(waits), limitsArbitrary, (schedule, limits) =>
      checkGrants(processDecider().decider, { schedule, limits, slack }),
    ),
    { numRuns: 300 },
  )
})

test('a process knows a bucket as full until the millisecond in which it grants again', async () => {
  await fc.assert(
    fc.asyncProperty(schedulesOf(waits), limitsArbitrary, async (schedule, limits) => {
      const { decider, isFullAt } = processDecider()
      let now = epoch
      for (const [waitMs, wanted] of [...schedule, [0, 200] as const]) {
        now += waitMs
        await decider(now, wanted, limits)
      }
      let [full, free] = [now, now + dayMs]
      assert.deepEqual([isFullAt(full), isFullAt(free)], [true, false])
      while (free - full > 1) {
        const middle = Math.floor((full + free) / 2)
        if (isFullAt(middle)) full = middle
        else free = middle
      }
      assert.equal(await decider(full, 1, limits), 0)
      assert.equal(await decider(free, 1, limits), 1)
    }),
    { numRuns: 300 },
  )
})
