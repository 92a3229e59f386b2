/**
 * The promises of HSC-1 for any evidence. A failing run prints its seed and the smallest case.
 * Where a promise is about new evidence, the new item belongs to an artefact of its own: of two
 * items of one artefact one is dropped, so one more item can take weight away.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asOfDay,
  extraItem,
  inputs,
  item,
  skillIds,
  types,
  withEvidence,
} from '../../test/support/build/score-inputs.ts'
import fc from '../../test/support/oracle/fc.ts'
import type { Evidence, ScoreInput } from './evidence.ts'
import { explain } from './explain.ts'
import { parameters } from './parameters.ts'
import { type Estimate, estimateOf, type ScoreResult, score } from './score.ts'

const runs = { numRuns: 5_000 }
const manyRuns = { numRuns: 20_000 }

const position = fc.nat(1_000)
const value = fc.integer({ min: 0, max: 1_000 })

function skillOf(result: ScoreResult, skillId: string): Estimate & { mass: number } {
  return result.skills.find((skill) => skill.skillId === skillId) ?? unheard
}

/** A skill without evidence. */
const unheard = { ...estimateOf({ weighted: 0, mass: 0 }), mass: 0 }

function plus(input: ScoreInput, extra: Evidence): ScoreResult {
  return score(withEvidence(input, [...input.evidence, extra]))
}

function notLower(after: Estimate, before: Estimate, keys: readonly (keyof Estimate)[]): void {
  for (const key of keys)
    assert.ok(after[key] >= before[key], `${key} fell from ${before[key]} to ${after[key]}`)
}

/** Checks the whole score and the skill: neither may fall. */
function notLowerAnywhere(
  [after, before]: readonly [ScoreResult, ScoreResult],
  skillId: string,
  keys: readonly (keyof Estimate)[],
): void {
  notLower(after, before, keys)
  if (before.skills.some((skill) => skill.skillId === skillId))
    notLower(skillOf(after, skillId), skillOf(before, skillId), keys)
}

test('B1: 0 ≤ low ≤ score ≤ high ≤ 1000 in whole numbers, for the whole score and each skill', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const result = score(input)
      for (const { low, score, high } of [result, ...result.skills]) {
        assert.ok(0 <= low && low <= score && score <= high && high <= 1_000)
        assert.ok([low, score, high].every(Number.isSafeInteger))
      }
    }),
    runs,
  )
})

test('O1: any order of the evidence and of the vocabulary gives the same bytes, explained or not', () => {
  const shuffled = inputs.chain((input) =>
    fc.tuple(
      fc.constant(input),
      fc.shuffledSubarray([...input.evidence], { minLength: input.evidence.length }),
    ),
  )
  fc.assert(
    fc.property(shuffled, ([input, evidence]) => {
      const vocabulary = Object.fromEntries(
        Object.entries(input.vocabulary)
          .reverse()
          .map(([id, rule]) => {
            const weights = Object.entries(rule.weightPermille).reverse()
            return [id, { ...rule, weightPermille: Object.fromEntries(weights) }]
          }),
      )
      const other = { ...input, vocabulary, evidence }
      assert.equal(JSON.stringify(score(other)), JSON.stringify(score(input)))
      assert.equal(JSON.stringify(explain(other)), JSON.stringify(explain(input)))
    }),
    runs,
  )
})

test('D1: a second copy of an item changes nothing', () => {
  fc.assert(
    fc.property(inputs, position, (input, at) => {
      const again = input.evidence[at % (input.evidence.length || 1)]
      if (again !== undefined) assert.deepEqual(plus(input, { ...again }), score(input))
    }),
    runs,
  )
})

test('M1: one more item of value 1000 never lowers score or low', () => {
  fc.assert(
    fc.property(inputs, extraItem, (input, extra) => {
      const after = plus(input, { ...extra, value: 1_000 })
      notLowerAnywhere([after, score(input)], extra.skillId, ['score', 'low'])
    }),
    manyRuns,
  )
})

