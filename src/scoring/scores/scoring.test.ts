import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scoring } from '../../../test/support/build/scores.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { issueRuleOf, scoringRulesOf } from './scoring.ts'

test('the rules hash changes with engine, vocabulary or minimum, and only with these', () => {
  const { engine, vocabulary, issueRule } = scoring
  const [rule] = Object.values(vocabulary)
  assert.ok(rule !== undefined)
  const sets = [
    scoring,
    scoringRulesOf({ ...engine, binarySha256: sha256Hex('another') }, vocabulary, issueRule),
    scoringRulesOf(engine, { ...vocabulary, 'hss:new': rule }, issueRule),
    scoringRulesOf(engine, vocabulary, { ...issueRule, groupsMin: issueRule.groupsMin + 1 }),
    scoringRulesOf(engine, vocabulary, { ...issueRule, renewAfterDays: 1 }),
  ]
  assert.equal(new Set(sets.map(({ sha256 }) => sha256.toString('hex'))).size, sets.length)
  const turned = Object.fromEntries(Object.entries(vocabulary).reverse())
  const again = scoringRulesOf(engine, turned, issueRule)
  assert.deepEqual(again.sha256, scoring.sha256)
})

test('a score is issued anew after three quarters of its credential’s days, rounded up', () => {
  for (const [days, renewAfterDays] of [
    [365, 274],
    [100, 75],
    [1, 1],
  ] as const)
    assert.deepEqual(issueRuleOf({ scoreGroupsMin: 2, credentialValidityDays: days }), {
      groupsMin: 2,
      renewAfterDays,
    })
})
