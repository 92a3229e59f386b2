import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rememberRefusals } from './denied-cache.ts'
import { type BucketFill, emptyLog, fillOf } from './window.ts'

test('if a bucket and its wider one are both full, the later of the two times is given', () => {
  const fill = fillOf(emptyLog, 0, { perMinute: 1, perDay: 1 })
  const own: BucketFill = { name: 'own', factor: 1, fill: { ...fill, freeMs: 5_000 } }
  const wide: BucketFill = { name: 'wide', factor: 10, fill: { ...fill, freeMs: 40_000 } }
  const refusals = rememberRefusals(10)
  refusals.remember([own, wide], 0)
  for (const now of [0, 5_000, 39_999])
    assert.equal(refusals.find([own, wide], now)?.[0]?.fill.freeMs, 40_000 - now)
})
