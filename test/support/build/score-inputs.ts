/**
 * Evidence for the tests of scoring: plain builders, and arbitraries in which ties, duplicates and
 * crowded groups are common.
 */
import type { Evidence, ScoreInput, Vocabulary } from '../../../src/scoring/core/evidence.ts'
import { readGoldens, type Vectors } from '../../../src/scoring/scores/goldens.ts'
import fc from '../oracle/fc.ts'

/** Every golden vector with its input. */
export const goldenCases = readGoldens().files.flatMap(({ vectors }) =>
  vectors.cases.map((golden) => ({ ...golden, input: inputOf(vectors, golden) })),
)

function inputOf(vectors: Vectors, golden: Vectors['cases'][number]): ScoreInput {
  const { evidence, vocabulary, asOfDay } = { ...vectors, ...golden }
  return { evidence, vocabulary, asOfDay }
}

export const asOfDay = 20_400

/**
 * Returns an evidence item. By default it is new, comes from an accredited source, and has its own
 * group and artefact.
 */
export function item(given: Partial<Evidence> & { id: string }): Evidence {
  return {
    skillId: 'hss:a',
    type: 'assessment',
    group: `group of ${given.id}`,
    assurance: 1_000,
    value: 800,
    observedDay: asOfDay,
    digest: `digest of ${given.id}`,
    ...given,
  }
}

const skillIds = ['hss:a', 'hss:b', 'hss:b-2', 'hss:c', 'hss:d', 'hss:e', 'hss:f'] as const
const types = ['assessment', 'work_product', 'peer_review', 'credential'] as const
const groups = ['g0', 'g1', 'g2'] as const
const assurances = [0, 100, 400, 700, 1_000] as const
const halfLives = [0, 1, 6, 24, 36, 72, 240] as const

const seven = fc.integer({ min: 0, max: 6 })
/** Weights of four types that sum to at most 1000. */
const weights = fc.constantFrom(
  [350, 300, 150, 200],
  [750, 250, 0, 0],
  [150, 300, 550, 0],
  [1_000, 0, 0, 0],
  [500, 250, 250, 0],
  [400, 8, 392, 200],
)
const rule = fc
  .tuple(seven, weights)
  .map(([halfLife, [assessment = 0, work_product = 0, peer_review = 0, credential = 0]]) => ({
    halfLifeMonths: halfLives[halfLife] ?? 0,
    weightPermille: { assessment, work_product, peer_review, credential },
  }))

const vocabularies: fc.Arbitrary<Vocabulary> = fc
  .tuple(rule, rule, rule)
  .map(([one, two, three]) =>
    Object.fromEntries(skillIds.map((id, at) => [id, [one, two, three][at % 3] ?? one])),
  )

/**
 * Returns the digits of a number in mixed radix. An item then needs only one draw, so 20,000 runs
 * take seconds.
 */
function digitsOf(drawn: number, radices: readonly number[]): number[] {
  let rest = drawn
  return radices.map((radix) => {
    const digit = rest % radix
    rest = (rest - digit) / radix
    return digit
  })
}

const radices = [1_300, 5_000, 9, 5, 3, 9, 7] as const
const drawnItem = fc.integer({ min: 0, max: radices.reduce((a, b) => a * b, 1) - 1 })

/**
 * Builds an item from one number. About one item in five has an unknown skill or type, lies in the
 * future, or has no assurance.
 */
function itemFrom(drawn: number, at: number): Evidence {
  const [value = 0, age = 0, skill = 0, type = 0, group = 0, assurance = 0, digest = 0] = digitsOf(
    drawn,
    radices,
  )
  return {
    id: `e${at}`,
    skillId: skillIds[skill] ?? (skill === 7 ? 'hss:unknown' : 'hss:a'),
    type: types[type] ?? (drawn % 3 === 0 ? 'self_attestation' : 'assessment'),
    group: groups[group] ?? 'g0',
    assurance: assurances[assurance] ?? (drawn % 1_000) + 1,
    // Many values lie on the borders of levels and at both ends; many items are observed today.
    value: value <= 1_000 ? value : ([0, 250, 500, 750, 1_000][value % 5] ?? 0),
    observedDay: age < 4_000 ? asOfDay - age : asOfDay + ([0, -1, 2, 0, -40][age % 5] ?? 0),
    digest: digest < 4 ? `d${digest}` : `d of e${at}`,
    ...(drawn % 23 === 0 ? { excluded: true } : {}),
  }
}

const items: fc.Arbitrary<Evidence[]> = fc
  .array(drawnItem, { maxLength: 20, size: 'max' })
  .map((drawn) => drawn.map(itemFrom))

export const inputs: fc.Arbitrary<ScoreInput> = fc
  .tuple(items, vocabularies)
  .map(([evidence, vocabulary]) => ({ evidence, vocabulary, asOfDay }))
