import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeniedCache } from './denied-cache.ts'
import type { BucketFill } from './verdict.ts'

test('if a bucket and its wider one are both full, the later of the two times is given', () => {
  const fill = { minuteCount: 1, minuteResetMs: 5_000, dayCount: 1, dayResetMs: 40_000, freeMs: 0 }
  const own: BucketFill = { name: 'own', factor: 1, fill: { ...fill, freeMs: 5_000 } }
  const wide: BucketFill = { name: 'wide', factor: 10, fill: { ...fill, freeMs: 40_000 } }
  const denied = createDeniedCache(10)
  denied.remember([own, wide], 0)
  for (const now of [0, 5_000, 39_999])
    assert.equal(denied.find([own, wide], now)?.[0]?.fill.freeMs, 40_000 - now)
})

test('a bucket is full until it has room, and only by its own name', () => {
  const fill = { minuteCount: 1, minuteResetMs: 500, dayCount: 1, dayResetMs: 500, freeMs: 500 }
  const denied = createDeniedCache(10)
  denied.remember([{ name: 'own', factor: 1, fill }], 1_000)
  assert.equal(denied.isFull(['other', 'own'], 1_499), true)
  assert.equal(denied.isFull(['other'], 1_499), false)
  assert.equal(denied.isFull(['own'], 1_500), false)
})