test('M2: a raised value never lowers score, low or high', () => {
  fc.assert(
    fc.property(inputs, position, value, (input, at, higher) => {
      // Within one artefact the higher value may win, and under another type it would count beside
      // other items.
      const evidence = input.evidence.map((item) => ({ ...item, digest: `of ${item.id}` }))
      const raised = evidence[at % (evidence.length || 1)]
      if (raised === undefined || raised.value >= higher) return
      const after = evidence.map((item) => (item === raised ? { ...item, value: higher } : item))
      const results = [
        score(withEvidence(input, after)),
        score(withEvidence(input, evidence)),
      ] as const
      notLowerAnywhere(results, raised.skillId, ['score', 'low', 'high'])
    }),
    manyRuns,
  )
})

test('M3: a new group at or above the skill’s score never lowers score or low', () => {
  fc.assert(
    fc.property(inputs, extraItem, value, (input, extra, above) => {
      const before = score(input)
      const least = skillOf(before, extra.skillId).score
      const better = { ...extra, group: 'a new group', value: least + (above % (1_001 - least)) }
      notLowerAnywhere([plus(input, better), before], extra.skillId, ['score', 'low'])
    }),
    manyRuns,
  )
})

test('M4: an item at or above the score and its group’s values never lowers the score, with any assurances', () => {
  fc.assert(
    fc.property(inputs, extraItem, value, (input, extra, above) => {
      const before = score(input)
      const beside = input.evidence.filter(
        ({ skillId, group, type }) =>
          skillId === extra.skillId && group === extra.group && type === extra.type,
      )
      const least = [
        skillOf(before, extra.skillId).score,
        ...beside.map(({ value }) => value),
      ].reduce((a, b) => (a > b ? a : b))
      const better = { ...extra, value: least + (above % (1_001 - least)) }
      notLowerAnywhere([plus(input, better), before], extra.skillId, ['score', 'low'])
    }),
    manyRuns,
  )
})

test('N2: an added skill never lowers the whole score', () => {
  fc.assert(
    fc.property(inputs, extraItem, (input, extra) => {
      const rule = { halfLifeMonths: 0, weightPermille: { assessment: 300 } }
      const vocabulary = { ...input.vocabulary, 'hss:new': rule }
      const known = { ...input, vocabulary }
      const after = plus(known, { ...extra, skillId: 'hss:new', type: 'assessment' })
      notLower(after, score(input), ['score', 'low', 'high'])
    }),
    runs,
  )
})

test('W1: new independent evidence never widens a skill’s interval by more than the rounding of 1', () => {
  fc.assert(
    fc.property(inputs, extraItem, (input, extra) => {
      const widthOf = ({ low, high }: Estimate) => high - low
      const before = skillOf(score(input), extra.skillId)
      const after = skillOf(plus(input, { ...extra, group: 'a new group' }), extra.skillId)
      assert.ok(widthOf(after) <= widthOf(before) + 1)
    }),
    manyRuns,
  )
})

test('W2: more mass at the same mean gives a strictly narrower interval, once it exceeds rounding', () => {
  const totals = fc.tuple(value, fc.nat(5_000_000), fc.integer({ min: 1, max: 5_000_000 }))
  fc.assert(
    fc.property(totals, ([mean, mass, more]) => {
      const before = estimateOf({ weighted: mean * mass, mass })
      const after = estimateOf({ weighted: mean * (mass + more), mass: mass + more })
      // The width before rounding is 1000 · SI / (N + SI).
      const all = 1_000 * parameters.intervalPrior
      const [was, is] = [mass, mass + more].map((n) => all / (n + parameters.intervalPrior))
      assert.ok(is !== undefined && was !== undefined && is < was)
      assert.ok(after.high - after.low <= before.high - before.low + 1)
      if (was - is >= 2) assert.ok(after.high - after.low < before.high - before.low)
    }),
    manyRuns,
  )
})

test('T1: time alone never raises low and never lowers high, except for a rounding of 1', () => {
  fc.assert(
    fc.property(inputs, fc.integer({ min: 1, max: 4_000 }), (input, days) => {
      const seen = input.evidence.filter(({ observedDay }) => observedDay <= asOfDay)
      const now = score(withEvidence(input, seen))
      const later = score({ ...withEvidence(input, seen), asOfDay: asOfDay + days })
      assert.ok(later.low <= now.low + 1, `low rose from ${now.low} to ${later.low}`)
      assert.ok(later.high >= now.high - 1, `high fell from ${now.high} to ${later.high}`)
    }),
    manyRuns,
  )
})

