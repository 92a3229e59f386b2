import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type BatchSteps, runBatches } from './batch-pipeline.ts'

interface Batch {
  name: string
  /** Null: the batch may change anything. */
  keys: string[] | null
}

/** Runs batches that end when the test ends them, and lists the events in order. */
function startPipeline(batches: readonly Batch[], sourceFails = false) {
  const happened: string[] = []
  const work = new Map(batches.map(({ name }) => [name, Promise.withResolvers<string>()]))
  const of = (name: string) => work.get(name) ?? assert.fail(name)
  async function* source(): AsyncGenerator<Batch> {
    yield* batches
    if (sourceFails) throw new Error('the source failed')
  }
  const stopping = new AbortController()
  const steps: BatchSteps<Batch, string> = {
    keysOf: ({ keys }) => keys && new Set(keys),
    apply: ({ name }) => {
      happened.push(`begun ${name}`)
      return of(name).promise
    },
    report: async ({ name }, answer) => void happened.push(`reported ${name} ${answer}`),
  }
  const ended = runBatches(source(), steps, stopping.signal)
  const settled = ended.then(
    () => 'well',
    (error: Error) => error.message,
  )
  /** Returns the events since its last call, once no further one can follow by itself. */
  const since = async (): Promise<string[]> => {
    for (let i = 0; i < 20; i++) await turn()
    return happened.splice(0)
  }
  return {
    since,
    settled,
    stop: () => stopping.abort(),
    end: (name: string) => of(name).resolve('done'),
    fail: (name: string) => of(name).reject(new Error(`${name} failed`)),
  }
}

const apart = ['a', 'b', 'c'].map((name) => ({ name, keys: [name, `${name}!`] }))

test('two batches without a common key run at the same time and are reported in order', async () => {
  const { since, settled, end } = startPipeline(apart)
  assert.deepEqual(await since(), ['begun a', 'begun b'])
  end('b')
  assert.deepEqual(await since(), [])
  end('a')
  assert.deepEqual(await since(), ['reported a done', 'reported b done', 'begun c'])
  end('c')
  assert.equal(await settled, 'well')
  assert.deepEqual(await since(), ['reported c done'])
})

test('a batch waits for the report of the previous batch if both share a key', async () => {
  const { since, settled, end } = startPipeline([
    { name: 'a', keys: ['x', 'y'] },
    { name: 'b', keys: ['z', 'y'] },
    { name: 'c', keys: [] },
  ])
  assert.deepEqual(await since(), ['begun a'])
  end('a')
  assert.deepEqual(await since(), ['reported a done', 'begun b', 'begun c'])
  end('b')
  end('c')
  assert.equal(await settled, 'well')
})

test('a batch without keys runs alone', async () => {
  const { since, settled, end } = startPipeline([
    { name: 'a', keys: [] },
    { name: 'b', keys: null },
    { name: 'c', keys: [] },
  ])
  for (const name of ['a', 'b', 'c']) {
    const begun = await since()
    assert.equal(begun.at(-1), `begun ${name}`)
    assert.equal(begun.filter((one) => one.startsWith('begun')).length, 1)
    end(name)
  }
  assert.equal(await settled, 'well')
})

test('the run rejects with the first failure once all batches have ended, and begins and reports no other', async () => {
  const { since, settled, end, fail } = startPipeline(apart)
  fail('a')
  assert.deepEqual(await since(), ['begun a', 'begun b'])
  const early = await Promise.race([settled, since().then(() => 'not yet')])
  assert.equal(early, 'not yet')
  end('b')
  assert.equal(await settled, 'a failed')
  assert.deepEqual(await since(), [])
})

test('a batch is reported although the batch behind it has failed', async () => {
  const { since, settled, end, fail } = startPipeline(apart)
  fail('b')
  await since()
  end('a')
  assert.deepEqual((await since()).at(0), 'reported a done')
  end('c')
  assert.equal(await settled, 'b failed')
  assert.deepEqual(await since(), [])
})

test('a begun batch is reported although the source has failed', async () => {
  const { since, settled, end } = startPipeline(apart.slice(0, 1), true)
  end('a')
  assert.equal(await settled, 'the source failed')
  assert.deepEqual(await since(), ['begun a', 'reported a done'])
})

test('an abort lets begun batches be reported and begins none that was read', async () => {
  for (const keys of [['x'], ['y']]) {
    const { since, settled, stop, end } = startPipeline([
      { name: 'a', keys: ['x'] },
      { name: 'b', keys: keys },
      { name: 'c', keys: ['x', 'y'] },
    ])
    const begun = await since()
    stop()
    end('a')
    end('b')
    const names = begun.map((one) => one.replace('begun ', ''))
    assert.deepEqual(names, keys[0] === 'x' ? ['a'] : ['a', 'b'])
    // The run would never end if another batch had been begun.
    assert.deepEqual(
      await since(),
      names.map((name) => `reported ${name} done`),
    )
    assert.equal(await settled, 'well')
  }
})
