import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOfDay, goldenCases, item } from '../../../test/support/build/score-inputs.ts'
import { oracleReasons, oracleScore } from '../../../test/support/oracle/hsc-oracle.ts'
import type { Evidence, ScoreInput, SkillRule } from './evidence.ts'
import { explain } from './explain.ts'
import { score } from './score.ts'

/** Returns the result in the form of a golden vector. */
function goldenOf(compute: (input: ScoreInput) => object, input: ScoreInput): object {
  try {
    return compute(input)
  } catch (error) {
    if (error instanceof RangeError) return { error: true }
    throw error
  }
}

test('all 328 golden vectors: core and oracle give the result, in both orders of the evidence', () => {
  assert.equal(goldenCases.length, 328)
  for (const { name, input, expected } of goldenCases) {
    const reversed = { ...input, evidence: input.evidence.toReversed() }
    assert.deepEqual(goldenOf(score, input), expected, name)
    assert.deepEqual(goldenOf(score, reversed), expected, name)
    assert.deepEqual(goldenOf(oracleScore, input), expected, name)
  }
})

test('the golden vector with reasons: each item that does not count has the first reason that applies', () => {
  const named = goldenCases.filter(({ notCounted }) => notCounted !== undefined)
  assert.equal(named.length, 1)
  for (const { input, notCounted } of named) {
    const dropped = explain(input).items.flatMap(({ id, reason }) => (reason ? [[id, reason]] : []))
    assert.deepEqual(Object.fromEntries(dropped), notCounted)
    assert.deepEqual(Object.fromEntries(oracleReasons(input)), notCounted)
  }
})

const weightPermille = { assessment: 350, peer_review: 150, work_product: 300 }
const rule: SkillRule = { halfLifeMonths: 24, weightPermille }

function scoreOf(...evidence: Evidence[]) {
  return score({ evidence, vocabulary: { 'hss:a': rule }, asOfDay })
}

function many(count: number, given: (at: number) => Partial<Evidence> = () => ({})): Evidence[] {
  return Array.from({ length: count }, (_, at) => item({ id: `e${at}`, ...given(at) }))
}

test('five items of 1930 give no score, because nothing of them is left', () => {
  const { score: whole, band, skills } = scoreOf(...many(5, () => ({ observedDay: -14_400 })))
  assert.deepEqual([whole, band, skills], [null, null, []])
})

test('thirty verified peers move an accredited exam and an organisation’s work by two groups at most', () => {
  const own = [
    item({ id: 'a', value: 400 }),
    item({ id: 'b', value: 400, type: 'work_product', assurance: 700 }),
  ]
  const peers = many(30, () => ({ type: 'peer_review', assurance: 400, value: 1_000 }))
  assert.equal(scoreOf(...own).skills[0]?.score, 400)
  assert.equal(scoreOf(...own, ...peers).skills[0]?.score, 442)
})

test('twenty attempts of one group narrow no range and count by their mean', () => {
  const one = item({ id: 'a', group: 'g', value: 500 })
  const more = many(20, (at) => ({ group: 'g', value: at % 2 === 0 ? 400 : 600 }))
  const [before, after] = [scoreOf(one).skills[0], scoreOf(one, ...more).skills[0]]
  assert.deepEqual([after?.score, after?.mass], [500, before?.mass])
})

test('two far groups that cancel give the mean on one day, and the newer one prevails', () => {
  const low = item({ id: 'a', value: 0 })
  const high = item({ id: 'b', value: 1_000 })
  const yesterday = { observedDay: asOfDay - 1 }
  assert.equal(scoreOf(low, high).skills[0]?.score, 500)
  assert.equal(scoreOf({ ...low, ...yesterday }, high).skills[0]?.score, 800)
  assert.equal(scoreOf(low, { ...high, ...yesterday }).skills[0]?.score, 199)
})

const fields = {
  assurance: [-1, 1_001, 0.5, Number.NaN],
  value: [-1, 1_001, 0.5, Number.POSITIVE_INFINITY],
  observedDay: [-719_529, 2_932_897, 0.5],
}
for (const [field, numbers] of Object.entries(fields))
  test(`an item with ${field} outside its range is an error that shows the number, even if it does not count`, () => {
    for (const number of numbers)
      assert.throws(() => scoreOf(item({ id: 'a', excluded: true, [field]: number })), {
        name: 'RangeError',
        message: new RegExp(`^${field} is ${number}\\. It must be a whole number from`),
      })
  })

test('a rule with a number outside its range or weights of more than 1000 is an error', () => {
  const rules: SkillRule[] = [
    { halfLifeMonths: 1_201, weightPermille },
    { halfLifeMonths: 24, weightPermille: { assessment: 1_001 } },
    { halfLifeMonths: 24, weightPermille: { assessment: 500, peer_review: 501 } },
    { halfLifeMonths: 24, weightPermille: { assessment: 500, peer_review: -1 } },
  ]
  for (const wrong of rules)
    assert.throws(
      () => score({ evidence: many(1), vocabulary: { 'hss:a': wrong }, asOfDay }),
      RangeError,
    )
})

test('10,001 items are an error; 10,000 items at the ends of all numbers are scored', () => {
  assert.throws(() => scoreOf(...many(10_001)), /the number of items is 10001/)
  const ends = many(10_000, (at) => ({
    value: at % 2 === 0 ? 0 : 1_000,
    assurance: at % 3 === 0 ? 1 : 1_000,
    observedDay: at % 5 === 0 ? -719_528 : asOfDay,
    group: `g${at % 7}`,
  }))
  assert.equal(scoreOf(...ends).skills[0]?.score, 500)
})

test('10,000 items of one skill with 1,000 different assurances take at most 2 seconds of processor time', () => {
  const worst = many(10_000, (at) => ({
    assurance: 1 + (at % 1_000),
    group: `g${at % 4_000}`,
    value: (at * 97) % 1_001,
    observedDay: asOfDay - (at % 1_500),
  }))
  const before = process.cpuUsage()
  scoreOf(...worst)
  const { user, system } = process.cpuUsage(before)
  assert.ok(user + system < 2_000_000, `${(user + system) / 1_000} ms`)
})

test('a copy of an item under the same id changes no byte', () => {
  const items = many(3)
  assert.deepEqual(scoreOf(...items, ...items), scoreOf(...items))
})
