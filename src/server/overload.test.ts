import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sampleLoopDelay } from './overload.ts'

test('one long pause of the event loop is nobody’s load, a second one right after it is', async (t) => {
  const delay = sampleLoopDelay()
  t.after(() => delay.stop())
  await heldUp(300)
  assert.equal(delay.current(), 0)
  await heldUp(300)
  assert.ok(delay.current() >= 250, `${delay.current()} ms`)
})

/** Resolves right behind the sample that is late: a timer of its length comes after it. */
function heldUp(ms: number): Promise<void> {
  const sampled = pause(50)
  const until = performance.now() + 50 + ms
  while (performance.now() < until);
  return sampled
}
