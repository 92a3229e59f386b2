import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentMap } from './recent-map.ts'

test('it never holds more than it may, and forgets what was set longest ago', () => {
  const map = new RecentMap<number>(2)
  for (const [i, key] of ['a', 'b', 'a', 'c'].entries()) map.set(key, i)
  assert.equal(map.size, 2)
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => map.get(key)),
    [2, undefined, 3],
  )
})
