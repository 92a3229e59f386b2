/**
 * Pure: every action of the audit log, one row each: its meaning, its subjects and its details. All
 * of it is ids, counts and words of closed lists: never a secret, a token, a claim or a worker's
 * name.
 */
import type { Static } from 'typebox'
import { accountActions } from './account-actions.ts'
import { signingActions } from './signing-actions.ts'
import { userActions } from './user-actions.ts'
import { workerActions } from './worker-actions.ts'

export const actions = {
  ...signingActions,
  ...workerActions,
  ...accountActions,
  ...userActions,
} as const

/** The actor of actions that the service takes by itself. */
export const theService = 'service'

/** The actor who declines an invitation by its link, without a session. */
export const theInvited = 'invited person'

export type ActionName = keyof typeof actions

export const actionNames = Object.keys(actions) as ActionName[]

/** An action with the details of its kind. */
export type Action = { [Name in ActionName]: ActionOf<Name> }[ActionName]

type ActionOf<Name extends ActionName> = {
  action: Name
  subjects: readonly string[]
  details: Static<(typeof actions)[Name]['details']>
} & GivenAccount<Name>

/** The account of an entry, if neither its subjects nor its details name it. */
type GivenAccount<Name extends ActionName> = (typeof actions)[Name] extends { account: 'given' }
  ? { account: string }
  : unknown

/** The subjects and details of one audit entry. */
export type EntryOf<Name extends ActionName> = Name extends ActionName
  ? { subjects: readonly string[] } & OptionalIfEmpty<Static<(typeof actions)[Name]['details']>> &
      GivenAccount<Name>
  : never

type OptionalIfEmpty<Details> = object extends Details
  ? { details?: Details }
  : { details: Details }
