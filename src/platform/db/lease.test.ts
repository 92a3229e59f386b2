import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import {
  type Beats,
  elapsedMs,
  hideWaitMs,
  leaseMs,
  type Moment,
  mayRead,
  openBeats,
  readerAgeMaxMs,
} from './lease.ts'

const readers = [0, 1]
const replicas = [0, 1]

type Step =
  /** Time passes. */
  | { do: 'wait'; ms: number }
  /** A reader sends a beat, which enters the log; its row is not visible yet. */
  | { do: 'send'; reader: number }
  /** The row becomes visible, and the reader is told so. */
  | { do: 'commit'; reader: number }
  | { do: 'apply'; replica: number; entries: number }
  /** The replica starts again with an older state, and its connections are lost. */
  | { do: 'restart'; replica: number; entries: number }
  | { do: 'ask' | 'read'; reader: number; replica: number }
  /** Something is hidden. Its process looks for readers after a while. */
  | { do: 'hide'; lookAfterMs: number }
  /** The reader's machine is suspended, or its wall clock is set back. */
  | { do: 'clock'; reader: number; ms: number }

const reader = fc.constantFrom(...readers)
const replica = fc.constantFrom(...replicas)
const waitMs = fc.constantFrom(0, 10, 250, leaseMs - 60, leaseMs - 10, leaseMs + 10, 62_000)
const entries = fc.constantFrom(1, 1, 2, 9)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('wait' as const), ms: waitMs }),
  fc.record({ do: fc.constantFrom('send' as const, 'commit' as const), reader }),
  fc.record({
    do: fc.constant('apply' as const),
    replica,
    entries: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ do: fc.constantFrom('ask' as const, 'read' as const), reader, replica }),
  fc.record({ do: fc.constantFrom('ask' as const, 'read' as const), reader, replica }),
  fc.record({ do: fc.constant('hide' as const), lookAfterMs: fc.constantFrom(0, 0, 40, 900) }),
  fc.record({ do: fc.constant('restart' as const), replica, entries }),
  fc.record({ do: fc.constant('clock' as const), reader, ms: fc.nat(5_000) }),
)

/** A beat in its usual order, in which something may be hidden at any point. */
const usualBeat = fc
  .record({ reader, replica, entries, ms: fc.constantFrom(0, 0, 5, 200), hidesAt: fc.nat(9) })
  .map(({ reader, replica, entries, ms, hidesAt }): Step[] => {
    const beat: Step[] = [
      { do: 'send', reader },
      { do: 'wait', ms },
      { do: 'commit', reader },
      { do: 'apply', replica, entries },
      { do: 'ask', reader, replica },
      { do: 'read', reader, replica },
    ]
    const hide: Step[] = hidesAt > beat.length ? [] : [{ do: 'hide', lookAfterMs: 0 }]
    return beat.toSpliced(hidesAt, 0, ...hide)
  })
const single = step.map((one) => [one])
const steps = fc
  .array(fc.oneof(usualBeat, usualBeat, single, single), { maxLength: 80, size: 'large' })
  .map((some) => some.flat())

interface Hidden {
  /** Place in the log of the primary. */
  place: number
  lookAt: number
  answeredAt: number | null
}

interface Reader {
  beats: Beats
  /** Place in the log, number and time of the beat without an answer. */
  underWay: { place: number; beat: number; at: number } | null
  /** When the visible row was written. */
  rowAt: number | null
  committed: { place: number; beat: number }[]
  shown: (Moment | null)[]
  clock: { monotonicMs: number; wallMs: number }
}

