import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { overlap, type Steps } from './overlap.ts'

interface Batch {
  name: string
  /** Null: of anything. */
  says: string[] | null
}

/** Batches whose work ends when the test says so; what happened, in order. */
function place(batches: readonly Batch[], sourceFails = false) {
  const happened: string[] = []
  const work = new Map(batches.map(({ name }) => [name, Promise.withResolvers<string>()]))
  const of = (name: string) => work.get(name) ?? assert.fail(name)
  async function* source(): AsyncGenerator<Batch> {
    yield* batches
    if (sourceFails) throw new Error('the source failed')
  }
  const stopping = new AbortController()
  const steps: Steps<Batch, string> = {
    concerns: ({ says }) => says && new Set(says),
    apply: ({ name }) => {
      happened.push(`begun ${name}`)
      return of(name).promise
    },
    tell: async ({ name }, answer) => void happened.push(`told ${name} ${answer}`),
  }
  const ended = overlap(source(), steps, stopping.signal)
  const settled = ended.then(
    () => 'well',
    (error: Error) => error.message,
  )
  /** What happened since it was asked last, when nothing else can happen by itself. */
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

const apart = ['a', 'b', 'c'].map((name) => ({ name, says: [name, `${name}!`] }))

test('two that speak of others are under way at a time, and told in their order', async () => {
  const { since, settled, end } = place(apart)
  assert.deepEqual(await since(), ['begun a', 'begun b'])
  end('b')
  assert.deepEqual(await since(), [])
  end('a')
  assert.deepEqual(await since(), ['told a done', 'told b done', 'begun c'])
  end('c')
  assert.equal(await settled, 'well')
  assert.deepEqual(await since(), ['told c done'])
})

test('of two that speak of the same, the second is begun when the first is told', async () => {
  const { since, settled, end } = place([
    { name: 'a', says: ['x', 'y'] },
    { name: 'b', says: ['z', 'y'] },
    { name: 'c', says: [] },
  ])
  assert.deepEqual(await since(), ['begun a'])
  end('a')
  assert.deepEqual(await since(), ['told a done', 'begun b', 'begun c'])
  end('b')
  end('c')
  assert.equal(await settled, 'well')
})

test('beside one that may speak of anything nothing is begun, before it or after it', async () => {
  const { since, settled, end } = place([
    { name: 'a', says: [] },
    { name: 'b', says: null },
    { name: 'c', says: [] },
  ])
  for (const name of ['a', 'b', 'c']) {
    const begun = await since()
    assert.equal(begun.at(-1), `begun ${name}`)
    assert.equal(begun.filter((one) => one.startsWith('begun')).length, 1)
    end(name)
  }
  assert.equal(await settled, 'well')
})

test('the first that fails is what it rejects with, once all have ended; none behind it is told, none is begun', async () => {
  const { since, settled, end, fail } = place(apart)
  fail('a')
  assert.deepEqual(await since(), ['begun a', 'begun b'])
  const early = await Promise.race([settled, since().then(() => 'not yet')])
  assert.equal(early, 'not yet')
  end('b')
  assert.equal(await settled, 'a failed')
  assert.deepEqual(await since(), [])
})

test('one before it is told although the second has failed', async () => {
  const { since, settled, end, fail } = place(apart)
  fail('b')
  await since()
  end('a')
  assert.deepEqual((await since()).at(0), 'told a done')
  end('c')
  assert.equal(await settled, 'b failed')
  assert.deepEqual(await since(), [])
})

test('what was begun is told although the source has failed', async () => {
  const { since, settled, end } = place(apart.slice(0, 1), true)
  end('a')
  assert.equal(await settled, 'the source failed')
  assert.deepEqual(await since(), ['begun a', 'told a done'])
})

test('told to stop: what was begun is told, and what was read and waits for it is not begun', async () => {
  for (const says of [['x'], ['y']]) {
    const { since, settled, stop, end } = place([
      { name: 'a', says: ['x'] },
      { name: 'b', says },
      { name: 'c', says: ['x', 'y'] },
    ])
    const begun = await since()
    stop()
    end('a')
    end('b')
    const names = begun.map((one) => one.replace('begun ', ''))
    assert.deepEqual(names, says[0] === 'x' ? ['a'] : ['a', 'b'])
    // Before its end, which would never come if another one had been begun.
    assert.deepEqual(
      await since(),
      names.map((name) => `told ${name} done`),
    )
    assert.equal(await settled, 'well')
  }
})
