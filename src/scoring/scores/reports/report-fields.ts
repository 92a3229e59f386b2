/** Fields that several reports for auditors have. */
import { Type } from 'typebox'
import { orNull } from '../../../operations/fields.ts'
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
export const flag = orNull(Type.Boolean(), 'Null if it cannot be decided.')

export const minCell = Type.Integer({
  minimum: 5,
  maximum: 1_000,
  default: 5,
  description: 'a row with fewer workers shows its name alone',
})
