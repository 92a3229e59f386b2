import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orLate } from './deadline.ts'

const never = new Promise<never>(() => {})
const tooLate = () => assert.fail('it was not late')

test('a result in time is returned, and a failure is thrown', async () => {
  assert.equal(await orLate(Promise.resolve(7), 60_000, tooLate), 7)
  const error = new Error('no')
  await assert.rejects(orLate(Promise.reject(error), 60_000, tooLate), (thrown) => thrown === error)
})

test('a result that is late is replaced by the result or failure of `late`', async () => {
  assert.equal(await orLate(never, 1, () => 'late'), 'late')
  const error = new Error('late')
  await assert.rejects(
    orLate(never, 1, () => Promise.reject(error)),
    (thrown) => thrown === error,
  )
})
