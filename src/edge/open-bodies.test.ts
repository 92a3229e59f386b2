import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { type BodyLimits, trackBodies } from './open-bodies.ts'

const limits: BodyLimits = {
  openBodiesMax: 4,
  openBodiesPerNetworkMax: 2,
  bodyBytesMax: 1_000_000,
  bodyBytesPerNetworkMax: 600_000,
  bodyGraceMs: 3_000,
  bodyRateMin: 1_000,
}

function bodiesAt() {
  const clock = { now: 0 }
  const bodies = trackBodies(limits, () => clock.now)
  const cuts: string[] = []
  const open = (name: string, network = name) =>
    bodies.open(network, ({ refusal }) => void cuts.push(`${name} ${refusal}`))
  return { bodies, clock, cuts, open }
}

test('beyond the limit of one network its slowest unfinished body is cut', () => {
  const { clock, cuts, open } = bodiesAt()
  open('slow', 'n').grow(1)
  const fast = open('fast', 'n')
  fast.grow(1)
  clock.now = 1_000
  fast.grow(100_000)
  assert.deepEqual(cuts, [])
  open('new', 'n')
  assert.deepEqual(cuts, ['slow overloaded'])
})

test('beyond the limit of all networks the slowest unfinished body is cut', () => {
  const { bodies, clock, cuts, open } = bodiesAt()
  open('a')
  clock.now = 10
  for (const name of ['b', 'c', 'd', 'e']) open(name)
  assert.deepEqual(cuts, ['a overloaded'])
  assert.equal(bodies.count(), 4)
})

test('a complete body does not count as unfinished, but its bytes count until it is released', () => {
  const { bodies, cuts, open } = bodiesAt()
  const whole = open('whole', 'n')
  whole.grow(500_000)
  whole.finish()
  open('a', 'n')
  const large = open('large', 'n')
  assert.deepEqual(cuts, [])
  large.grow(100_000)
  assert.deepEqual(cuts, [])
  large.grow(1)
  assert.equal(cuts.length, 1, '600,001 bytes of one network')
  whole.release()
  whole.release()
  assert.equal(bodies.bytes() < 100_002, true)
})

test('a body below the minimum rate is cut after its grace period; one at that rate is not', () => {
  const { bodies, clock, cuts, open } = bodiesAt()
  const enough = open('enough')
  const tooSlow = open('too slow')
  enough.grow(2_000)
  tooSlow.grow(1_999)
  clock.now = 5_000
  bodies.cutSlow()
  assert.deepEqual(cuts, ['too slow request_timeout'])
  clock.now = 5_001
  bodies.cutSlow()
  assert.equal(cuts.length, 2)
  assert.equal(bodies.count(), 0)
  assert.equal(bodies.bytes(), 0)
})

test('in any sequence the limits hold, and a released body is no longer counted', () => {
  const step = fc.record({
    kind: fc.constantFrom('open', 'grow', 'finish', 'release', 'wait'),
    which: fc.nat(20),
    amount: fc.nat(400_000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { bodies, clock, open } = bodiesAt()
      const all: ReturnType<typeof open>[] = []
      for (const { kind, which, amount } of steps) {
        const body = all[which % Math.max(1, all.length)]
        if (kind === 'open') all.push(open(`n${which % 3}`))
        if (kind === 'grow') body?.grow(amount)
        if (kind === 'finish') body?.finish()
        if (kind === 'release') body?.release()
        if (kind === 'wait') clock.now += amount / 100
        assert.ok(bodies.count() <= limits.openBodiesMax)
        // Only unfinished bodies grow in the server. A body that grows past the limit is cut itself
        // if no other is.
        assert.ok(
          bodies.count() === 0 || bodies.bytes() <= limits.bodyBytesMax || kind === 'finish',
        )
      }
      for (const body of all) body.release()
      assert.equal(bodies.count(), 0)
      assert.equal(bodies.bytes(), 0)
    }),
  )
})
