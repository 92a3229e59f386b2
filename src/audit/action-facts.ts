/** Pure: what the audit log knows of an action, and the schemas of subjects and details. */
import { type TObject, type TString, Type } from 'typebox'

interface ActionFacts<Details extends TObject = TObject> {
  meaning: string
  /** The form of each subject id. */
  subject: TString
  details: Details
}

export function facts<Details extends TObject>(row: ActionFacts<Details>): ActionFacts<Details> {
  return row
}

export const closed = { additionalProperties: false }
export const digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})
export const count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
