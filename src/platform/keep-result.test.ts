import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepResult } from './keep-result.ts'

test('calls that collide share one work, and a later call gets its result without a promise', async () => {
  let count = 0
  const value = keepResult(async () => ({ count: ++count }))
  const both = await Promise.all([value(), value()])
  assert.deepEqual(both, [{ count: 1 }, { count: 1 }])
  assert.equal(value(), both[0])
})

test('a failure reaches every call that waits, and the next call works again', async () => {
  const made = [Promise.reject(new Error('no disk')), Promise.resolve({ is: 'made' })]
  const value = keepResult(() => made.shift() ?? assert.fail('a third call'))
  const calls = await Promise.allSettled([value(), value()])
  assert.deepEqual(
    calls.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.deepEqual(await value(), { is: 'made' })
})
