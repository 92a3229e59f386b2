/** Pure: what the audit log knows of an action, and the schemas of subjects and details. */
import { type TObject, type TString, Type } from 'typebox'

/**
 * Where an entry names the account that it belongs to, whose members may read it: each subject is
 * an account, `details.account` is one, or the verb gives it beside the entry.
 */
export type AccountPlace = 'subject' | 'details' | 'given'

interface ActionFacts<Details extends TObject, Place extends AccountPlace | undefined> {
  meaning: string
  /** The form of each subject id. */
  subject: TString
  details: Details
  /** Absent: only operators read the entry. */
  account?: Place
}

export function facts<
  Details extends TObject,
  const Place extends AccountPlace | undefined = undefined,
>(row: ActionFacts<Details, Place>): ActionFacts<Details, Place> {
  return row
}

export const digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})
export const count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
