/**
 * The golden vectors of `vectors/scoring-goldens.json`: named edge cases, then random inputs from a
 * fixed seed, each with the result of the oracle. The scoring core does not compute them.
 * `write-scoring-goldens.ts` writes the file.
 */
import type { Evidence, Vocabulary } from '../../../src/scoring-core/evidence.ts'
import { oracleScore } from '../oracle/hsc-oracle.ts'
import { asOfDay, item } from './score-inputs.ts'

export const goldensPath = 'vectors/scoring-goldens.json'

const weights = { assessment: 350, work_product: 300, peer_review: 150, credential: 200 }

/** The name of each skill of an edge case says how its rule differs. */
const vocabulary: Vocabulary = {
  'hss:a': { halfLifeMonths: 24, weightPermille: weights },
  'hss:b': { halfLifeMonths: 24, weightPermille: weights },
  'hss:b-2': { halfLifeMonths: 36, weightPermille: weights },
  'hss:c': { halfLifeMonths: 12, weightPermille: weights },
  'hss:d': { halfLifeMonths: 60, weightPermille: weights },
  'hss:e': { halfLifeMonths: 72, weightPermille: weights },
  'hss:f': { halfLifeMonths: 18, weightPermille: weights },
  'hss:g': { halfLifeMonths: 240, weightPermille: weights },
  'hss:one-month': { halfLifeMonths: 1, weightPermille: weights },
  'hss:century': { halfLifeMonths: 1_200, weightPermille: weights },
  'hss:undecaying': { halfLifeMonths: 0, weightPermille: weights },
  'hss:all-on-one': { halfLifeMonths: 0, weightPermille: { assessment: 1_000, peer_review: 0 } },
  'hss:light': { halfLifeMonths: 24, weightPermille: { assessment: 1, work_product: 999 } },
}

interface Named {
  name: string
  evidence: readonly Evidence[]
}

type Given = Partial<Evidence>

/** Returns items with the ids e0, e1, … */
function of(...given: readonly Given[]): Evidence[] {
  return given.map((one, at) => item({ id: `e${at}`, ...one }))
}

function times(count: number, given: (at: number) => Given): Given[] {
  return Array.from({ length: count }, (_, at) => given(at))
}

const ago = (days: number): Given => ({ observedDay: asOfDay - days })
const one = { group: 'g', digest: 'd' }
const ladderSkills = ['hss:a', 'hss:b', 'hss:b-2', 'hss:c', 'hss:d', 'hss:e', 'hss:f', 'hss:g']

