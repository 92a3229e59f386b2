/**
 * Pure: every action of the audit log, one row each: its meaning, its subjects and its details. All
 * of it is ids, counts and words of closed lists: never a secret, a token, a claim or a worker's
 * name.
 */
import { type Static, Type } from 'typebox'
import { accountActions, userActions } from './account-actions.ts'
import { count, digest, facts, uuid } from './action-facts.ts'
import { workerActions } from './worker-actions.ts'

const kid = Type.String({ pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$' })
const migration = Type.String({ pattern: '^[0-9]{4}_[a-z0-9_]+\\.sql$' })

/** Actions on the database, on signing keys and on credentials. */
const signingActions = {
  'database.migrated': facts(
    'Migrations were applied; the subjects are their names.',
    { count },
    migration,
  ),
  'keys.created': facts(
    'A signing key was registered; an active one signs at once.',
    { state: Type.Enum(['pending', 'active']) },
    kid,
  ),
  'keys.rotated': facts(
    'A pending signing key became active, and the active one retired.',
    {
      active: kid,
      retired: Type.Union([kid, Type.Null()]),
      atOnce: Type.Boolean(),
    },
    kid,
  ),
  'keys.revoked': facts(
    'A signing key was revoked.',
    { credentials: Type.Enum(['revoked', 'kept']) },
    kid,
  ),
  'keys.credentials_revoked': facts('All credentials of a revoked key were revoked.', {}, kid),
  'credentials.issued': facts(
    'Credentials were issued, signed by the key in the subjects.',
    { count, firstId: uuid, lastId: uuid },
    kid,
  ),
  'credentials.reissued': facts(
    'Scores got new credentials, signed by the key in the subjects.',
    { count },
    kid,
  ),
  'credentials.revoked': facts(
    'Credentials were revoked; the subjects are their digests.',
    { count },
    digest,
  ),
} as const

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
