import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOfDay, item } from '../../../test/support/build/score-inputs.ts'
import { draws } from '../../../test/support/oracle/draws.ts'
import type { Evidence } from './evidence.ts'
import { explain } from './explain.ts'
import { score } from './score.ts'

const vocabulary = {
  'hss:a': {
    halfLifeMonths: 24,
    weightPermille: { assessment: 350, peer_review: 150, work_product: 300 },
  },
  'hss:b': { halfLifeMonths: 0, weightPermille: { assessment: 1_000 } },
}

function explained(...evidence: Evidence[]) {
  return explain({ evidence, vocabulary, asOfDay })
}

test('an item that counts shows weight, share, its part of the mass, its pull, its effect and its half-life', () => {
  const { items, skills, result } = explained(
    item({ id: 'e1', value: 820, observedDay: asOfDay - 30 }),
    item({ id: 'e2', type: 'peer_review', value: 700, assurance: 400, observedDay: asOfDay - 200 }),
    item({
      id: 'e3',
      type: 'work_product',
      value: 760,
      assurance: 700,
      observedDay: asOfDay - 400,
    }),
  )
  const [first, second] = items
  assert.deepEqual(first, {
    id: 'e1',
    skillId: 'hss:a',
    reason: null,
    weight: 350_000,
    share: 1_019_150,
    mass: 356_702_500_000,
    pull: 9_987_670_000_000,
    effect: first?.effect,
    halvesInDays: 731,
  })
  assert.deepEqual(
    [second?.weight, second?.share, second?.mass, second?.pull],
    [60_000, 867_327, 52_039_620_000, -4_787_645_040_000],
  )
  assert.ok((first?.effect ?? 0) > 0)
  assert.equal(skills[0]?.rest, 379_049_920_000)
  assert.equal(result.skills[0]?.score, 792)
})

test('an item that does not count has its reason, no part, and no effect', () => {
  const { items } = explained(
    item({ id: 'e1', group: 'g', digest: 'd' }),
    item({ id: 'e2', group: 'g', digest: 'd', value: 1_000 }),
    item({ id: 'e3', skillId: 'hss:unknown' }),
  )
  for (const [at, reason] of [
    [1, 'duplicate'],
    [2, 'unknown_skill'],
  ] as const)
    assert.deepEqual(items[at], {
      id: `e${at + 1}`,
      skillId: at === 1 ? 'hss:a' : 'hss:unknown',
      reason,
      weight: 0,
      share: 0,
      mass: 0,
      pull: 0,
      effect: 0,
      halvesInDays: null,
    })
})

test('the effect of the first of two copies is the difference to the score in which the second counts', () => {
  const same = { group: 'g', digest: 'd' }
  const other = item({ id: 'e3', skillId: 'hss:b', value: 600 })
  const { items } = explained(
    item({ id: 'e1', ...same, value: 900 }),
    item({ id: 'e2', ...same, value: 880 }),
    other,
  )
  const effect = items[0]?.effect ?? 0
  assert.ok(effect > 0 && effect <= 20, `${effect}`)
})

test('the effect of the only item of the only skill is null, because there is no score without it', () => {
  assert.equal(explained(item({ id: 'e1' })).items[0]?.effect, null)
})

test('a skill has its last day with a score: the day before, the mass reaches the minimum, and on the day it does not', () => {
  const draw = draws(33)
  for (let state = 0; state < 300; state++) {
    const halfLifeMonths = draw.of([1, 6, 24, 72, 300, 1_200])
    const rules = { 'hss:a': { ...vocabulary['hss:a'], halfLifeMonths } }
    const evidence = Array.from({ length: 2 + draw(5) }, (_, at) =>
      item({
        id: `e${at}`,
        type: draw.of(['assessment', 'work_product', 'peer_review']),
        assurance: draw.of([400, 700, 1_000]),
        observedDay: asOfDay - draw(40 * halfLifeMonths),
      }),
    )
    const { endsOnDay: ends = null } =
      explain({ evidence, vocabulary: rules, asOfDay }).skills[0] ?? {}
    const scoreOn = (day: number) =>
      score({ evidence, vocabulary: rules, asOfDay: day }).skills[0]?.score ?? null
    if (ends === null) assert.equal(scoreOn(asOfDay), null)
    else assert.deepEqual([scoreOn(ends - 1) === null, scoreOn(ends)], [false, null])
  }
})

test('a skill without decay has no last day, and its items never halve', () => {
  const { skills, items } = explained(item({ id: 'e1', skillId: 'hss:b', observedDay: 0 }))
  assert.equal(skills[0]?.endsOnDay, null)
  assert.equal(items[0]?.halvesInDays, null)
})

test('the addition that raises low most is the first of the best types, at the score of the skill', () => {
  const evidence = [item({ id: 'e1', value: 640 })]
  const { skills, result } = explained(...evidence)
  const { raise } = skills[0] ?? assert.fail('the skill is explained')
  const level = result.skills[0]?.score
  assert.deepEqual([raise?.type, raise?.value], ['assessment', level])
  for (const type of Object.keys(vocabulary['hss:a'].weightPermille)) {
    const more = [...evidence, item({ id: 'e3', type, value: level ?? 0 })]
    const { low = 0 } = score({ evidence: more, vocabulary, asOfDay }).skills[0] ?? {}
    assert.ok((low ?? 0) <= (raise?.low ?? 0))
  }
})

test('a skill without a score names the addition that gives it one, and no day of its end', () => {
  const { skills } = explained(item({ id: 'e1', type: 'peer_review', assurance: 400, value: 700 }))
  const [skill] = skills
  assert.deepEqual([skill?.endsOnDay, skill?.rest], [null, 0])
  assert.deepEqual([skill?.raise?.type, skill?.raise?.value], ['assessment', 500])
})

test('a skill of more than 1,000 items is explained without effects', () => {
  const evidence = Array.from({ length: 1_001 }, (_, at) =>
    item({ id: `e${at}`, value: at % 1_000 }),
  )
  const { items, skills } = explained(...evidence)
  assert.ok(items.every(({ effect }) => effect === null))
  const mass = items.reduce((sum, part) => sum + part.mass, 0)
  assert.equal(Math.floor(mass / 2 ** 20), 700_000)
  assert.equal(skills.length, 1)
})
