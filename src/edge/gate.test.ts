import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import {
  append,
  createGate,
  createLink,
  first,
  type GateLimits,
  type Link,
  type Place,
  retryAfterSeconds,
  unlink,
} from './gate.ts'

/** Builds a gate on a clock that the test moves. Each start takes `costMs` of it. */
function gateAt(limits: Omit<GateLimits, 'turnAloneMs'>, costMs = 0) {
  let now = 0
  let isAlone = false
  let turns: (() => void)[] = []
  let timers: { at: number; work: () => void }[] = []
  const gate = createGate({ ...limits, turnAloneMs: 10 }, () => isAlone, {
    now: () => now,
    nextTurn: (work) => void turns.push(work),
    after: (ms, work) => void timers.push({ at: now + ms, work }),
  })
  const runTurn = (): void => {
    const due = turns
    turns = []
    for (const work of due) work()
  }
  /** Moves the clock from timer to timer. */
  const wait = (ms: number): void => {
    const until = now + ms
    for (;;) {
      const due = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      timers = timers.filter((timer) => timer !== due)
      now = Math.max(now, due.at)
      due.work()
    }
    now = until
  }
  const others = (areIdle: boolean) => void (isAlone = areIdle)
  return { gate, runTurn, wait, others, spend: () => void (now += costMs), now: () => now }
}

interface Request {
  lane: string
  enteredAt: number
  place: Place
  fate: 'waiting' | 'active' | 'refused' | 'left'
}

function enter({ gate, spend, now }: ReturnType<typeof gateAt>, lane: string, log: Request[] = []) {
  const request = { lane, enteredAt: now(), fate: 'waiting' } as Request
  const once = (fate: Request['fate']) => (): void => {
    assert.equal(request.fate, 'waiting', `${fate} comes once, and never after the caller left`)
    request.fate = fate
    log.push(request)
    if (fate === 'active') spend()
  }
  const start = (slot: Place): void => {
    request.place = slot
    once('active')()
  }
  request.place = gate.enter(lane, { start, refuse: once('refused') }) ?? request.place
  return request
}

function leave(request: Request): void {
  request.place.leave()
  request.fate = 'left'
}

test('a request starts at once while slots are free and nothing waits', () => {
  const at = gateAt({ slots: 2, turnMs: 5, waitMs: 100 })
  const [a, b, c] = ['x', 'y', 'z'].map((lane) => enter(at, lane)) as [Request, Request, Request]
  assert.deepEqual([a.fate, b.fate, c.fate], ['active', 'active', 'waiting'])
  leave(a)
  assert.equal(c.fate, 'waiting', 'until the next turn')
  at.runTurn()
  assert.equal(c.fate, 'active')
  assert.equal(at.gate.active(), 2)
})

test('a second leave frees no second slot', () => {
  const at = gateAt({ slots: 1, turnMs: 5, waitMs: 100 })
  const first = enter(at, 'x')
  leave(first)
  leave(first)
  enter(at, 'x')
  assert.equal(enter(at, 'x').fate, 'waiting')
  assert.equal(at.gate.active(), 1)
})

test('one turn starts requests until its milliseconds are used up; the next turn continues', () => {
  const at = gateAt({ slots: 100, turnMs: 5, waitMs: 1_000 }, 2)
  const all = Array.from({ length: 7 }, () => enter(at, 'x'))
  const started = () => all.filter(({ fate }) => fate === 'active').length
  assert.equal(started(), 3, '0, 2 and 4 ms were used before each')
  at.runTurn()
  assert.equal(started(), 6)
  at.runTurn()
  assert.equal(started(), 7)
})

test('a turn is longer while the other gates are idle', () => {
  const at = gateAt({ slots: 100, turnMs: 5, waitMs: 1_000 }, 2)
  at.others(true)
  const all = Array.from({ length: 20 }, () => enter(at, 'x'))
  const started = () => all.filter(({ fate }) => fate === 'active').length
  assert.equal(started(), 5)
  at.others(false)
  at.runTurn()
  assert.equal(started(), 8)
})

test('a request is rejected when its wait is over, and not a millisecond before', () => {
  const at = gateAt({ slots: 1, turnMs: 5, waitMs: 1_000 })
  enter(at, 'x')
  const waits = enter(at, 'x')
  at.wait(999)
  assert.equal(waits.fate, 'waiting')
  at.wait(1)
  assert.equal(waits.fate, 'refused')
  const next = enter(at, 'x')
  at.wait(1_000)
  assert.equal(next.fate, 'refused', 'the deadlines of later requests are looked at as well')
})

test('a caller that has left is neither started nor rejected', () => {
  const at = gateAt({ slots: 1, turnMs: 5, waitMs: 1_000 })
  const first = enter(at, 'x')
  const gone = enter(at, 'x')
  const last = enter(at, 'x')
  leave(gone)
  leave(first)
  at.runTurn()
  assert.equal(last.fate, 'active')
  at.wait(5_000)
  assert.equal(gone.fate, 'left')
  assert.equal(at.gate.waiting(), 0)
})

