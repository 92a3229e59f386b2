/** Pure: what the audit log knows of an action, and the schemas of subjects and details. */
import { type TProperties, type TString, Type } from 'typebox'
import { closedObject } from '../platform/json/closed-object.ts'

export const digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})
export const count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })

const none = {}

/**
 * Makes the rows of actions. `account` is where an entry names the account that it belongs to, whose
 * members may read it. A row has the meaning, the members of the details, and the form of each
 * subject id.
 */
function rowsWith<const Place extends 'subject' | 'details' | 'given' | undefined>(account: Place) {
  return <Details extends TProperties = typeof none>(
    meaning: string,
    details: Details = none as Details,
    subject: TString = uuid,
  ) => ({ meaning, subject, details: closedObject(details), account })
}

/** Only operators read the entry. */
export const facts = rowsWith(undefined)
/** Each subject is an account. */
export const factsAboutAccount = rowsWith('subject')
/** `details.account` is the account. */
export const factsNamingAccount = <Details extends TProperties = typeof none>(
  meaning: string,
  details: Details = none as Details,
) => rowsWith('details')(meaning, { account: uuid, ...details })
/** The verb gives the account beside the entry. */
export const factsWithAccount = rowsWith('given')
