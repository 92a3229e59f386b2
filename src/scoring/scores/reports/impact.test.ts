import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fisher, type ImpactInput, impactOf, type Scored } from './impact.ts'

/** `[category, workers, of them with a score of 700]`; the others have 400. */
function inputOf(groups: readonly (readonly [string, number, number])[]): ImpactInput {
  const scores = new Map<string, Scored>()
  const rows = groups.flatMap(([category, count, strong]) =>
    Array.from({ length: count }, (_, at) => {
      const subject = `${category}-${at}`
      const score = at < strong ? 700 : 400
      scores.set(subject, { score, low: score - 200 })
      return { subject, values: [category] }
    }),
  )
  return { scores, columns: ['group'], rows, minCell: 5, cut: null }
}

function rowOf(input: ImpactInput, category: string, rule = 'score from 600') {
  return impactOf(input).rows.find((row) => row.category === category && row.rule === rule)
}

test('a rate of exactly four fifths is not below four fifths, and one worker less is', () => {
  const exact = rowOf(
    inputOf([
      ['a', 100, 50],
      ['b', 100, 40],
    ]),
    'b',
  )
  assert.partialDeepStrictEqual(exact, { rate: 0.4, ratio: 0.8, belowFourFifths: false })
  const below = rowOf(
    inputOf([
      ['a', 100, 50],
      ['b', 100, 39],
    ]),
    'b',
  )
  assert.partialDeepStrictEqual(below, { ratio: 0.78, belowFourFifths: true })
})

test('the reference is the category of the highest rate with at least 2 % of the workers', () => {
  const input = inputOf([
    ['a', 500, 100],
    ['b', 490, 200],
    ['tiny', 9, 9],
  ])
  assert.equal(rowOf(input, 'b')?.isReference, true)
  assert.equal(rowOf(input, 'tiny')?.isReference, false)
})

test('a category of fewer than five workers shows nothing but its name', () => {
  const { rows } = impactOf(
    inputOf([
      ['a', 100, 50],
      ['rare', 4, 4],
    ]),
  )
  const rare = rows.filter(({ category }) => category === 'rare')
  assert.equal(rare.length, 1)
  assert.partialDeepStrictEqual(rare[0], {
    workers: null,
    scored: null,
    rate: null,
    meanScore: null,
  })
})

test('Fisher’s exact test gives the published values', () => {
  // The lady tasting tea, and a table of the R manual.
  assert.ok(Math.abs(fisher(3, 4, 1, 4) - 0.4857142857) < 1e-9)
  assert.ok(Math.abs(fisher(2, 12, 15, 18) - 0.0005367241) < 1e-9)
})

test('workers without a score count in the coverage, and unknown ones are counted beside', () => {
  const input = inputOf([
    ['a', 10, 5],
    ['b', 10, 5],
  ])
  const scores = new Map(input.scores)
  scores.set('b-0', { score: null, low: null })
  scores.set('not in the file', { score: 500, low: 300 })
  const rows = [...input.rows, { subject: 'nobody', values: ['a'] }]
  const report = impactOf({ ...input, scores, rows })
  assert.deepEqual([report.notInExport, report.notInFile], [1, 1])
  const row = report.rows.find(({ category }) => category === 'b')
  assert.partialDeepStrictEqual(row, { workers: 10, scored: 9, coverage: 0.9 })
})

test('two columns give each alone and their combinations', () => {
  const input = inputOf([
    ['a', 20, 5],
    ['b', 20, 5],
  ])
  const rows = input.rows.map((row, at) => ({ ...row, values: [...row.values, `o${at % 2}`] }))
  const report = impactOf({ ...input, columns: ['group', 'origin'], rows })
  const names = new Set(report.rows.map(({ by, category }) => `${by}: ${category}`))
  assert.deepEqual([...names].sort(), [
    'group, origin: a, o0',
    'group, origin: a, o1',
    'group, origin: b, o0',
    'group, origin: b, o1',
    'group: a',
    'group: b',
    'origin: o0',
    'origin: o1',
  ])
})

test('the median of an even number of scores is the mean of the middle two', () => {
  const scores = new Map(
    [100, 200, 301, 400, 500, 600].map((score, at) => [`s${at}`, { score, low: 0 }]),
  )
  const rows = [...scores.keys()].map((subject) => ({ subject, values: ['all'] }))
  const input = { scores, columns: ['group'], rows, minCell: 5, cut: 301 }
  assert.equal(rowOf(input, 'all', 'score above the median')?.selected, 3)
  assert.equal(rowOf(input, 'all', 'score from 301')?.selected, 4)
})

test('values with commas are not taken for those of another pair of columns', () => {
  const input = inputOf([['x', 12, 6]])
  const rows = input.rows.map((row, at) => ({
    ...row,
    values: at < 6 ? ['a, b', 'c'] : ['a', 'b, c'],
  }))
  const report = impactOf({ ...input, columns: ['one', 'two'], rows })
  const both = report.rows.filter(({ by, rule }) => by === 'one, two' && rule === 'score from 600')
  assert.deepEqual(
    both.map(({ workers }) => workers),
    [6, 6],
  )
  assert.deepEqual(
    both.map(({ selected }) => selected).sort((a, b) => (a ?? 0) - (b ?? 0)),
    [0, 6],
  )
})

test('a single category is its own reference, with ratio 1 and no difference', () => {
  const row = rowOf(inputOf([['only', 40, 20]]), 'only')
  assert.partialDeepStrictEqual(row, {
    isReference: true,
    ratio: 1,
    belowFourFifths: false,
    z: 0,
    significant: false,
    d: 0,
  })
})

test('no worker with a score: nobody is the reference, and no rate is invented', () => {
  const input = inputOf([['a', 10, 0]])
  const scores = new Map([...input.scores.keys()].map((one) => [one, { score: null, low: null }]))
  const row = rowOf({ ...input, scores }, 'a')
  assert.partialDeepStrictEqual(row, {
    workers: 10,
    scored: 0,
    coverage: 0,
    rate: null,
    isReference: false,
    ratio: null,
  })
})

test('a million workers are compared within 10 seconds of processor time', () => {
  const input = inputOf([
    ['a', 600_000, 300_000],
    ['b', 400_000, 180_000],
  ])
  const before = process.cpuUsage()
  const row = rowOf(input, 'b')
  assert.ok(process.cpuUsage(before).user < 10_000_000)
  assert.partialDeepStrictEqual(row, { workers: 400_000, ratio: 0.9, belowFourFifths: false })
  assert.equal(row?.significant, true)
})