/** Runs the steps. Returns the number of reads at replicas, and throws if one shows too much. */
function run(steps: readonly Step[], suspends: boolean): number {
  let now = 0
  let log = 0
  let reads = 0
  const hidden: Hidden[] = []
  const applied = replicas.map(() => 0)
  const all = readers.map(
    (): Reader => ({
      beats: openBeats(),
      underWay: null,
      rowAt: null,
      committed: [],
      shown: replicas.map(() => null),
      clock: { monotonicMs: 0, wallMs: 0 },
    }),
  )
  const momentOf = ({ clock }: Reader): Moment => ({
    monotonicMs: now + clock.monotonicMs,
    wallMs: now + clock.wallMs,
  })
  const look = (): void => {
    for (const one of hidden) {
      if (one.answeredAt !== null || one.lookAt > now) continue
      const isRead = all.some(({ rowAt }) => rowAt !== null && rowAt > one.lookAt - readerAgeMaxMs)
      one.answeredAt = one.lookAt + (isRead ? hideWaitMs : 0)
    }
  }
  for (const each of steps) {
    if (each.do === 'wait') now += each.ms
    look()
    if (each.do === 'hide')
      hidden.push({ place: ++log, lookAt: now + each.lookAfterMs, answeredAt: null })
    if (each.do === 'apply')
      applied[each.replica] = Math.min(log, (applied[each.replica] ?? 0) + each.entries)
    if (each.do === 'restart') {
      applied[each.replica] = Math.max(0, (applied[each.replica] ?? 0) - each.entries)
      for (const { shown } of all) shown[each.replica] = null
    }
    look()
    if (!('reader' in each)) continue
    const one = all[each.reader] as Reader
    if (each.do === 'clock') {
      if (suspends) one.clock.monotonicMs -= each.ms
      else one.clock.wallMs -= each.ms
      if (suspends) now += each.ms
    }
    if (each.do === 'send' && one.underWay === null)
      one.underWay = { place: ++log, beat: one.beats.send(momentOf(one)), at: now }
    if (each.do === 'commit' && one.underWay !== null) {
      const { place, beat, at } = one.underWay
      one.beats.committed(beat, one.rowAt === null, momentOf(one))
      one.rowAt = at
      one.committed.push({ place, beat })
      one.underWay = null
    }
    if (each.do !== 'ask' && each.do !== 'read') continue
    const place = applied[each.replica] ?? 0
    if (each.do === 'ask') {
      // A replica also shows a beat whose answer is still under way.
      const beats = one.underWay === null ? one.committed : [...one.committed, one.underWay]
      const beat = beats.findLast((known) => known.place <= place)?.beat
      one.shown[each.replica] = beat === undefined ? null : one.beats.completeAt(beat)
    } else if (mayRead(one.shown[each.replica] ?? null, momentOf(one))) {
      reads++
      const tooMuch = hidden.filter(
        (each) => each.place > place && each.answeredAt !== null && each.answeredAt < now,
      )
      assert.deepEqual(tooMuch, [])
    }
  }
  return reads
}

test('no read at a replica shows what was hidden before it began, in any order of beats, delays, restarts and clocks', () => {
  let reads = 0
  fc.assert(
    fc.property(steps, fc.boolean(), (each, suspends) => {
      reads += run(each, suspends)
    }),
    { numRuns: 3_000 },
  )
  assert.ok(reads > 1_000, `only ${reads} reads at a replica`)
})

test('a replica that follows is read without a pause', () => {
  const beats: Step[] = Array.from({ length: 40 }, () => [
    { do: 'send' as const, reader: 0 },
    { do: 'wait' as const, ms: 20 },
    { do: 'commit' as const, reader: 0 },
    { do: 'apply' as const, replica: 0, entries: 1 },
    { do: 'ask' as const, reader: 0, replica: 0 },
    { do: 'read' as const, reader: 0, replica: 0 },
    { do: 'wait' as const, ms: 250 },
  ]).flat()
  // The first beat gives no lease: a change before it may not know this reader.
  assert.equal(run(beats, false), 39)
})

test('time is measured by the clock that counted more', () => {
  const from = { monotonicMs: 10, wallMs: 1_000 }
  assert.equal(elapsedMs(from, { monotonicMs: 15, wallMs: 1_400 }), 400)
  assert.equal(elapsedMs(from, { monotonicMs: 310, wallMs: 500 }), 300)
})

test('a beat whose row was not there gives no lease: a failover may have lost what followed', () => {
  const beats = openBeats()
  const at = (ms: number): Moment => ({ monotonicMs: ms, wallMs: ms })
  for (const isNew of [true, false, true]) beats.committed(beats.send(at(0)), isNew, at(1))
  assert.equal(beats.completeAt(3), null)
  beats.committed(beats.send(at(250)), false, at(251))
  assert.deepEqual(beats.completeAt(4), at(250))
})
