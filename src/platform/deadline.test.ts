import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orLate } from './deadline.ts'

const never = new Promise<never>(() => {})
const tooLate = () => assert.fail('it was not late')

test('what comes in time is given, and what failed fails', async () => {
  assert.equal(await orLate(Promise.resolve(7), 60_000, tooLate), 7)
  const error = new Error('no')
  await assert.rejects(orLate(Promise.reject(error), 60_000, tooLate), (thrown) => thrown === error)
})

test('what does not is given up for what is said in its place, or fails', async () => {
  assert.equal(await orLate(never, 1, () => 'late'), 'late')
  const error = new Error('late')
  await assert.rejects(
    orLate(never, 1, () => Promise.reject(error)),
    (thrown) => thrown === error,
  )
})