test('T1: the rounding of 1 does happen when almost no evidence is left', () => {
  const vocabulary = { 'hss:a': { halfLifeMonths: 120, weightPermille: { assessment: 10 } } }
  const good = item({ id: 'e1', value: 1_000, assurance: 158, observedDay: asOfDay - 106 })
  const bad = item({ id: 'e2', value: 0, assurance: 778, observedDay: asOfDay - 2_414 })
  const lowAfter = (days: number) =>
    score({ evidence: [good, bad], vocabulary, asOfDay: asOfDay + days }).skills[0]?.low
  // On that day the low item loses a millionth and the high one nothing.
  assert.deepEqual([lowAfter(55), lowAfter(56)], [4, 5])
})

test('S1: the items of one type from one group weigh at most twice the heaviest', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { evidence } = input
      const skillId = skillIds[0]
      const type = types[0]
      const crowd = evidence.map((item) => ({ ...item, skillId, type, group: 'one' }))
      const massOf = (items: readonly Evidence[]) =>
        skillOf(score(withEvidence(input, items)), skillId).mass
      const heaviest = crowd.map((item) => massOf([item])).reduce((a, b) => (a > b ? a : b), 0)
      assert.ok(massOf(crowd) <= 2 * heaviest)
    }),
    runs,
  )
})

test('R1: a revoked item counts as if it had never existed', () => {
  fc.assert(
    fc.property(inputs, position, (input, at) => {
      const revoked = input.evidence[at % (input.evidence.length || 1)]
      const rest = input.evidence.filter((item) => item !== revoked)
      const marked = input.evidence.map((item) =>
        item === revoked ? { ...item, excluded: true } : item,
      )
      assert.deepEqual(score(withEvidence(input, marked)), score(withEvidence(input, rest)))
    }),
    runs,
  )
})

test('E1: the shares of the items sum to A and N exactly, and A and N give the skill', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { result, items, skills } = explain(input)
      assert.deepEqual(result, score(input))
      for (const [at, skill] of skills.entries()) {
        const own = items.filter(({ skillId }) => skillId === skill.skillId)
        const sum = (key: 'mass' | 'weighted') => own.reduce((total, item) => total + item[key], 0)
        assert.equal(sum('mass'), skill.mass)
        assert.equal(sum('weighted'), skill.weighted)
        const { skillId, mass, score, low, high } = result.skills[at] ?? { skillId: 'none' }
        assert.deepEqual({ skillId, mass }, { skillId: skill.skillId, mass: skill.mass })
        assert.deepEqual(estimateOf(skill), { score, low, high })
      }
      assert.equal(items.filter(({ reason }) => reason === null).length, result.evidenceCount)
      assert.equal(items.length, input.evidence.length)
    }),
    runs,
  )
})

test('E2: the effect of each item is the score with it minus the score without it', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { result, items } = explain(input)
      for (const { id, effect } of items) {
        const rest = input.evidence.filter((item) => item.id !== id)
        assert.equal(effect, result.score - score(withEvidence(input, rest)).score, id)
      }
    }),
    runs,
  )
})

test('E2: the same holds in a large group', () => {
  const crowds = fc.array(fc.tuple(value, fc.nat(2_000)), {
    minLength: 20,
    maxLength: 30,
    size: 'max',
  })
  fc.assert(
    fc.property(crowds, inputs, (crowd, { vocabulary }) => {
      const evidence = crowd.map(([value, age], at) =>
        item({ id: `e${at}`, group: 'one', value, observedDay: asOfDay - age }),
      )
      const { result, items } = explain({ evidence, vocabulary, asOfDay })
      for (const { id, effect } of items) {
        const rest = evidence.filter((item) => item.id !== id)
        assert.equal(effect, result.score - score({ evidence: rest, vocabulary, asOfDay }).score)
      }
    }),
    { numRuns: 500 },
  )
})

test('G1: self-claims change nothing', () => {
  fc.assert(
    fc.property(inputs, extraItem, (input, extra) => {
      const before = score(input)
      assert.deepEqual(plus(input, { ...extra, assurance: 0 }), before)
      assert.deepEqual(plus(input, { ...extra, type: 'self_attestation' }), before)
    }),
    runs,
  )
})
