import assert from 'node:assert/strict'
import { test } from 'node:test'
import { item } from '../../../test/support/build/score-inputs.ts'
import { loadReleasedVocabulary } from '../../standard/releases.ts'
import { score } from '../core/score.ts'
import { scoringVocabulary } from './scoring.ts'

const { records } = loadReleasedVocabulary()

test('every published record becomes a rule with integer weights that sum to 1,000', () => {
  const vocabulary = scoringVocabulary(records)
  assert.equal(Object.keys(vocabulary).length, records.length)
  for (const { id, evidence_types, decay_half_life_months } of records) {
    const rule = vocabulary[id] ?? assert.fail(id)
    assert.equal(rule.halfLifeMonths, decay_half_life_months)
    assert.equal(
      Object.values(rule.weightPermille).reduce((a, b) => a + b, 0),
      1_000,
    )
    for (const { type, weight } of evidence_types)
      assert.equal(rule.weightPermille[type], Number((weight * 1_000).toFixed(6)))
  }
})

test('the engine scores evidence of a published skill with it', () => {
  const vocabulary = scoringVocabulary(records)
  const evidence = [item({ id: 'e1', skillId: 'hss:typescript', type: 'work_product' })]
  const { skills } = score({ evidence, vocabulary, asOfDay: 20_400 })
  assert.equal(skills[0]?.mass, 350_000)
})

test('a weight of four decimals is refused', () => {
  const record = {
    id: 'hss:x',
    decay_half_life_months: 1,
    evidence_types: [{ type: 'assessment', weight: 0.3333, signal: '' }],
  }
  assert.throws(() => scoringVocabulary([record]), /hss:x: the weight 0\.3333/)
})

test('every weight in thousandths becomes its exact integer, and the rules are in order of id', () => {
  const all = Array.from({ length: 1_001 }, (_, permille) => ({
    id: `hss:${String(1_000 - permille).padStart(4, '0')}`,
    decay_half_life_months: 1,
    evidence_types: [{ type: 'assessment', weight: permille / 1_000, signal: '' }],
  }))
  const vocabulary = scoringVocabulary(all)
  for (const [at, { id }] of all.entries())
    assert.equal(vocabulary[id]?.weightPermille.assessment, at)
  assert.deepEqual(Object.keys(vocabulary), Object.keys(vocabulary).sort())
})