test('lanes are served in turn: a flood in one lane delays another lane by one start', () => {
  const at = gateAt({ slots: 1, turnMs: 5, waitMs: 1_000_000 })
  const log: Request[] = []
  for (let i = 0; i < 1_000; i++) enter(at, 'flood', log)
  enter(at, 'light', log)
  enter(at, 'light', log)
  const starts: string[] = []
  for (let i = 0; i < 6; i++) {
    const active = log.at(-1) as Request
    starts.push(active.lane)
    leave(active)
    at.runTurn()
  }
  assert.deepEqual(starts, ['flood', 'flood', 'light', 'flood', 'light', 'flood'])
})

type Move =
  | { kind: 'enter'; lane: string }
  | { kind: 'leave'; which: number }
  | { kind: 'turn' }
  | { kind: 'wait'; ms: number }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('enter' as const),
      lane: fc.constantFrom('a', 'b', 'c'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'turn' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(80) }) },
)

test('in any sequence each request has one outcome, slots are respected, and each lane is served by age', () => {
  const limits = { slots: 3, turnMs: 5, waitMs: 100 }
  const lateMs = 25
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200 }), fc.nat(3), (moves, costMs) => {
      const at = gateAt(limits, costMs)
      const all: Request[] = []
      const log: Request[] = []
      for (const one of moves) {
        if (one.kind === 'enter') all.push(enter(at, one.lane, log))
        if (one.kind === 'turn') at.runTurn()
        if (one.kind === 'wait') at.wait(one.ms)
        if (one.kind === 'leave') {
          const open = all.filter(({ fate }) => fate === 'active' || fate === 'waiting')
          const chosen = open[one.which % Math.max(1, open.length)]
          if (chosen !== undefined) leave(chosen)
        }
        const having = (fate: Request['fate']) => all.filter((request) => request.fate === fate)
        assert.equal(at.gate.active(), having('active').length)
        assert.equal(at.gate.waiting(), having('waiting').length)
        assert.ok(at.gate.active() <= limits.slots)
        for (const { enteredAt } of having('waiting'))
          assert.ok(at.now() - enteredAt <= limits.waitMs + lateMs + costMs * all.length)
      }
      assertFifoLanes(all, log)
      // Every request that still waits is started or rejected in the end.
      at.wait(limits.waitMs + lateMs)
      assert.equal(at.gate.waiting(), 0)
    }),
    { numRuns: 300 },
  )
})

function assertFifoLanes(all: readonly Request[], log: readonly Request[]): void {
  const started = log.filter((request) => request.fate !== 'refused')
  for (const lane of ['a', 'b', 'c']) {
    const order = started.filter((request) => request.lane === lane).map((one) => all.indexOf(one))
    assert.deepEqual(
      order,
      order.toSorted((x, y) => x - y),
    )
  }
}

test('each other lane passes a lane at most once for each of its own requests', () => {
  const lanes = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(lanes, (arrivals) => {
      const at = gateAt({ slots: 1, turnMs: 5, waitMs: 1_000_000 })
      const log: Request[] = []
      enter(at, 'first', log)
      for (const lane of arrivals) enter(at, lane, log)
      while (at.gate.active() > 0) {
        leave(log.at(-1) as Request)
        at.runTurn()
      }
      const starts = log.slice(1).map(({ lane }) => lane)
      assert.equal(starts.length, arrivals.length)
      for (const [i, lane] of starts.entries()) {
        const mine = starts.slice(0, i).filter((other) => other === lane).length
        for (const other of ['a', 'b', 'c', 'd']) {
          const theirs = starts.slice(0, i).filter((one) => one === other).length
          assert.ok(theirs <= mine + 1, `${other} before ${lane} in ${starts.join('')}`)
        }
      }
    }),
  )
})

test('a lane that is always busy does not starve behind lanes that are always new', () => {
  const at = gateAt({ slots: 1, turnMs: 5, waitMs: 1_000_000 })
  const log: Request[] = []
  enter(at, 'busy', log)
  const second = [enter(at, 'busy', log), enter(at, 'busy', log)]
  for (let i = 0; i < 20; i++) {
    enter(at, `new ${i}`, log)
    enter(at, `new ${i} as well`, log)
    leave(log.at(-1) as Request)
    at.runTurn()
  }
  assert.ok(second.every(({ fate }) => fate !== 'waiting'))
})

test('a queue returns its items in the order in which they were appended, also if some leave', () => {
  const step = fc.record({ item: fc.nat(5), leaves: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ring = createLink<number>()
      const links = Array.from({ length: 6 }, (_, item): Link<number> => {
        const link = createLink<number>()
        link.item = item
        return link
      })
      let model: number[] = []
      for (const { item, leaves } of steps) {
        const link = links[item] as Link<number>
        model = model.filter((one) => one !== item)
        if (!leaves) model.push(item)
        if (leaves) unlink(link)
        else append(ring, link)
        assert.equal(first(ring), model[0] ?? null)
      }
      const rest: (number | null)[] = []
      for (let link = ring.after; link !== ring; link = link.after) rest.push(link.item)
      assert.deepEqual(rest, model)
    }),
  )
})

test('Retry-After of a rejection is 1 to 3 seconds', () => {
  assert.deepEqual([0, 0.4, 0.999].map(retryAfterSeconds), [1, 2, 3])
})
