import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBell } from './bell.ts'

const long = 3_600_000

test('a ring ends the pause that is under way', async () => {
  const bell = createBell()
  const paused = bell.pause(long)
  bell.ring()
  await paused
})

test('a ring that nobody waited for ends the next pause, and only that', async () => {
  const bell = createBell()
  bell.ring()
  bell.ring()
  await bell.pause(long)
  const ending = new AbortController()
  const second = bell.pause(long, ending.signal).then(() => 'ended')
  assert.equal(await Promise.race([second, nextTurn('paused')]), 'paused')
  ending.abort()
  assert.equal(await second, 'ended')
})

test('a pause ends by itself, and with its signal', async () => {
  const bell = createBell()
  await bell.pause(1)
  await bell.pause(long, AbortSignal.abort())
})

test('a signal that outlives many pauses keeps nothing of them', async () => {
  const { signal } = new AbortController()
  const bell = createBell()
  for (let i = 0; i < 20; i++) {
    const paused = bell.pause(long, signal)
    bell.ring()
    await paused
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
