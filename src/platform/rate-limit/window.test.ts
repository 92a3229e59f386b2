import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import type { RateLimits } from '../http/contract.ts'
import { decide, emptyLog, fillOf, quarterMs, type RateLog, verdictOf } from './window.ts'

const dayMs = 86_400_000
const verify: RateLimits = { perMinute: 60, perDay: 1_000 }

const limitsArbitrary = fc.oneof(
  fc.record({ perMinute: fc.integer({ min: 1, max: 6 }), perDay: fc.integer({ min: 1, max: 20 }) }),
  // From 121 on the minute is counted by half seconds.
  fc.record({
    perMinute: fc.integer({ min: 119, max: 130 }),
    perDay: fc.integer({ min: 1, max: 400 }),
  }),
)
const calls = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 100 }))
/**
 * Milliseconds until the next call: bursts, around a minute, around a quarter hour, around a day.
 */
const waits = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 600 }) },
  { weight: 3, arbitrary: fc.integer({ min: 59_998, max: 60_002 }) },
  fc.integer({ min: quarterMs - 2, max: quarterMs + 2 }),
  fc.integer({ min: dayMs - 2, max: dayMs + quarterMs + 2 }),
  fc.integer({ min: 0, max: dayMs }),
)
const schedules = fc.array(fc.tuple(waits, calls), {
  maxLength: 80,
  size: 'max',
})

/**
 * Returns the largest number of calls in any window of `ms`. Each relevant window starts at a call.
 */
function busiest(times: readonly number[], ms: number): number {
  let from = 0
  return times.reduce((most, time, i) => {
    while ((times[from] as number) <= time - ms) from++
    return Math.max(most, i - from + 1)
  }, 0)
}

function granted(schedule: readonly [number, number][], limits: RateLimits): number[] {
  let log = emptyLog
  let now = 0
  return schedule.flatMap(([waitMs, wanted]) => {
    now += waitMs
    const decision = decide(log, now, wanted, limits)
    log = decision.log
    return Array<number>(decision.granted).fill(now)
  })
}

test('no rolling minute and no rolling day ever holds more grants than its limit', () => {
  fc.assert(
    fc.property(schedules, limitsArbitrary, (schedule, limits) => {
      const times = granted(schedule, limits)
      assert.ok(busiest(times, 60_000) <= limits.perMinute)
      assert.ok(busiest(times, dayMs) <= limits.perDay)
    }),
    { numRuns: 500 },
  )
})

test('a denial is justified: the minute is full (for a large limit up to half a second longer), or the day is full with each call counted up to 15 minutes beyond 24 hours', () => {
  fc.assert(
    fc.property(schedules, limitsArbitrary, (schedule, limits) => {
      const times: number[] = []
      let log = emptyLog
      let now = 0
      for (const [waitMs, wanted] of schedule) {
        now += waitMs
        const decision = decide(log, now, wanted, limits)
        log = decision.log
        times.push(...Array<number>(decision.granted).fill(now))
        if (decision.granted === wanted) continue
        const within = (ms: number) => times.filter((time) => time > now - ms).length
        const runMs = limits.perMinute > 120 ? 500 : 0
        const isDue =
          within(60_000 + runMs) >= limits.perMinute || within(dayMs + quarterMs) >= limits.perDay
        assert.ok(isDue, `${wanted - decision.granted} refused at ${now}`)
      }
    }),
    { numRuns: 500 },
  )
})

test('after exactly freeMs one call is granted and a millisecond earlier none, after any number of attempts', () => {
  fc.assert(
    fc.property(
      schedules,
      limitsArbitrary,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
      (...given) => {
        const [schedule, limits, tries] = given
        let log = emptyLog
        let now = 0
        for (const [waitMs, wanted] of [...schedule, [0, 200] as const]) {
          now += waitMs
          log = decide(log, now, wanted, limits).log
        }
        const { freeMs } = fillOf(log, now, limits)
        assert.ok(freeMs > 0)
        for (const part of tries
          .map((part) => Math.floor(part * (freeMs - 1)))
          .sort((a, b) => a - b)) {
          const denied = decide(log, now + part, 1, limits)
          assert.equal(denied.granted, 0)
          log = denied.log
        }
        assert.equal(decide(log, now + freeMs - 1, 1, limits).granted, 0)
        assert.equal(decide(log, now + freeMs, 1, limits).granted, 1)
      },
    ),
    { numRuns: 500 },
  )
})

test('if the clock is set back, calls of the future count as calls of now and leave a minute later', () => {
  const { log } = decide(emptyLog, 10 * dayMs, 60, verify)
  const now = 5 * dayMs
  const back = decide(log, now, 1, verify)
  assert.equal(back.granted, 0)
  assert.equal(fillOf(back.log, now, verify).freeMs, 60_000)
  assert.equal(decide(back.log, now + 60_000, 100, verify).granted, 60)
  assert.equal(fillOf(back.log, now, verify).dayCount, 60)
})

test('60 of 61 calls are granted at once, the 61st when the first is 60 seconds old', () => {
  const first = decide(emptyLog, 1_000, 1, verify)
  const rest = decide(first.log, 2_000, 60, verify)
  assert.equal(rest.granted, 59)
  assert.equal(decide(rest.log, 60_999, 1, verify).granted, 0)
  assert.equal(decide(rest.log, 61_000, 2, verify).granted, 1)
})

test('1,000 calls a day are granted, the next when the first quarter hour is 24 hours over', () => {
  let log: RateLog = emptyLog
  let count = 0
  for (let minute = 0; minute < 20; minute++) {
    const decision = decide(log, minute * 60_000 + 1, 60, verify)
    log = decision.log
    count += decision.granted
  }
  assert.equal(count, 1_000)
  assert.equal(decide(log, dayMs + quarterMs - 1, 1, verify).granted, 0)
  assert.equal(decide(log, dayMs + quarterMs, 61, verify).granted, 60)
})

test('the verdict names the least that is left and the longest wait, in whole seconds rounded up', () => {
  const fill = { minuteCount: 60, minuteResetMs: 1, dayCount: 61, dayResetMs: 1_001, freeMs: 1_001 }
  const wide = { minuteCount: 599, minuteResetMs: 5_000, dayCount: 0, dayResetMs: 0, freeMs: 0 }
  const fills = [
    { name: 'narrow', factor: 1, fill },
    { name: 'wide', factor: 10, fill: wide },
  ]
  assert.deepEqual(verdictOf(false, verify, fills), {
    allowed: false,
    retryAfterSeconds: 2,
    minute: { limit: 60, remaining: 0, resetSeconds: 1 },
    day: { limit: 1_000, remaining: 939, resetSeconds: 2 },
    full: [{ name: 'narrow', freeMs: 1_001 }],
  })
  const wideOnly = fills.slice(1)
  assert.deepEqual(verdictOf(true, verify, wideOnly), {
    allowed: true,
    retryAfterSeconds: 0,
    minute: { limit: 60, remaining: 1, resetSeconds: 5 },
    day: { limit: 1_000, remaining: 1_000, resetSeconds: 0 },
    full: [],
  })
})
