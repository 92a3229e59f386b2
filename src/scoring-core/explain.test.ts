import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOfDay, item } from '../../test/support/build/score-inputs.ts'
import type { Evidence } from './evidence.ts'
import { explain } from './explain.ts'
import { score } from './score.ts'

const vocabulary = {
  'hss:a': {
    halfLifeMonths: 24,
    weightPermille: { work_product: 300, assessment: 350, peer_review: 350 },
  },
  'hss:b': { halfLifeMonths: 0, weightPermille: { assessment: 1_000 } },
}

function explained(...evidence: Evidence[]) {
  return explain({ evidence, vocabulary, asOfDay })
}

test('every dropped item has its reason and counts for nothing', () => {
  const { items, result } = explained(
    item({ id: 'e1', skillId: 'hss:unknown', type: 'unknown', assurance: 0 }),
    item({ id: 'e2', type: 'self_attestation', observedDay: asOfDay + 1 }),
    item({ id: 'e3', observedDay: asOfDay + 1, excluded: true }),
    item({ id: 'e4', excluded: true, assurance: 0 }),
    item({ id: 'e5', assurance: 0 }),
    item({ id: 'e6', group: 'g', digest: 'd' }),
    item({ id: 'e7', group: 'g', digest: 'd', type: 'work_product' }),
  )
  assert.deepEqual(
    items.map(({ id, reason }) => [id, reason]),
    [
      ['e1', 'unknown_skill'],
      ['e2', 'unknown_type'],
      ['e3', 'future'],
      ['e4', 'excluded'],
      ['e5', 'assurance_zero'],
      ['e6', null],
      ['e7', 'duplicate'],
    ],
  )
  assert.equal(result.evidenceCount, 1)
  for (const dropped of items.filter(({ reason }) => reason !== null)) {
    const { decay, rank, mass, weighted, effect, halvesInDays } = dropped
    assert.deepEqual([decay, rank, mass, weighted, effect, halvesInDays], [0, 0, 0, 0, 0, null])
  }
  assert.equal(items.at(-1)?.base, 300_000)
})

test('an item that counts shows base, decay, rank, mass, its share of A, its effect and its half-life date', () => {
  const evidence = [
    item({ id: 'e1', value: 820, observedDay: asOfDay - 30, group: 'g' }),
    item({ id: 'e2', value: 600, assurance: 400, observedDay: asOfDay - 30, group: 'g' }),
  ]
  const { items, result } = explained(...evidence)
  const [first] = evidence as [Evidence, Evidence]
  const alone = score({ evidence: [first], vocabulary, asOfDay })
  assert.deepEqual(items[0], {
    id: 'e1',
    skillId: 'hss:a',
    reason: null,
    base: 350_000,
    decay: 1_019_150,
    rank: 1,
    mass: 340_178,
    weighted: 340_178 * 820,
    effect: items[0]?.effect,
    halvesInDays: 731,
  })
  const { rank, mass, effect } = items[1] ?? assert.fail('the second item is told')
  // 350 × 400 after 30 days of 24 months, halved because it is second in its group.
  assert.deepEqual([rank, mass], [2, ((140_000 * 1_019_150) / 2 ** 20 / 2) | 0])
  assert.equal(effect, result.score - alone.score)
  assert.ok(effect < 0, 'a result below the mean of the skill lowers it')
})

test('the effect of an item with a duplicate is the difference to the score in which the duplicate replaces it', () => {
  const same = { group: 'g', digest: 'd' }
  const { items } = explained(
    item({ id: 'e1', ...same, value: 900 }),
    item({ id: 'e2', ...same, value: 899 }),
  )
  const [kept] = items
  assert.ok(kept !== undefined && kept.reason === null && kept.effect <= 1, `${kept?.effect}`)
})

test('the effect of an item at the end of a group is exact if its duplicate of another type stands in front', () => {
  const crowd = Array.from({ length: 24 }, (_, at) => item({ id: `e${at + 10}`, group: 'g' }))
  const last = item({ id: 'e98', group: 'g', digest: 'd', value: 100, observedDay: asOfDay - 300 })
  const other = item({ ...last, id: 'e99', type: 'work_product' })
  const { items, result } = explained(...crowd, last, other)
  const told = items.find(({ id }) => id === 'e98') ?? assert.fail('the item is told')
  assert.deepEqual([told.rank, told.mass], [25, 0])
  const without = score({ evidence: [...crowd, other], vocabulary, asOfDay })
  assert.equal(told.effect, result.score - without.score)
  assert.ok(told.effect > 0)
})