const edgeCases: readonly Named[] = [
  { name: 'no evidence', evidence: [] },

  { name: 'dropped: unknown skill', evidence: of({ skillId: 'hss:unknown' }, {}) },
  { name: 'dropped: unknown type', evidence: of({ type: 'self_attestation' }, {}) },
  {
    name: 'dropped: a name every object has is no skill',
    evidence: of({ skillId: 'constructor' }),
  },
  { name: 'dropped: a name every object has is no type', evidence: of({ type: 'toString' }) },
  { name: 'dropped: observed tomorrow', evidence: of(ago(-1), { value: 500 }) },
  { name: 'not dropped: observed today', evidence: of(ago(0)) },
  { name: 'dropped: excluded', evidence: of({ excluded: true }, { value: 500 }) },
  { name: 'not dropped: excluded is false', evidence: of({ excluded: false }) },
  { name: 'dropped: no assurance', evidence: of({ assurance: 0 }, { value: 500 }) },
  { name: 'not dropped: the least assurance', evidence: of({ assurance: 1 }) },
  {
    name: 'everything dropped, each for a reason of its own',
    evidence: of(
      { skillId: 'hss:unknown' },
      { type: 'self_attestation' },
      ago(-40),
      { excluded: true },
      { assurance: 0 },
    ),
  },
  {
    name: 'a type of weight 0 counts as an item and weighs nothing',
    evidence: of({ skillId: 'hss:all-on-one', type: 'peer_review' }),
  },

  {
    name: 'duplicate: the highest base stays, though older and lower',
    evidence: of(
      { ...one, assurance: 700, value: 100, ...ago(900) },
      { ...one, assurance: 400, value: 999 },
    ),
  },
  {
    name: 'duplicate: of equal base the newest stays',
    evidence: of({ ...one, value: 900, ...ago(2) }, { ...one, value: 100, ...ago(1) }),
  },
  {
    name: 'duplicate: of equal base and day the higher value stays',
    evidence: of({ ...one, value: 700 }, { ...one, value: 701 }),
  },
  { name: 'duplicate: of equals the lower id stays', evidence: of(one, one, one) },
  {
    name: 'duplicate: a heavier type of the same artefact stays',
    evidence: of({ ...one, type: 'peer_review', value: 990 }, { ...one, value: 300 }),
  },
  { name: 'no duplicate: another group', evidence: of(one, { ...one, group: 'h' }) },
  { name: 'no duplicate: another skill', evidence: of(one, { ...one, skillId: 'hss:b' }) },
  {
    name: 'a duplicate that does not count takes no place',
    evidence: of({ ...one, excluded: true, value: 999 }, { ...one, value: 400 }),
  },

  ...[0, 1, 30, 365, 730, 731, 1_461, 5_844, 14_610, 20_000].map((days) => ({
    name: `decay: ${days} days at a half-life of 24 months`,
    evidence: of(ago(days)),
  })),
  ...[30, 31, 60, 61, 517, 518, 547, 548, 640, 1_000].map((days) => ({
    name: `decay: ${days} days at a half-life of one month`,
    evidence: of({ skillId: 'hss:one-month', ...ago(days) }),
  })),
  ...[1, 36_525].map((days) => ({
    name: `decay: ${days} days at a half-life of a hundred years`,
    evidence: of({ skillId: 'hss:century', ...ago(days) }),
  })),
  ...[0, 20_000].map((days) => ({
    name: `decay: ${days} days without decay`,
    evidence: of({ skillId: 'hss:undecaying', ...ago(days) }),
  })),

  ...[2, 3, 10, 20, 21, 22, 60].map((count) => ({
    name: `one group says it ${count} times`,
    evidence: of(...times(count, () => ({ group: 'flood' }))),
  })),
  {
    name: 'one group in four types: each type is discounted by itself',
    evidence: of(...Object.keys(weights).flatMap((type) => times(3, () => ({ group: 'g', type })))),
  },
  {
    name: 'the heaviest first, not the newest',
    evidence: of(
      { group: 'g', assurance: 1_000, value: 900, ...ago(300) },
      { group: 'g', assurance: 100, value: 900 },
    ),
  },
  {
    name: 'of equal weight the higher value first',
    evidence: of({ group: 'g', value: 200 }, { group: 'g', value: 900 }),
  },
  {
    name: 'of equal weight and value the lower id first',
    evidence: of({ group: 'g' }, { group: 'g' }),
  },
  {
    name: 'a mass of one millionth is halved to nothing',
    evidence: of(
      ...times(3, () => ({ group: 'g', skillId: 'hss:light', assurance: 1, value: 1_000 })),
    ),
  },
  {
    name: 'weighed down by decay below the next, it is counted after it',
    evidence: of({ group: 'g', value: 900, ...ago(800) }, { group: 'g', value: 300, ...ago(1) }),
  },

  ...[0, 1, 249, 250, 251, 499, 500, 750, 999, 1_000].map((value) => ({
    name: `one fresh result of ${value}`,
    evidence: of({ value }),
  })),
  ...[1, 2, 3, 5, 8, 13, 30].map((count) => ({
    name: `${count} independent results of 800`,
    evidence: of(...times(count, () => ({}))),
  })),
  ...[0, 250, 1_000].map((value) => ({
    name: `40 independent results of ${value}: near the end, never past it`,
    evidence: of(...times(40, () => ({ value }))),
  })),
  {
    name: 'rounding: score and low down, high up',
    evidence: of({ value: 333, assurance: 333 }, { value: 667, assurance: 667 }),
  },
  {
    name: 'rounding: a quotient without remainder stays',
    evidence: of({ skillId: 'hss:all-on-one', value: 800, assurance: 100 }),
  },
  { name: 'verified: mass just below', evidence: of({ type: 'work_product', assurance: 999 }) },
  { name: 'verified: mass exactly', evidence: of({ type: 'work_product' }) },
  {
    name: 'verified: enough mass, no item assured enough',
    evidence: of(...times(4, () => ({ assurance: 699 }))),
  },
  {
    name: 'verified: enough mass, one item assured just enough',
    evidence: of(...times(3, () => ({ assurance: 400 })), { assurance: 700 }),
  },

  ...[1, 2, 3, 4, 5, 6, 8].map((count) => ({
    name: `ladder: ${count} equal skills`,
    evidence: of(...ladderSkills.slice(0, count).map((skillId) => ({ skillId }))),
  })),
  ...[2, 5, 8].map((count) => ({
    name: `ladder: ${count} skills, each below the one before`,
    evidence: of(
      ...ladderSkills.slice(0, count).map((skillId, at) => ({ skillId, value: 1_000 - at * 120 })),
    ),
  })),
  {
    name: 'ladder: one superb skill is worth more than its mean with a poor one',
    evidence: of({ value: 1_000 }, { skillId: 'hss:b', value: 0 }),
  },
  {
    name: 'ladder: lows and highs stand in orders of their own',
    evidence: of(
      { value: 900, assurance: 100 },
      { skillId: 'hss:b', value: 700 },
      ...times(6, () => ({ skillId: 'hss:c', value: 650 })),
    ),
  },
  {
    name: 'skills of one score stand in the order of their ids',
    evidence: of(...['hss:b-2', 'hss:b', 'hss:a'].map((skillId) => ({ skillId }))),
  },
  {
    name: 'a claim of oneself changes nothing',
    evidence: of({}, { assurance: 0, group: 'self', value: 1_000, skillId: 'hss:b' }),
  },
]

