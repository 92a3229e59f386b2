/** Pure: actions on users. Their addresses are not in the log: an erased user leaves an id. */
import { Type } from 'typebox'
import { roles } from '../edge/http/callers.ts'
import { facts, factsNamingAccount } from './action-facts.ts'

/** The notices that an owner of an account gets by mail. */
export const ownerNoticeNames = [
  'webhooks_failing',
  'webhooks_disabled',
  'credits_low',
  'credits_gone',
  'key_ends',
] as const
export type OwnerNotice = (typeof ownerNoticeNames)[number]

export const userActions = {
  'users.invited': factsNamingAccount(
    'An address was invited to an account, by an operator perhaps once more; the subject is the invitation.',
    { role: Type.Enum([...roles]) },
  ),
  'users.invitation_resent': factsNamingAccount(
    'An invitation was mailed again, or a new link of it was handed over.',
  ),
  'users.invitation_withdrawn': factsNamingAccount(
    'An invitation was withdrawn before its answer.',
  ),
  'users.invitation_declined': factsNamingAccount('The invited person declined.'),
  'users.joined': factsNamingAccount(
    'A user accepted an invitation and became a member of an account.',
    { role: Type.Enum([...roles]) },
  ),
  'users.made_owner': factsNamingAccount('An owner made another member an owner.'),
  'users.chose_notices': factsNamingAccount(
    'An owner or the operator chose the notices that an owner gets by mail.',
    {
      off: Type.Array(Type.Enum([...ownerNoticeNames])),
    },
  ),
  'users.left': factsNamingAccount('A user left an account.'),
  'users.removed': factsNamingAccount('An owner removed a user from an account.'),
  'users.signed_up': factsNamingAccount('A user signed up and owns a new account.'),
  'users.link_made': facts('A sign-in link was made for a user and printed.'),
  'users.disabled': facts('A user was disabled, and every session of the user ended.'),
  'users.enabled': facts('A disabled user was enabled.'),
  'users.erased': facts(
    'A user was erased, with memberships, sessions, invitations and waiting mails; without a user, the subjects are invitations.',
  ),
} as const
