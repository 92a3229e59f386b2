import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createWakeUp } from './wake-up.ts'

const long = 3_600_000

test('a notification ends the wait that is under way', async () => {
  const wakeUp = createWakeUp()
  const paused = wakeUp.wait(long)
  wakeUp.notify()
  await paused
})

test('a notification without a wait ends the next wait, and only that one', async () => {
  const wakeUp = createWakeUp()
  wakeUp.notify()
  wakeUp.notify()
  await wakeUp.wait(long)
  const ending = new AbortController()
  const second = wakeUp.wait(long, ending.signal).then(() => 'ended')
  assert.equal(await Promise.race([second, nextTurn('paused')]), 'paused')
  ending.abort()
  assert.equal(await second, 'ended')
})

test('a wait ends by itself and on its signal', async () => {
  const wakeUp = createWakeUp()
  await wakeUp.wait(1)
  await wakeUp.wait(long, AbortSignal.abort())
})

test('a signal that outlives many waits keeps no listener of them', async () => {
  const { signal } = new AbortController()
  const wakeUp = createWakeUp()
  for (let i = 0; i < 20; i++) {
    const paused = wakeUp.wait(long, signal)
    wakeUp.notify()
    await paused
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