const randomCases = 160
const seed = 2026_11_21

/**
 * Random numbers by mulberry32. The sequence depends on no library, so the vectors never change.
 */
function drawsFrom(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function randomCase(at: number, draw: (below: number) => number): Named {
  const skills = [...Object.keys(vocabulary), 'hss:unknown']
  const types = [...Object.keys(weights), 'self_attestation']
  const pick = <Value>(values: readonly Value[], otherwise: Value): Value =>
    values[draw(values.length)] ?? otherwise
  const evidence = times(1 + draw(16), () => ({
    skillId: pick(skills.slice(0, 2 + draw(skills.length - 1)), 'hss:a'),
    type: pick(types, 'assessment'),
    group: `g${draw(4)}`,
    assurance: draw(8) === 0 ? draw(1_001) : pick([0, 100, 400, 700, 1_000], 700),
    value: draw(6) === 0 ? pick([0, 250, 500, 750, 1_000], 0) : draw(1_001),
    observedDay: asOfDay + (draw(12) === 0 ? 1 : -draw(pick([2, 400, 9_000], 2))),
    digest: `d${draw(12)}`,
    ...(draw(20) === 0 ? { excluded: true } : {}),
  }))
  return { name: `random ${at}`, evidence: of(...evidence) }
}

/** Writes one case a line, so that a diff shows which case changed. */
export function goldensText(): string {
  const draw = drawsFrom(seed)
  const random = Array.from({ length: randomCases }, (_, at) => randomCase(at, draw))
  const lines = [...edgeCases, ...random].map(({ name, evidence }) => {
    const expected = oracleScore({ evidence, vocabulary, asOfDay })
    return JSON.stringify({ name, evidence, expected })
  })
  const description =
    'More golden vectors of the scoring core HSC-1, made by an independent implementation in big integers: edge cases by name, then random ones. The units are those of scoring.json.'
  return `{\n"description":${JSON.stringify(description)},\n"asOfDay":${asOfDay},\n"vocabulary":${JSON.stringify(vocabulary)},\n"cases":[\n${lines.join(',\n')}\n]\n}\n`
}
