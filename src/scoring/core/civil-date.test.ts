import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dateOfDay, dayOfDate } from './civil-date.ts'

test('every seventh day of the years 0000 to 9999, and every day of 1896 to 2105, agrees with the calendar', () => {
  const check = (day: number) => {
    const date = dateOfDay(day)
    assert.equal(dayOfDate(date), day)
    assert.equal(date, new Date(day * 86_400_000).toISOString().slice(0, 10))
  }
  for (let day = -719_528; day <= 2_932_896; day += 7) check(day)
  for (let day = -27_000; day < 49_500; day++) check(day)
  check(2_932_896)
})

test('1970-01-01 is day 0, and the first and last days have their numbers', () => {
  assert.equal(dayOfDate('1970-01-01'), 0)
  assert.equal(dayOfDate('0000-01-01'), -719_528)
  assert.equal(dayOfDate('9999-12-31'), 2_932_896)
  assert.equal(dayOfDate('2026-05-14'), 20_587)
})

for (const text of [
  '2026-02-29',
  '1900-02-29',
  '2026-02-30',
  '2026-04-31',
  '2026-00-10',
  '0000-00-10',
  '2026-13-01',
  '9999-13-01',
  '2026-01-00',
  '0000-01-00',
  '2026-01-32',
  '2026-1-1',
  '2026-01-01T00:00:00Z',
  ' 2026-01-01',
  '2026-01-01\n',
  '-001-01-01',
  '',
])
  test(`${JSON.stringify(text)} is no date`, () => assert.equal(dayOfDate(text), null))

test('a day outside the years 0000 to 9999 and a fraction of a day have no date', () => {
  for (const day of [-719_529, 2_932_897, 0.5, Number.NaN])
    assert.throws(() => dateOfDay(day), RangeError)
})
