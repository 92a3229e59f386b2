import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdictOf } from './verdict.ts'

const verify = { perMinute: 60, perDay: 1_000 }

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
  })
  const wideOnly = fills.slice(1)
  assert.deepEqual(verdictOf(true, verify, wideOnly), {
    allowed: true,
    retryAfterSeconds: 0,
    minute: { limit: 60, remaining: 1, resetSeconds: 5 },
    day: { limit: 1_000, remaining: 1_000, resetSeconds: 0 },
  })
})

test('a reset is at most its window away, and the wait may be longer: RateLimit agrees with its policy', () => {
  const fill = {
    minuteCount: 60,
    minuteResetMs: 60_400,
    dayCount: 1_000,
    dayResetMs: 87_300_000,
    freeMs: 87_300_000,
  }
  const { minute, day, retryAfterSeconds } = verdictOf(false, verify, [
    { name: 'narrow', factor: 1, fill },
  ])
  assert.deepEqual([minute.resetSeconds, day.resetSeconds], [60, 86_400])
  assert.equal(retryAfterSeconds, 87_300)
})
