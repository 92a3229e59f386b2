import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { uuidV7, uuidV7Floor } from './uuid-v7.ts'

test('an id has version 7, begins with its time, and is unique', () => {
  // The time of the example in RFC 9562, appendix A.6.
  const now = new Date('2022-02-22T19:22:22Z')
  const ids = Array.from({ length: 1_000 }, () => uuidV7(now))
  assert.equal(new Set(ids).size, 1_000)
  for (const id of ids)
    assert.match(id, /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('a later id sorts behind an earlier one', () => {
  const times = [0, 1, 255, 256, 1_779_000_000_000, 1_779_000_000_001]
  const ids = times.map((time) => uuidV7(new Date(time)))
  assert.deepEqual(ids, ids.toSorted())
})

test('the floor of a time separates earlier ids from the ids made then or later', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 48 - 2 }), (ms) => {
      const floor = uuidV7Floor(new Date(ms))
      assert.match(floor, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      assert.ok(uuidV7(new Date(ms - 1)) < floor)
      assert.ok(uuidV7(new Date(ms)) > floor)
    }),
  )
})
