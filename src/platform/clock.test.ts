import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { systemClock, wireTime } from './clock.ts'

test('a time on the wire is UTC, in whole seconds, rounded down', () => {
  assert.equal(wireTime(new Date('2026-05-14T11:00:00.999+02:00')), '2026-05-14T09:00:00Z')
  const years = { min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }
  fc.assert(
    fc.property(fc.date(years), (time) => {
      const text = wireTime(time)
      assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.equal(Date.parse(text), Math.floor(time.getTime() / 1_000) * 1_000)
    }),
  )
})

test('the system clock tells the time of now, a new date each time', () => {
  const before = Date.now()
  const time = systemClock()
  assert.ok(time.getTime() >= before && time.getTime() <= Date.now())
  assert.notEqual(systemClock(), time)
})
