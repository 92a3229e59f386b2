/**
 * Pure: every action that the audit log knows, one row each: what it means, whom or what it concerns, and its details. All of it is ids,
 * counts and words of closed lists: never a secret, a token, a claim or a person's name.
 */
import type { Static } from 'typebox'
import { accountActions } from './account-actions.ts'
import { peopleActions } from './people-actions.ts'
import { signingActions } from './signing-actions.ts'

export const actions = { ...signingActions, ...peopleActions, ...accountActions } as const

export type ActionName = keyof typeof actions

export const actionNames = Object.keys(actions) as ActionName[]

/** An action with the details of its kind. */
export type Action = { [Name in ActionName]: ActionOf<Name> }[ActionName]

interface ActionOf<Name extends ActionName> {
  action: Name
  subjects: readonly string[]
  details: Static<(typeof actions)[Name]['details']>
}
