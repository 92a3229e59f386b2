import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputs } from '../../../test/support/build/score-inputs.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { oracleReasons, oracleScore } from '../../../test/support/oracle/hsc-oracle.ts'
import { firstFault, properties } from '../../../test/support/oracle/scoring-properties.ts'
import { explain } from './explain.ts'
import { score } from './score.ts'

for (const property of properties)
  test(property.name, () => assert.equal(firstFault(property, 2_000, 1), null))

test('core and oracle agree on results and reasons of random cases, in both orders', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const expected = oracleScore(input)
      assert.deepEqual(score(input), expected)
      assert.deepEqual(score({ ...input, evidence: input.evidence.toReversed() }), expected)
      const dropped = explain(input).items.flatMap(({ id, reason }) =>
        reason ? [[id, reason]] : [],
      )
      assert.deepEqual(Object.fromEntries(dropped), Object.fromEntries(oracleReasons(input)))
    }),
    { numRuns: 2_000 },
  )
})

test('the effect of each item is the score of the worker minus the score without it', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { result, items } = explain(input)
      for (const { id, effect } of items) {
        const evidence = input.evidence.filter((item) => item.id !== id)
        const without = score({ ...input, evidence }).score
        const expected = result.score === null || without === null ? null : result.score - without
        assert.equal(effect, expected, id)
      }
    }),
    { numRuns: 1_000 },
  )
})
