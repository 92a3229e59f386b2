import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOfDay, inputs, item, scoringVectors } from '../../test/support/build/score-inputs.ts'
import fc from '../../test/support/oracle/fc.ts'
import { oracleScore } from '../../test/support/oracle/hsc-oracle.ts'
import type { Evidence, ScoreInput } from './evidence.ts'
import { score } from './score.ts'

test('the 60 golden vectors give their results byte for byte', () => {
  const { cases, vocabulary, asOfDay } = scoringVectors
  assert.equal(cases.length, 60)
  for (const [at, { evidence, expected }] of cases.entries()) {
    const result = score({ evidence, vocabulary, asOfDay })
    assert.equal(JSON.stringify(result), JSON.stringify(expected), `case ${at}`)
  }
})

test('X1: core and oracle agree on 20,000 random cases and on the golden vectors', () => {
  fc.assert(
    fc.property(inputs, (input) => assert.deepEqual(score(input), oracleScore(input))),
    { numRuns: 20_000 },
  )
  for (const { evidence, expected } of scoringVectors.cases)
    assert.deepEqual(oracleScore({ ...scoringVectors, evidence }), expected)
})

const vocabulary = {
  'hss:a': {
    halfLifeMonths: 24,
    weightPermille: { assessment: 350, peer_review: 150, work_product: 300 },
  },
}

function scoreOf(...evidence: Evidence[]) {
  return score({ evidence, vocabulary, asOfDay })
}

function many(count: number, given: Partial<Evidence> = {}): Evidence[] {
  return Array.from({ length: count }, (_, at) => item({ id: `e${at}`, ...given }))
}

test('the worked example: three sources, one skill', () => {
  const days = (ago: number) => asOfDay - ago
  const result = scoreOf(
    item({ id: 'e1', value: 820, observedDay: days(30) }),
    item({ id: 'e2', type: 'peer_review', value: 700, assurance: 400, observedDay: days(200) }),
    item({ id: 'e3', type: 'work_product', value: 760, assurance: 700, observedDay: days(400) }),
  )
  assert.deepEqual(result, {
    score: 494,
    low: 354,
    high: 608,
    evidenceCount: 3,
    sourceCount: 3,
    skills: [
      {
        skillId: 'hss:a',
        score: 707,
        low: 507,
        high: 868,
        mass: 340_178 + 49_628 + 143_676,
        level: 'advanced',
        verified: true,
      },
    ],
    band: 'verified',
  })
})

const ofOneSkill: readonly { given: Evidence[]; expected: readonly number[] }[] = [
  { given: many(1), expected: [677, 430, 893] },
  { given: many(3), expected: [752, 622, 845] },
  { given: many(10), expected: [784, 736, 816] },
]

for (const { given, expected } of ofOneSkill)
  test(`${given.length} independent fresh results of 800 score ${expected.join(', ')}`, () => {
    const [skill] = scoreOf(...given).skills
    assert.deepEqual([skill?.score, skill?.low, skill?.high], expected)
  })

test('10 or 30 results of 800 from one group score 731: repetition gains almost nothing', () => {
  for (const count of [10, 30]) {
    const result = scoreOf(...many(count, { group: 'one' }))
    assert.equal(result.skills[0]?.score, 731)
    assert.equal(result.evidenceCount, count)
    assert.equal(result.sourceCount, 1)
  }
})

test('1,000 full items of one group weigh 1,999,993, one weighs 1,000,000', () => {
  const full = { 'hss:a': { halfLifeMonths: 0, weightPermille: { assessment: 1_000 } } }
  const massOf = (evidence: Evidence[]) =>
    score({ evidence, vocabulary: full, asOfDay }).skills[0]?.mass
  assert.equal(massOf(many(1_000, { group: 'one' })), 1_999_993)
  assert.equal(massOf(many(1)), 1_000_000)
})

test('no evidence gives score zero, no skills and the lowest band', () => {
  assert.deepEqual(scoreOf(), {
    score: 0,
    low: 0,
    high: 0,
    evidenceCount: 0,
    sourceCount: 0,
    skills: [],
    band: 'emerging',
  })
})

test('the names of Object.prototype are neither skills nor types', () => {
  const result = scoreOf(
    item({ id: 'e1', skillId: 'constructor' }),
    item({ id: 'e2', skillId: '__proto__' }),
    item({ id: 'e3', type: 'toString' }),
  )
  assert.equal(result.evidenceCount, 0)
})

test('of one artefact the heaviest item counts, then the newest, then the highest value, then the lowest id', () => {
  const same = { group: 'g', digest: 'd' }
  const pairs: readonly [winner: Partial<Evidence>, loser: Partial<Evidence>][] = [
    [
      { assurance: 700, observedDay: 0, value: 0 },
      { assurance: 400, value: 1_000 },
    ],
    [
      { observedDay: asOfDay, value: 0 },
      { observedDay: asOfDay - 1, value: 1_000 },
    ],
    [{ value: 800 }, { value: 799 }],
  ]
  for (const [winner, loser] of pairs) {
    const best = item({ id: 'e1', ...same, ...winner })
    const both = scoreOf(best, item({ id: 'e0', ...same, ...loser }))
    assert.deepEqual(both, scoreOf(best))
  }
})