test('if one artefact is sent twice, the lower id counts in either order', () => {
  const [one, other] = ['e1', 'e2'].map((id) => item({ id, group: 'g', digest: 'd' }))
  assert.ok(one !== undefined && other !== undefined)
  for (const evidence of [
    [one, other],
    [other, one],
  ])
    assert.deepEqual(
      explained(...evidence).items.map(({ id, reason }) => [id, reason]),
      [
        ['e1', null],
        ['e2', 'duplicate'],
      ],
    )
})

test('if two items have equal weight and value, the lower id stands first in its group', () => {
  const { items } = explained(
    item({ id: 'e2', group: 'g', digest: 'a' }),
    item({ id: 'e1', group: 'g', digest: 'b' }),
  )
  assert.deepEqual(
    items.map(({ id, rank }) => [id, rank]),
    [
      ['e1', 1],
      ['e2', 2],
    ],
  )
})

test('the effect of the only item of the only skill is the whole score', () => {
  const { items, result } = explained(item({ id: 'e1' }))
  assert.equal(items[0]?.effect, result.score)
})

test('evidence without decay has no half-life date', () => {
  const { items } = explained(item({ id: 'e1', skillId: 'hss:b', observedDay: 0 }))
  assert.equal(items[0]?.halvesInDays, null)
  assert.equal(items[0]?.decay, 2 ** 20)
})

test('the largest rise of low comes from the heaviest type at the present level from a new source', () => {
  const evidence = [
    item({ id: 'e1', value: 640 }),
    item({ id: 'e2', value: 700, type: 'work_product' }),
  ]
  const { skills, result } = explained(...evidence)
  const { skillId, raise } = skills[0] ?? assert.fail('the skill is told')
  const { score: level, low } = result.skills[0] ?? assert.fail('the skill is scored')
  // Two types are equally heavy, so the first by name is chosen.
  assert.deepEqual({ type: raise.type, value: raise.value }, { type: 'assessment', value: level })
  assert.ok(raise.low > low)
  for (const type of ['assessment', 'work_product', 'peer_review']) {
    const more = [...evidence, item({ id: 'e3', skillId, type, value: level })]
    const after = score({ evidence: more, vocabulary, asOfDay }).skills[0]?.low ?? 0
    if (type === raise.type) assert.equal(after, raise.low)
    assert.ok(after <= raise.low)
  }
})

test('the last of a large group has no weight left and no half-life date', () => {
  const { items } = explained(...crowdOf(30))
  const [first, last] = [items[0], items.at(-1)]
  assert.deepEqual([first?.rank, last?.rank, last?.mass], [1, 30, 0])
  assert.deepEqual([first?.halvesInDays, last?.halvesInDays], [731, null])
})

test('the last of a large group suppresses its duplicate, which would count under its own type', () => {
  const evidence = crowdOf(22)
  const last = evidence.at(-1) ?? assert.fail('there is a last')
  const { digest, group } = last
  const hidden = item({ id: 'hidden', digest, group, type: 'work_product', value: 0 })
  const { items, result } = explained(...evidence, hidden)
  const without = score({ evidence: [...evidence.slice(0, -1), hidden], vocabulary, asOfDay })
  const told = items.find(({ id }) => id === last.id)
  assert.deepEqual([told?.rank, told?.mass], [22, 0])
  assert.equal(told?.effect, result.score - without.score)
  assert.ok(told !== undefined && told.effect > 0)
})

/**
 * Items of one group and type, each later one older, so that they stand in the order of their ids.
 */
function crowdOf(count: number): Evidence[] {
  return Array.from({ length: count }, (_, at) =>
    item({ id: `e${String(at).padStart(2, '0')}`, group: 'g', observedDay: asOfDay - at }),
  )
}

test('500 items of one skill and three groups are explained by weighing one group for each item', () => {
  const evidence = Array.from({ length: 500 }, (_, at) =>
    item({ id: `e${at}`, group: `g${at % 3}`, value: at * 2, observedDay: asOfDay - at }),
  )
  const { items, skills } = explained(...evidence)
  assert.equal(items.length, 500)
  const mass = items.reduce((sum, part) => sum + part.mass, 0)
  assert.equal(mass, skills[0]?.mass)
})
