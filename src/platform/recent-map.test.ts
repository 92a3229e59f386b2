import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentMap } from './recent-map.ts'

test('the map never exceeds its size and forgets the oldest value', () => {
  const map = new RecentMap<number>(2)
  for (const [i, key] of ['a', 'b', 'a', 'c'].entries()) map.set(key, i)
  assert.equal(map.size, 2)
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => map.get(key)),
    [2, undefined, 3],
  )
})

test('with sizes of values the map keeps as much as fits, and no value that is larger than the whole map', () => {
  const map = new RecentMap<string>(5, (value, key) => value.length + key.length - 1)
  const held = () => ['a', 'b', 'c'].filter((key) => map.get(key) !== undefined)
  map.set('a', '123')
  map.set('b', '45')
  assert.deepEqual([map.size, held()], [5, ['a', 'b']])
  map.set('a', '1')
  map.set('c', '67')
  assert.deepEqual([map.size, held()], [5, ['a', 'b', 'c']])
  map.set('c', '678')
  assert.deepEqual([map.size, held()], [4, ['a', 'c']])
  map.set('b', '123456')
  assert.deepEqual([map.size, held()], [0, []])
  map.set('a', '12345')
  map.delete('a')
  map.delete('a')
  assert.equal(map.size, 0)
  map.set('a', '12345')
  map.clear()
  assert.deepEqual([map.size, held()], [0, []])
})