test('evidence that was excluded and restored counts as before', () => {
  assert.deepEqual(scoreOf(item({ id: 'e', excluded: false })), scoreOf(item({ id: 'e' })))
})

test('skills of one score are sorted by id, by code units', () => {
  const ids = ['hss:b', 'hss:B', 'hss:b-2', 'hss:é', 'hss:z']
  const rules = Object.fromEntries(ids.map((id) => [id, vocabulary['hss:a']]))
  const evidence = ids.map((skillId) => item({ id: skillId, skillId }))
  const { skills } = score({ evidence, vocabulary: rules, asOfDay })
  assert.deepEqual(
    skills.map(({ skillId }) => skillId),
    ['hss:B', 'hss:b', 'hss:b-2', 'hss:z', 'hss:é'],
  )
})

test('an item with a field outside the checked ranges is refused, and the message names the field', () => {
  const refused: readonly [input: ScoreInput, message: RegExp][] = [
    [{ evidence: many(10_001), vocabulary, asOfDay }, /10001 items.*10000/],
    [{ evidence: [], vocabulary, asOfDay: 1.5 }, /asOfDay .* not 1\.5/],
    [{ evidence: [item({ id: 'e', value: 1_001 })], vocabulary, asOfDay }, /value .* not 1001/],
    [{ evidence: [item({ id: 'e', value: Number.NaN })], vocabulary, asOfDay }, /value .* not NaN/],
    [{ evidence: [item({ id: 'e', assurance: -1 })], vocabulary, asOfDay }, /assurance/],
    [{ evidence: [item({ id: 'e', observedDay: 1e9 })], vocabulary, asOfDay }, /observedDay/],
    [
      {
        evidence: [item({ id: 'e' })],
        vocabulary: { 'hss:a': { halfLifeMonths: 24, weightPermille: { assessment: 0.35 } } },
        asOfDay,
      },
      /weight .* not 0\.35/,
    ],
    [
      {
        evidence: [item({ id: 'e' })],
        vocabulary: { 'hss:a': { halfLifeMonths: -1, weightPermille: { assessment: 350 } } },
        asOfDay,
      },
      /halfLifeMonths/,
    ],
  ]
  for (const [input, message] of refused)
    assert.throws(() => score(input), { name: 'RangeError', message })
})

const days = { min: -719_528, max: 2_932_896 }
const ranges: readonly {
  of: string
  min: number
  max: number
  inputOf: (number: number) => ScoreInput
}[] = [
  { of: 'asOfDay', ...days, inputOf: (day) => ({ evidence: [], vocabulary, asOfDay: day }) },
  { of: 'observedDay', ...days, inputOf: (day) => inputOf(item({ id: 'e', observedDay: day })) },
  { of: 'value', min: 0, max: 1_000, inputOf: (value) => inputOf(item({ id: 'e', value })) },
  {
    of: 'assurance',
    min: 0,
    max: 1_000,
    inputOf: (assurance) => inputOf(item({ id: 'e', assurance })),
  },
  { of: 'weight', min: 0, max: 1_000, inputOf: (weight) => ruled({ assessment: weight }, 24) },
  {
    of: 'halfLifeMonths',
    min: 0,
    max: 1_200,
    inputOf: (months) => ruled({ assessment: 350 }, months),
  },
]

for (const { of, min, max, inputOf } of ranges)
  test(`${of}: from ${min} to ${max}, and no value beyond either end`, () => {
    for (const end of [min, max]) assert.doesNotThrow(() => score(inputOf(end)))
    for (const past of [min - 1, max + 1])
      assert.throws(() => score(inputOf(past)), { name: 'RangeError', message: new RegExp(of) })
  })

function inputOf(...evidence: Evidence[]): ScoreInput {
  return { evidence, vocabulary, asOfDay }
}

function ruled(weightPermille: Record<string, number>, halfLifeMonths: number): ScoreInput {
  const rules = { 'hss:a': { halfLifeMonths, weightPermille } }
  return { evidence: [item({ id: 'e' })], vocabulary: rules, asOfDay }
}

test('10,000 items of full weight give whole numbers, and the input is unchanged', () => {
  const heavy = { 'hss:a': { halfLifeMonths: 0, weightPermille: { assessment: 1_000 } } }
  const evidence = many(10_000, { value: 1_000 })
  const before = JSON.stringify(evidence)
  const result = score({ evidence, vocabulary: heavy, asOfDay })
  assert.equal(result.skills[0]?.mass, 10_000_000_000)
  assert.deepEqual(result, oracleAt(10_000_000_000n))
  assert.equal(JSON.stringify(evidence), before)

  function oracleAt(mass: bigint) {
    const low = Number((mass * 1_000n) / (mass + 300_000n))
    const value = Number((mass * 1_000n + 25_000_000n) / (mass + 100_000n))
    const skill = { skillId: 'hss:a', score: value, low, high: 1_000, mass: Number(mass) }
    return {
      score: Math.floor(value * 0.7),
      low: Math.floor(low * 0.7),
      high: 700,
      evidenceCount: 10_000,
      sourceCount: 10_000,
      skills: [{ ...skill, level: 'expert', verified: true }],
      band: 'strong',
    }
  }
})
