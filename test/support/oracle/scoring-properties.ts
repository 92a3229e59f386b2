/**
 * The promises of HSC-2 for any evidence, as `docs/scoring-properties.md` numbers them. `npm test`
 * checks each on 2,000 states, `npm run bench -- scoring-properties` on 50,000. A state follows from
 * its seed.
 */
import type { Evidence, ScoreInput, SkillRule } from '../../../src/scoring/core/evidence.ts'
import { ruleOf } from '../../../src/scoring/core/evidence.ts'
import { explain } from '../../../src/scoring/core/explain.ts'
import { parameters } from '../../../src/scoring/core/parameters.ts'
import { type ScoreResult, score, skillOf, walk } from '../../../src/scoring/core/score.ts'
import { type Draws, draws } from './draws.ts'

export interface Property {
  name: string
  /** Returns what is wrong, or null. */
  fault(draw: Draws): string | null
}

const asOfDay = 20_400
const types = ['assessment', 'work_product', 'peer_review', 'credential'] as const
const weights = [
  [350, 300, 150, 200],
  [750, 250, 0, 0],
  [150, 300, 550, 0],
  [1_000, 0, 0, 0],
  [500, 250, 250, 0],
  [400, 8, 392, 200],
] as const
const halfLives = [0, 1, 6, 12, 24, 48, 72, 240, 1_200] as const
const assurances = [100, 400, 700, 1_000] as const

/** In a quarter of the states the items are a whole number of four years apart. */
function stateFrom(draw: Draws): ScoreInput {
  const isApart = draw(4) === 0
  const skillCount = 1 + draw(7)
  const rules = Array.from({ length: skillCount }, (_, at): [string, SkillRule] => {
    const [a = 0, b = 0, c = 0, d = 0] = draw.of(weights)
    const halfLifeMonths = isApart ? draw.of([24, 48, 96]) : draw.of(halfLives)
    const weightPermille = { assessment: a, work_product: b, peer_review: c, credential: d }
    return [`hss:s${at}`, { halfLifeMonths, weightPermille }]
  })
  const evidence = Array.from({ length: draw(41) }, (_, at) =>
    itemFrom(draw, { id: `e${1_000 + at}`, skillCount, isApart }),
  )
  return { evidence, vocabulary: Object.fromEntries(rules), asOfDay }
}

interface Kind {
  id: string
  skillCount: number
  isApart?: boolean
}

function itemFrom(draw: Draws, { id, skillCount, isApart = draw(4) === 0 }: Kind): Evidence {
  const age = isApart ? 1_461 * draw(4) : draw(draw.of([2, 400, 4_000]))
  return {
    id,
    skillId: `hss:s${draw(skillCount)}`,
    type: draw.of(types),
    group: `g${draw(5)}`,
    assurance: draw.of(assurances),
    value: draw(4) === 0 ? draw.of([0, 250, 500, 750, 1_000]) : draw(1_001),
    observedDay: asOfDay - age,
    digest: `digest of ${id}`,
  }
}

function extraFrom(draw: Draws, input: ScoreInput): Evidence {
  const skillCount = Object.keys(input.vocabulary).length
  return itemFrom(draw, { id: draw.of(['a', 'z']), skillCount })
}

function withEvidence(input: ScoreInput, evidence: readonly Evidence[]): ScoreInput {
  return { ...input, evidence }
}

function plus(input: ScoreInput, ...extra: Evidence[]): ScoreInput {
  return withEvidence(input, [...input.evidence, ...extra])
}

function skillIn(result: ScoreResult, skillId: string) {
  return result.skills.find((skill) => skill.skillId === skillId)
}

type Name = 'score' | 'low' | 'high'

/** Returns a fault if a value of the worker or of a skill fell. */
function fallen(before: ScoreResult, after: ScoreResult, names: readonly Name[]): string | null {
  const pairs = before.skills.map((skill) => [skill, skillIn(after, skill.skillId)] as const)
  for (const [was, is] of [[before, after] as const, ...pairs])
    for (const name of names) {
      const [old, now] = [was[name], is?.[name] ?? null]
      if (old !== null && (now === null || now < old)) return `${name} fell from ${old} to ${now}`
    }
  return null
}

