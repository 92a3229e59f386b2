import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canMove, disputeKinds, type Ending, resolutions, verdictOf } from './dispute.ts'

test('a dispute moves from open to under_review to resolved or withdrawn, and in no other way', () => {
  const states = ['open', 'under_review', 'resolved', 'withdrawn'] as const
  const moves = states.flatMap((from) =>
    (['under_review', 'resolved', 'withdrawn'] as const).flatMap((to) =>
      canMove(from, to) ? `${from} → ${to}` : [],
    ),
  )
  assert.deepEqual(moves, [
    'open → under_review',
    'open → withdrawn',
    'under_review → resolved',
    'under_review → withdrawn',
  ])
})

const items = ['a', 'b', 'c']
const about = { kind: 'evidence', items } as const

test('a resolution upholds all disputed items, the named ones or none', () => {
  for (const [ending, named, upheld] of [
    ['upheld', [], items],
    ['partly_upheld', ['c', 'a'], ['c', 'a']],
    ['rejected', [], []],
    ['withdrawn', [], []],
  ] as const)
    assert.deepEqual(verdictOf({ ending, upheldIds: named }, about), { upheld })
})

test('a partly upheld dispute has at least one upheld item, not all, and none of another dispute', () => {
  for (const upheldIds of [[], items, ['a', 'd'], ['d']])
    assert.ok(
      'unusable' in verdictOf({ ending: 'partly_upheld', upheldIds }, about),
      upheldIds.join(),
    )
})

test('a decision names items only if it is partly_upheld', () => {
  for (const ending of ['upheld', 'rejected', 'withdrawn'] as const)
    assert.ok('unusable' in verdictOf({ ending, upheldIds: ['a'] }, about), ending)
})

test('a dispute about the score or the identity is decided as a whole', () => {
  const endings: readonly Ending[] = [...resolutions, 'withdrawn']
  for (const kind of disputeKinds.filter((one) => one !== 'evidence'))
    for (const ending of endings) {
      const verdict = verdictOf({ ending, upheldIds: [] }, { kind, items: [] })
      if (ending === 'partly_upheld') assert.ok('unusable' in verdict)
      else assert.deepEqual(verdict, { upheld: [] })
    }
})
