/** The rules of delivery as tables and properties. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import type { EgressAnswer } from '../../platform/egress/exchange.ts'
import type { EgressFailure } from '../../platform/egress/failures.ts'
import { failingAction } from '../endpoints/enable.ts'
import { outcomeOf, shown } from './outcome.ts'
import {
  nextAttemptAt,
  parseRetryWaits,
  retryAfterOf,
  retrySpan,
  retryWaitsSeconds,
} from './retry.ts'
import { startWithinMs, untilNothingStarts } from './send.ts'
import { dealSlots } from './slots.ts'

const now = new Date('2026-05-14T09:00:00Z')
const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

test('ten attempts over 75 hours and 35 minutes, each wait within 20 % of the schedule', () => {
  assert.equal(
    retryWaitsSeconds.reduce((sum, wait) => sum + wait, 0),
    (75 * 60 + 35) * 60 + 5,
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, chance) => {
        const next = nextAttemptAt({ attempt, failedAt: now, retryAfter: null, chance })
        const wait = ((next?.getTime() ?? 0) - now.getTime()) / 1_000
        const planned = retryWaitsSeconds[attempt - 1] as number
        assert.ok(wait >= planned * 0.8 - 0.001 && wait <= planned * 1.2 + 0.001, `${wait}`)
      },
    ),
  )
  assert.equal(nextAttemptAt({ attempt: 10, failedAt: now, retryAfter: null, chance: 0 }), null)
})

test('the words for the schedule follow it', () => {
  for (const [waits, words] of [
    [retryWaitsSeconds, '3 days'],
    [[86_400], '1 day'],
    [[5, 7_300], '2 hours'],
    [[60], '1 minute'],
    [[1, 1], '2 seconds'],
  ] as const)
    assert.equal(retrySpan(waits), words)
})

test('chance moves a wait by up to 20 % in either direction', () => {
  for (const [chance, seconds] of [
    [0, 240],
    [0.5, 300],
    [1, 360],
  ] as const)
    assert.deepEqual(
      nextAttemptAt({ attempt: 2, failedAt: now, retryAfter: null, chance }),
      at(seconds),
    )
})

test('a receiver may ask for a later attempt, never for an earlier one', () => {
  const next = (retryAfter: Date) =>
    nextAttemptAt({ attempt: 2, failedAt: now, retryAfter, chance: 0.5 })
  assert.deepEqual(next(at(10)), at(300))
  assert.deepEqual(next(at(900)), at(900))
})

for (const [header, expected] of [
  ['120', at(120)],
  [' 120 ', at(120)],
  ['0', null],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['999999999', at(86_400)],
  ['Thu, 14 May 2026 09:02:00 GMT', at(120)],
  ['Thursday, 14-May-26 09:02:00 GMT', at(120)],
  ['Thu, 14 May 2026 08:00:00 GMT', null],
  ['Fri, 14 May 2027 09:00:00 GMT', at(86_400)],
  ['2026-05-14T09:02:00Z', null],
  ['', null],
  [undefined, null],
] as const) {
  test(`Retry-After: ${header}`, () => assert.deepEqual(retryAfterOf(header, now), expected))
}

test('a schedule of the operator is parsed strictly', () => {
  assert.deepEqual(parseRetryWaits('1, 2,3'), [1, 2, 3])
  assert.deepEqual(parseRetryWaits('9999999'), [9_999_999])
  assert.equal(parseRetryWaits(Array(20).fill('1').join(',')).length, 20)
  for (const wrong of ['', '1,', 'a', '1.5', '-1', '1'.repeat(8), Array(21).fill('1').join(',')])
    assert.throws(() => parseRetryWaits(wrong), /whole seconds/, wrong)
})

function answered(status: number, headers = {}, body = ''): EgressAnswer {
  return { status, headers, body: Buffer.from(body), isCut: false }
}

for (const [status, succeeded, errorCode, isStrained] of [
  [199, false, 'http_status', false],
  [200, true, null, false],
  [204, true, null, false],
  [299, true, null, false],
  [300, false, 'redirect', false],
  [308, false, 'redirect', false],
  [400, false, 'http_status', false],
  [404, false, 'http_status', false],
  [410, false, 'http_status', false],
  [408, false, 'http_status', true],
  [429, false, 'http_status', true],
  [500, false, 'http_status', true],
  [503, false, 'http_status', true],
] as const) {
  test(`${status}: ${succeeded ? 'success' : errorCode}`, () => {
    const outcome = outcomeOf(answered(status), now)
    assert.deepEqual(
      [outcome.succeeded, outcome.errorCode, outcome.isStrained, outcome.isGone],
      [succeeded, errorCode, isStrained, status === 410],
    )
  })
}

test('no answer is a sign of strain, unless the address is blocked', () => {
  const strains = (failure: EgressFailure) =>
    outcomeOf({ failure, error: new Error(failure) }, now).isStrained
  assert.deepEqual([strains('timeout'), strains('blocked_address')], [true, false])
})

test('Retry-After counts only with 429 and 503', () => {
  const headers = { 'retry-after': '60' }
  for (const status of [429, 503])
    assert.deepEqual(outcomeOf(answered(status, headers), now).retryAfter, at(60))
  for (const status of [200, 301, 404, 500])
    assert.equal(outcomeOf(answered(status, headers), now).retryAfter, null)
})

test('at most 2 KiB of an answer are kept, as text without control characters or characters that reorder it', () => {
  assert.equal(
    shown(Buffer.from('fine\r\n\u001b[31m\u0000')),
    'fine\\u000d\\u000a\\u001b[31m\\u0000',
  )
  assert.equal(shown(Buffer.from('\u202egnp.\u2066שלום')), '\\u202egnp.\\u2066שלום')
  assert.equal(shown(Buffer.alloc(2_048)).length, 2_048, 'escapes count')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (bytes) => {
      const text = shown(bytes)
      assert.ok(text.length <= 2_048)
      assert.doesNotMatch(text, /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})

const endpoints = fc.array(
  fc.record({
    endpointId: fc.uuid(),
    room: fc.integer({ min: 0, max: 16 }),
    isFailing: fc.boolean(),
    hasRate: fc.boolean(),
  }),
  { maxLength: 40 },
)
const total = fc.integer({ min: 0, max: 300 })

test('slots: no room and no limit is exceeded, none is left idle, and turns are fair', () => {
  fc.assert(
    fc.property(endpoints, total, total, (due, slots, failingSlots) => {
      const grants = dealSlots(due, { slots, failingSlots })
      const granted = due.map(
        ({ endpointId }) => grants.find((one) => one.endpointId === endpointId)?.count ?? 0,
      )
      const sum = granted.reduce((a, b) => a + b, 0)
      const failing = due.reduce((a, one, i) => a + (one.isFailing ? (granted[i] as number) : 0), 0)
      assert.ok(sum <= slots && failing <= failingSlots)
      for (const [i, one] of due.entries()) {
        const own = granted[i] as number
        assert.ok(own <= one.room)
        if (one.isFailing || own === one.room) continue
        assert.equal(sum, slots, 'a healthy endpoint with room is left out while slots are free')
        for (const [j, other] of due.entries())
          if (!other.isFailing) assert.ok((granted[j] as number) <= own + 1, 'one is preferred')
      }
    }),
    { numRuns: 500 },
  )
})

const hour = 3_600
const failing = {
  failingSince: now,
  lastFailureAt: at(119 * hour),
  consecutiveFailures: 20,
  eventCount: 3,
  warnedHours: 72,
}
for (const [name, changes, hours, expected] of [
  ['five days, twenty failures, three events: disabled', {}, 120, 'disable'],
  ['a second before five days: not yet', {}, 120 - 1 / 3_600, 'none'],
  ['nineteen failures: not yet', { consecutiveFailures: 19 }, 120, 'none'],
  ['two events: not yet', { eventCount: 2 }, 120, 'none'],
  [
    'failures within less than 12 hours: not yet',
    { lastFailureAt: at(12 * hour - 1) },
    120,
    'none',
  ],
  ['a day: the operator is told', { warnedHours: 0 }, 24, 'warn'],
  ['a day, and told already: nothing', { warnedHours: 24 }, 71, 'none'],
  ['three days: told again', { warnedHours: 24 }, 72, 'warn'],
  ['less than a day: nothing', { warnedHours: 0 }, 23.9, 'none'],
] as const) {
  test(`a failing endpoint: ${name}`, () =>
    assert.equal(failingAction({ ...failing, ...changes }, at(hours * hour)).action, expected))
}

test('disabling an endpoint answers once no lease may begin; long afterwards at once', async () => {
  const began = performance.now()
  await untilNothingStarts(now, at(60))
  assert.ok(performance.now() - began >= startWithinMs, 'a lease of the last moment may begin')
  const first = await Promise.race([
    untilNothingStarts(now, at(61)).then(() => 'at once'),
    new Promise((resolve) => setImmediate(resolve, 'later')),
  ])
  assert.equal(first, 'at once')
})
