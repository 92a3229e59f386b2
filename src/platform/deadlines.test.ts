import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deadlineMs, setTimeoutMultiplier, withDeadline } from './deadlines.ts'

const never = new Promise<never>(() => {})
const notLate = () => assert.fail('it was not late')

test('the multiplier applies to waits for the machine and its database, not to waits for others', () => {
  setTimeoutMultiplier(3)
  assert.deepEqual([deadlineMs('statement'), deadlineMs('egressExchange')], [6_000, 15_000])
  setTimeoutMultiplier(1)
  assert.deepEqual([deadlineMs('statement'), deadlineMs('egressExchange')], [2_000, 15_000])
})

test('a result in time is returned, and a failure in time is thrown', async () => {
  assert.equal(await withDeadline(Promise.resolve(7), 'databaseAnswer', notLate), 7)
  const error = new Error('no')
  await assert.rejects(
    withDeadline(Promise.reject(error), 'databaseAnswer', notLate),
    (thrown) => thrown === error,
  )
})

test('a late result is replaced by the result or the failure of `late`', async () => {
  setTimeoutMultiplier(0.01)
  assert.equal(await withDeadline(never, 'databaseAnswer', () => 'late'), 'late')
  const error = new Error('late')
  await assert.rejects(
    withDeadline(never, 'databaseAnswer', () => Promise.reject(error)),
    (thrown) => thrown === error,
  )
})

test('503: without `late`, a late result is refused with the name of the deadline', async () => {
  setTimeoutMultiplier(0.01)
  await assert.rejects(withDeadline(never, 'databaseAnswer'), {
    name: 'UnavailableError',
    message: /databaseAnswer: no answer within 4\.5 ms/,
  })
})
