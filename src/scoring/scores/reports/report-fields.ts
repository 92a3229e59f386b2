/** Fields that several reports for auditors have. */
import { type TObject, type TProperties, Type } from 'typebox'
import { orNull } from '../../../operations/fields.ts'
import { closedObject } from '../../../platform/json/closed-object.ts'
import type { ScoringRules } from '../scoring.ts'

const reportVersion = 1

/** A report that reads the database shows its day and the rules that computed it. */
export const madeFrom = {
  asOf: Type.String({ format: 'date' }),
  reportVersion: Type.Integer(),
  engineSha256: Type.String({ description: 'Of this release.' }),
  vocabularyHash: Type.String({ description: 'Of this release.' }),
}

export function factsOf(rules: ScoringRules, now: Date) {
  return {
    asOf: now.toISOString().slice(0, 10),
    reportVersion,
    engineSha256: rules.engine.binarySha256,
    vocabularyHash: rules.vocabularySha256,
  }
}

export const versionField = { reportVersion: Type.Integer() }
export const version = { reportVersion }

export const number = orNull(
  Type.Number(),
  'Null if it cannot be computed, or the cell is too small.',
)
const flag = orNull(Type.Boolean(), 'Null if it cannot be decided.')

export const minCell = Type.Integer({
  minimum: 5,
  maximum: 1_000,
  default: 5,
  description: 'a row with fewer workers shows its name alone',
})

/** A row without its values: there are too few workers, or nothing to compare with. */
export function emptyRow<Fields extends TProperties>({ properties }: TObject<Fields>) {
  const nulls = Object.keys(properties).map((name) => [name, null])
  return Object.fromEntries(nulls) as Record<keyof Fields, null>
}

/** The numbers are null if there are fewer than `minCell` workers. */
export const sourceRow = closedObject({
  by: Type.Enum(['source', 'type']),
  name: Type.String(),
  workers: number,
  items: number,
  /** Items of skills in which other groups give a score, too. */
  compared: number,
  /** Of value minus that score. */
  meanDifference: number,
  sd: number,
  standardError: number,
  /** The mean, drawn towards 0 if few items are compared. */
  severity: number,
  correlation: number,
  /** Share of the differences of at most 263 points. */
  near: number,
  lenient: flag,
  severe: flag,
  /** The values hardly differ, so they tell no workers apart. */
  narrow: flag,
})

export const calibrationRow = closedObject({
  by: Type.Enum(['all', 'items left', 'level', 'source']),
  name: Type.String(),
  workers: number,
  /** Skills in which the group of the newest item was left out. */
  compared: number,
  /** Share of the newest items that lie where the range of the others lets expect them. */
  inside: number,
  meanError: number,
  /** Fewer than 93 % of at least 200. */
  low: flag,
})

export const impactRow = closedObject({
  /** The columns compared, such as `gender` or `gender, origin`. */
  by: Type.String(),
  category: Type.String(),
  workers: number,
  scored: number,
  coverage: number,
  rule: Type.String(),
  selected: number,
  /** Share of the scored workers that the rule selects, and of all workers. */
  rate: number,
  rateOfAll: number,
  isReference: Type.Boolean(),
  /** The rate divided by that of the reference. */
  ratio: number,
  belowFourFifths: flag,
  z: number,
  /** Fisher's exact test, two-sided, against the reference. */
  p: number,
  significant: flag,
  /** Too few workers for a conclusion. */
  few: flag,
  meanScore: number,
  sd: number,
  /** Difference of the means from the reference, in pooled standard deviations. */
  d: number,
})
