import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { bandOf } from '../core/parameters.ts'
import {
  type Decision,
  decide,
  type Fresh,
  type Held,
  isPublished,
  scoredIds,
} from './issue-rule.ts'

const rule = { groupsMin: 2, renewAfterDays: 274 }
const issuedAt = new Date('2026-05-14T09:00:00Z')
const now = new Date('2026-05-20T09:00:00Z')
const ids = (...names: string[]) => new Set(names)

const held: Held = {
  evidenceIds: ids('a', 'b', 'c'),
  score: 640,
  low: 500,
  high: 780,
  band: 'strong',
  issuedAt,
  mustReplace: false,
}

function fresh(
  result: Partial<NonNullable<Fresh['result']>> | null,
  over: Partial<Fresh> = {},
): Fresh {
  const { score, low, high, band } = held
  const full = { score, low, high, band, sourceCount: 2, ...result }
  const evidenceIds = held.evidenceIds
  return { evidenceIds, isCorrection: false, now, ...over, result: result === null ? null : full }
}

/** A result without a score. */
const none = { score: null, low: null, high: null, band: null }

const table: readonly [what: string, held: Held | null, fresh: Fresh, Decision][] = [
  ['nothing and enough', null, fresh({}), 'issue'],
  ['nothing and too little mass', null, fresh(none), 'none'],
  ['nothing and one group alone', null, fresh({ sourceCount: 1 }), 'none'],
  ['nothing and refused by the engine', null, fresh(null), 'none'],
  ['a score and the same', held, fresh({}), 'keep'],
  ['moved by 4', held, fresh({ score: 644 }), 'keep'],
  ['moved by 5, up', held, fresh({ score: 645 }), 'issue'],
  ['moved by 5, down', held, fresh({ score: 635 }), 'issue'],
  ['low moved by 19', held, fresh({ low: 481 }), 'keep'],
  ['low moved by 20', held, fresh({ low: 480 }), 'issue'],
  ['high moved by 19', held, fresh({ high: 799 }), 'keep'],
  ['high moved by 20', held, fresh({ high: 800 }), 'issue'],
  ['another band', { ...held, score: 600 }, fresh({ score: 599, band: 'verified' }), 'issue'],
  ['one item more', held, fresh({}, { evidenceIds: ids('a', 'b', 'c', 'd') }), 'issue'],
  ['one item less', held, fresh({}, { evidenceIds: ids('a', 'b') }), 'issue'],
  ['one item for another', held, fresh({}, { evidenceIds: ids('a', 'b', 'd') }), 'issue'],
  ['fallen below the minimum of mass', held, fresh(none), 'withdraw'],
  ['fallen to one group', held, fresh({ sourceCount: 1 }), 'withdraw'],
  ['a correction that changes nothing', held, fresh({}, { isCorrection: true }), 'keep'],
  ['refused by the engine', held, fresh(null), 'keep'],
  ['wrong and refused by the engine', held, fresh(null, { isCorrection: true }), 'withdraw'],
  ['by a recalled engine and the same', { ...held, mustReplace: true }, fresh({}), 'issue'],
  [
    'by a recalled engine and fallen below the minimum',
    { ...held, mustReplace: true },
    fresh(none),
    'withdraw',
  ],
  ['a day too young', held, fresh({}, { now: new Date('2027-02-11T09:00:00Z') }), 'keep'],
  ['old enough', held, fresh({}, { now: new Date('2027-02-12T09:00:00Z') }), 'issue'],
]

for (const [what, before, after, decision] of table)
  test(`${what}: ${decision}`, () => assert.equal(decide(before, after, rule), decision))

test('unvouched claims are not among the scored ids', () => {
  const items = [
    { id: 'a', assurance: 700 },
    { id: 'b', assurance: 0 },
    { id: 'c', assurance: 1 },
  ]
  assert.deepEqual(scoredIds(items), ids('a', 'c'))
})

const freshResults = fc
  .record({
    score: fc.nat(1_000),
    width: fc.nat(500),
    sourceCount: fc.nat(4),
    hasScore: fc.boolean(),
  })
  .map(({ score, width, sourceCount, hasScore }) => {
    if (!hasScore) return { ...none, sourceCount }
    const low = Math.max(0, score - width)
    const high = Math.min(1_000, score + width)
    return { score, low, high, band: bandOf(score), sourceCount }
  })
const idSets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')).map((list) => new Set(list))

test('for any evidence, a score that was just issued is kept, so the rule is stable', () => {
  fc.assert(
    fc.property(freshResults, idSets, fc.boolean(), (result, evidenceIds, isCorrection) => {
      const after = { evidenceIds, result, isCorrection, now }
      const decision = decide(held, after, rule)
      if (decision === 'issue' && !isPublished(result, rule)) assert.fail('no score was issued')
      const issued = { ...held, ...(result as Partial<Held>), evidenceIds, issuedAt: now }
      if (decision === 'issue') assert.equal(decide(issued, after, rule), 'keep')
      else if (decision === 'withdraw') assert.equal(decide(null, after, rule), 'none')
      else assert.equal(decide(held, after, rule), decision)
    }),
  )
})

test('for any evidence, a score exists afterwards exactly if there is enough evidence', () => {
  fc.assert(
    fc.property(freshResults, fc.boolean(), (result, hasScore) => {
      const decision = decide(hasScore ? held : null, fresh(result), rule)
      const isEnough = result.score !== null && result.sourceCount >= 2
      assert.equal(decision === 'keep' || decision === 'issue', isEnough)
    }),
  )
})
