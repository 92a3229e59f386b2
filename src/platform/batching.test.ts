import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from '../../test/support/oracle/fc.ts'
import { batched } from './batching.ts'
import { setTimeoutMultiplier } from './deadlines.ts'
import { UnavailableError } from './errors.ts'

/** Makes batches that end when the test ends them, or by themselves once it has let go. */
function held() {
  let isHeld = true
  const batches: {
    items: readonly number[]
    end(results?: readonly number[]): void
    fail(error: Error): void
  }[] = []
  const run = (items: readonly number[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      const end = (results: readonly number[] = items.map((item) => item * 2)) => resolve(results)
      batches.push({ items, end, fail: reject })
      if (!isHeld) end()
    })
  const letGo = (): void => {
    isHeld = false
    for (const { end } of batches) end()
  }
  return { batches, run, letGo }
}

/**
 * Returns the answer, also if the first call misses its deadline: a machine that stands still for
 * that long makes the call fail.
 */
async function served(call: () => Promise<number>): Promise<number> {
  for (let attempt = 1; ; attempt++)
    try {
      return await call()
    } catch (error) {
      if (attempt === 100) throw error
    }
}

const manyTurns = async () => {
  for (let i = 0; i < 5; i++) await nextTurn()
}

test('a single call is a batch of its own and waits for no other', async () => {
  const { batches, run } = held()
  const result = batched({ name: 'double', run })(21)
  await nextTurn()
  assert.deepEqual(
    batches.map(({ items }) => items),
    [[21]],
  )
  batches[0]?.end()
  assert.equal(await result, 42)
})

test('calls of one turn go out together; calls that come meanwhile wait and form the next batch', async () => {
  const { batches, run } = held()
  const double = batched({ name: 'double', run })
  const first = Promise.all([double(1), double(2)])
  await manyTurns()
  const second = [double(3)]
  await manyTurns()
  second.push(double(4))
  await manyTurns()
  assert.deepEqual(
    batches.map(({ items }) => items),
    [[1, 2]],
  )
  batches[0]?.end()
  assert.deepEqual(await first, [2, 4])
  await manyTurns()
  assert.deepEqual(
    batches.map(({ items }) => items),
    [
      [1, 2],
      [3, 4],
    ],
  )
  batches[1]?.end()
  assert.deepEqual(await Promise.all(second), [6, 8])
})

test('on every schedule each call gets its own answer, in batches of at most batchMax, at most batchesMax at a time', async () => {
  const turns = fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 12 })
  const small = fc.integer({ min: 1, max: 5 })
  await fc.assert(
    fc.asyncProperty(turns, small, small, async (callsOfTurn, batchMax, batchesMax) => {
      let out = 0
      const seen: number[] = []
      const double = batched<number, number>({
        name: 'double',
        batchMax,
        ...(batchesMax > 1 && { batchesMax }),
        run: async (items) => {
          assert.ok(++out <= batchesMax)
          assert.ok(items.length >= 1 && items.length <= batchMax)
          seen.push(...items)
          for (let i = 0; i < (items[0] as number) % 3; i++) await nextTurn()
          out--
          return items.map((item) => item * 2)
        },
      })
      const results: Promise<number>[] = []
      for (const calls of callsOfTurn) {
        for (let i = 0; i < calls; i++) results.push(double(results.length))
        await nextTurn()
      }
      const expected = results.map((_, i) => i)
      assert.deepEqual(
        await Promise.all(results),
        expected.map((item) => item * 2),
      )
      assert.deepEqual(seen, expected)
    }),
  )
})

test('if two batches may be out, calls that arrive while one is out leave as the second, and later ones wait', async () => {
  const { batches, run } = held()
  const double = batched({ name: 'double', batchesMax: 2, run })
  const results: Promise<number>[] = []
  for (const item of [1, 2, 3]) {
    results.push(double(item))
    await manyTurns()
  }
  const sent = () => batches.map(({ items }) => items)
  assert.deepEqual(sent(), [[1], [2]])
  batches[1]?.end()
  await manyTurns()
  assert.deepEqual(sent(), [[1], [2], [3]])
  batches[2]?.end()
  batches[0]?.end()
  assert.deepEqual(await Promise.all(results), [2, 4, 6])
})

test('if two batches may be out, they share the calls of one turn', async () => {
  const { batches, run, letGo } = held()
  const double = batched({ name: 'double', run, batchesMax: 2 })
  const results = Promise.all([1, 2, 3, 4, 5].map(double))
  await manyTurns()
  assert.deepEqual(
    batches.map(({ items }) => items),
    [
      [1, 2, 3],
      [4, 5],
    ],
  )
  letGo()
  assert.deepEqual(await results, [2, 4, 6, 8, 10])
})

test('a failed batch fails its calls with the same error, and the next batch leaves', async () => {
  const { batches, run } = held()
  const double = batched({ name: 'double', run })
  const failing = [double(1), double(2)]
  await nextTurn()
  const next = double(3)
  const error = new Error('no')
  batches[0]?.fail(error)
  for (const call of failing) await assert.rejects(call, (thrown) => thrown === error)
  await manyTurns()
  batches[1]?.end()
  assert.equal(await next, 6)
})

test('a batch that throws at once, or loses a result, fails its calls', async () => {
  const throwing = batched<number, number>({
    name: 'double',
    run: () => {
      throw new Error('at once')
    },
  })
  await assert.rejects(throwing(1), /at once/)
  await assert.rejects(throwing(2), /at once/)
  const losing = batched<number, number>({
    name: 'double',
    run: (items) => Promise.resolve(items.slice(1)),
  })
  await assert.rejects(losing(1), /lost its results/)
})

test('503: one call more than may wait is refused at once, and those before it are answered', async () => {
  const { batches, run } = held()
  const double = batched({ name: 'double', run, waitingMax: 3, batchMax: 2 })
  const first = double(0)
  await nextTurn()
  const waiting = [double(1), double(2), double(3)]
  await assert.rejects(double(4), UnavailableError)
  for (let batch = 0; batch < 3; batch++) {
    await manyTurns()
    batches[batch]?.end()
  }
  assert.deepEqual(await Promise.all([first, ...waiting]), [0, 2, 4, 6])
})

test('503: a call without an answer is refused at its deadline, sent or waiting; later calls are served', async () => {
  setTimeoutMultiplier(0.05)
  const { run, letGo } = held()
  const double = batched({ name: 'double', run })
  const started = performance.now()
  const stuck = double(1)
  await nextTurn()
  const behind = double(2)
  await Promise.all([stuck, behind].map((call) => assert.rejects(call, UnavailableError)))
  assert.ok(performance.now() - started >= 40)
  letGo()
  assert.equal(await served(() => double(3)), 6)
})

test('the answer of a batch that comes after the deadline is dropped', async () => {
  setTimeoutMultiplier(0.01)
  const { batches, run, letGo } = held()
  const double = batched({ name: 'double', run })
  const late = double(1)
  await assert.rejects(late, UnavailableError)
  batches[0]?.end([7])
  await manyTurns()
  await assert.rejects(late, UnavailableError)
  letGo()
  assert.equal(await served(() => double(2)), 4)
})