export const properties: readonly Property[] = [
  {
    name: 'P1: an item at or above the score of its skill lowers no score and no number of sources',
    fault(draw) {
      const input = stateFrom(draw)
      const before = score(input)
      const extra = extraFrom(draw, input)
      const least = skillIn(before, extra.skillId)?.score ?? 0
      const value = draw(3) === 0 ? least : least + draw(1_001 - least)
      const after = score(plus(input, { ...extra, value }))
      if (after.sourceCount < before.sourceCount) return 'the number of sources fell'
      return fallen(before, after, ['score'])
    },
  },
  {
    name: 'P1: an item at or below the score of its skill does not raise the score of the skill',
    fault(draw) {
      const input = stateFrom(draw)
      const extra = extraFrom(draw, input)
      const before = skillIn(score(input), extra.skillId)?.score ?? null
      if (before === null) return null
      const value = draw(3) === 0 ? before : draw(before + 1)
      const after = skillIn(score(plus(input, { ...extra, value })), extra.skillId)?.score ?? 0
      return after > before ? `the score rose from ${before} to ${after}` : null
    },
  },
  {
    name: 'P1: a higher value lowers no score, low or high',
    fault(draw) {
      const input = stateFrom(draw)
      const raised = input.evidence[draw(input.evidence.length || 1)]
      if (raised === undefined) return null
      const value = raised.value + draw(1_001 - raised.value)
      const evidence = input.evidence.map((item) => (item === raised ? { ...item, value } : item))
      const after = score(withEvidence(input, evidence))
      return fallen(score(input), after, ['score', 'low', 'high'])
    },
  },
  {
    name: 'P3: a cell weighs and pulls at most like its full item, a type like two',
    fault(draw) {
      const input = stateFrom(draw)
      const skillId = 'hss:s0'
      const rule = ruleOf(input.vocabulary, skillId)
      const type = draw.of(types)
      const permille = rule?.weightPermille[type] ?? 0
      if (rule === undefined || permille === 0) return null
      const ofType = input.evidence.map((item) => ({ ...item, skillId, type }))
      const point = draw(1_001)
      for (const [items, count] of [
        [ofType.filter(({ group }) => group === 'g0'), 1],
        [ofType, 2],
      ] as const) {
        const most = Math.max(0, ...items.map(({ assurance }) => assurance)) * count
        const skill = skillOf([...items], rule, asOfDay)
        const share = 2 ** 20
        const mass = walk(skill, null) / share
        const pull = Math.abs(walk(skill, point)) / share
        if (mass > Math.min(permille, 350) * most) return `mass ${mass}`
        if (pull > Math.min(permille, 500) * 200 * most) return `pull ${pull}`
      }
      return null
    },
  },
  {
    name: 'P3: two groups that agree are moved by at most 200 × b ÷ (a − b) by groups of less than half their assurance',
    fault(draw) {
      const [a, b] = draw.of([
        [1_000, 400],
        [1_000, 100],
        [700, 100],
        [400, 100],
        [1_000, 499],
      ] as const)
      const vocabulary = { 'hss:s0': { halfLifeMonths: 24, weightPermille: { assessment: 350 } } }
      const agreed = draw(1_001)
      const one = { ...itemFrom(draw, { id: 'a', skillCount: 1 }), type: 'assessment' }
      const own = [0, 1].map((at) => {
        const id = `a${at}`
        return { ...one, id, digest: id, group: id, assurance: a, value: agreed }
      })
      const others = Array.from({ length: 1 + draw(30) }, (_, at) => {
        const id = `b${at}`
        return { ...one, id, digest: id, group: id, assurance: b, value: draw(1_001) }
      })
      const after = score({ vocabulary, asOfDay, evidence: [...own, ...others] }).skills[0]?.score
      if (after === undefined || after === null) return null
      const moved = Math.abs(after - agreed)
      return moved > Math.ceil((200 * b) / (a - b)) ? `moved by ${moved}` : null
    },
  },
  {
    name: 'P4: a skill has a score exactly from the minimum of mass, the worker with a scored skill',
    fault(draw) {
      const { skills, score: whole, low, high, band } = score(stateFrom(draw))
      for (const skill of skills)
        if ((skill.score !== null) !== skill.mass >= parameters.massMin) return skill.skillId
      const isScored = skills.some((skill) => skill.score !== null)
      const values = [whole, low, high, band]
      return values.every((value) => (value !== null) === isScored) ? null : 'the worker'
    },
  },
  {
    name: 'P5: waiting moves a score by at most 1, adds no mass, and moves the worker’s score only if a skill loses its score or an item expires',
    fault(draw) {
      const input = stateFrom(draw)
      const days = draw(2) === 0 ? 1 + draw(60) : 1_461 * (1 + draw(2)) + draw(3)
      const [before, after] = [score(input), score({ ...input, asOfDay: asOfDay + days })]
      // The fresh mass changes if an item expires: then the score of the worker may move further.
      let isLost = false
      for (const was of before.skills) {
        const is = skillIn(after, was.skillId)
        if ((is?.mass ?? 0) > was.mass) return `${was.skillId} gained mass`
        if (was.score === null) continue
        if (is?.freshMass !== was.freshMass) isLost = true
        const now = is?.score ?? null
        if (now === null) isLost = true
        else if (Math.abs(now - was.score) > 1) return `${was.score} became ${now}`
      }
      const moved = Math.abs((before.score ?? 0) - (after.score ?? 0))
      return isLost || moved <= 1 ? null : `the worker’s score moved by ${moved}`
    },
  },
  {
    name: 'P8: any order of evidence and rules gives the same bytes, and all numbers are whole and safe',
    fault(draw) {
      const input = stateFrom(draw)
      const one = JSON.stringify(explain(input))
      const vocabulary = Object.fromEntries(
        draw.shuffled(Object.entries(input.vocabulary)).map(([id, rule]) => {
          const weightPermille = draw.shuffled(Object.entries(rule.weightPermille))
          return [id, { ...rule, weightPermille: Object.fromEntries(weightPermille) }]
        }),
      )
      const evidence = draw.shuffled(input.evidence)
      if (JSON.stringify(explain({ ...input, vocabulary, evidence })) !== one)
        return 'another order'
      const numbers = one.match(/-?\d[\d.e+]*/g) ?? []
      return numbers.every((text) => Number.isSafeInteger(Number(text))) ? null : 'a fraction'
    },
  },
  {
    name: 'P9: a higher assurance of a result at or above the score lowers no score and no mass',
    fault(draw) {
      const input = stateFrom(draw)
      const before = score(input)
      const raised = input.evidence[draw(input.evidence.length || 1)]
      if (raised === undefined) return null
      if (raised.value < (skillIn(before, raised.skillId)?.score ?? 0)) return null
      const assurance = draw.of(assurances.filter((one) => one >= raised.assurance))
      const evidence = input.evidence.map((item) =>
        item === raised ? { ...item, assurance } : item,
      )
      const after = score(withEvidence(input, evidence))
      for (const { skillId, mass } of before.skills)
        if ((skillIn(after, skillId)?.mass ?? 0) < mass) return `${skillId} lost mass`
      return fallen(before, after, ['score'])
    },
  },
  {
    name: 'P9: removing an item adds no mass',
    fault(draw) {
      const input = stateFrom(draw)
      const before = score(input)
      const removed = draw(input.evidence.length || 1)
      const after = score(withEvidence(input, input.evidence.toSpliced(removed, 1)))
      for (const { skillId, mass } of after.skills)
        if (mass > (skillIn(before, skillId)?.mass ?? 0)) return `${skillId} gained mass`
      return null
    },
  },
  {
    name: 'P9: excluded, future, unknown and claimed items and later duplicates change no byte',
    fault(draw) {
      const input = stateFrom(draw)
      const extra = { ...extraFrom(draw, input), id: 'z' }
      const copied = input.evidence[draw(input.evidence.length || 1)]
      const idle: Evidence[] = [
        { ...extra, id: 'z1', excluded: true },
        { ...extra, id: 'z2', observedDay: asOfDay + 1 + draw(100) },
        { ...extra, id: 'z3', skillId: draw.of(['hss:unknown', 'constructor', '__proto__']) },
        { ...extra, id: 'z4', type: draw.of(['self_attestation', 'constructor', '__proto__']) },
        { ...extra, id: 'z5', assurance: 0 },
      ]
      if (copied !== undefined) {
        const { skillId, group, digest, observedDay } = copied
        idle.push({ ...extra, id: 'z6', skillId, group, digest, observedDay })
      }
      const counted = copied === undefined || explain(input).items.some(isCounted(copied.id))
      const added = draw.shuffled(counted ? idle : idle.slice(0, 5))
      const [before, after] = [score(input), score(plus(input, ...added))]
      return JSON.stringify(before) === JSON.stringify(after) ? null : 'another result'
    },
  },
  {
    name: 'P10: the parts sum exactly, and the best addition lowers nothing',
    fault(draw) {
      const input = stateFrom(draw)
      const { result, items, skills } = explain(input)
      if (items.length !== input.evidence.length) return 'an item is missing'
      for (const { skillId, rest, raise } of skills) {
        const skill = skillIn(result, skillId)
        const own = items.filter((item) => item.skillId === skillId)
        const sum = (name: 'mass' | 'pull') => own.reduce((total, item) => total + item[name], 0)
        if (Math.floor(sum('mass') / 2 ** 20) !== skill?.mass) return `the mass of ${skillId}`
        if (sum('pull') !== rest) return `the pulls of ${skillId}`
        if (raise === null) continue
        if (raise.low < (skill.low ?? 0)) return `the low of ${skillId}`
        if (raise.workerScore < (result.score ?? 0)) return 'the score of the worker'
      }
      return null
    },
  },
]

function isCounted(wanted: string): (item: { id: string; reason: string | null }) => boolean {
  return ({ id, reason }) => id === wanted && reason === null
}

/** Returns the fault of the first state that breaks the promise, with its seed, or null. */
export function firstFault({ name, fault }: Property, states: number, seed: number): string | null {
  for (let state = 0; state < states; state++) {
    const found = fault(draws(seed * 1_000_003 + state))
    if (found !== null) return `${name}: ${found} (state ${state} of seed ${seed})`
  }
  return null
}
