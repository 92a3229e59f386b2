import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barChart, sparkline } from './chart.ts'

const bars = (count: number, good: number) =>
  Array.from({ length: count }, (_, i) => ({ label: `day ${i + 1}`, values: [good] }))

const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, t]) => t)

const chartOf = (count: number, good: number) =>
  barChart({
    sentence: 'Calls.',
    series: [{ word: 'good', tone: 'accent' }],
    bars: bars(count, good),
  }).text

test('a scale ends at the next round number, and its half is a whole number or is not named', () => {
  for (const [value, names] of Object.entries({
    0: ['1'],
    1: ['1'],
    2: ['2', '1'],
    3: ['3'],
    13: ['20', '10'],
    27: ['30', '15'],
    1_001: ['2,000', '1,000'],
  }))
    assert.deepEqual(
      textsOf(chartOf(1, Number(value))).filter((text) => !text?.startsWith('day')),
      names,
      value,
    )
})

test('each of seven bars has its label; of more bars the first, the middle and the last have one', () => {
  const labelsOf = (count: number) =>
    textsOf(chartOf(count, 1)).filter((text) => text?.startsWith('day'))
  assert.equal(labelsOf(7).length, 7)
  assert.deepEqual(labelsOf(24), ['day 1', 'day 13', 'day 24'])
})

test('the line of a sparkline ends at a missing value and begins again after it', () => {
  const { text } = sparkline({ sentence: 'Medians.', values: [4, 8, null, null, 2, null, 6, 6] })
  const [, line = ''] = /class="line" d="([^"]*)"/.exec(text) ?? []
  assert.equal(line.split('M').length - 1, 3)
  assert.match(line, /^M6\.25 16\.5L18\.75 2M56\.25 23\.75h0\.5M81\.25/)
  assert.doesNotMatch(text, /NaN|undefined|null/)
})
