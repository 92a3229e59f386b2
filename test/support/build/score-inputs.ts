/**
 * Evidence for the tests of scoring: plain builders, and arbitraries in which ties, duplicates and
 * crowded groups are common.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Evidence, ScoreInput, Vocabulary } from '../../../src/scoring-core/evidence.ts'
import type { ScoreResult } from '../../../src/scoring-core/score.ts'
import fc from '../oracle/fc.ts'

export interface ScoringVectors {
  description: string
  asOfDay: number
  vocabulary: Vocabulary
  cases: readonly { evidence: readonly Evidence[]; expected: ScoreResult }[]
}

const vectorsFile = join(import.meta.dirname, '../../../vectors/scoring.json')

export const scoringVectors = JSON.parse(readFileSync(vectorsFile, 'utf8')) as ScoringVectors

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

export const skillIds = ['hss:a', 'hss:b', 'hss:b-2', 'hss:c', 'hss:d', 'hss:e', 'hss:f'] as const
export const types = ['assessment', 'work_product', 'peer_review', 'credential'] as const
const groups = ['g0', 'g1', 'g2'] as const
const assurances = [0, 100, 400, 700, 1_000] as const
const halfLives = [0, 1, 6, 24, 36, 72, 240] as const

const seven = fc.integer({ min: 0, max: 6 })
const weight = fc.oneof(fc.constantFrom(0, 150, 200, 300, 350), fc.integer({ min: 1, max: 1_000 }))
const rule = fc
  .tuple(seven, weight, weight, weight, weight)
  .map(([halfLife, assessment, work_product, peer_review, credential]) => ({
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

/** One more item of any kind, whose artefact is not yet in the evidence. */
export const extraItem: fc.Arbitrary<Evidence> = drawnItem.map((drawn) => ({
  ...itemFrom(drawn, 999),
  digest: 'a new artefact',
}))

/** Returns the same input with other evidence. */
export function withEvidence(input: ScoreInput, evidence: readonly Evidence[]): ScoreInput {
  return { ...input, evidence }
}
