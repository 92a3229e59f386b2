/** Pure: actions on users. Their addresses are not in the log: an erased user leaves an id. */
import { Type } from 'typebox'
import { roles } from '../edge/http/callers.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { facts, uuid } from './action-facts.ts'

const none = closedObject({})

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
  'users.invited': facts({
    meaning:
      'An address was invited to an account, by an operator perhaps once more; the subject is the invitation.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid, role: Type.Enum([...roles]) }),
  }),
  'users.invitation_resent': facts({
    meaning: 'An invitation was mailed again, or a new link of it was handed over.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.invitation_withdrawn': facts({
    meaning: 'An invitation was withdrawn before its answer.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.invitation_declined': facts({
    meaning: 'The invited person declined.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.joined': facts({
    meaning: 'A user accepted an invitation and became a member of an account.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid, role: Type.Enum([...roles]) }),
  }),
  'users.made_owner': facts({
    meaning: 'An owner made another member an owner.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.chose_notices': facts({
    meaning: 'An owner or the operator chose the notices that an owner gets by mail.',
    subject: uuid,
    account: 'details',
    details: closedObject({
      account: uuid,
      off: Type.Array(Type.Enum([...ownerNoticeNames])),
    }),
  }),
  'users.left': facts({
    meaning: 'A user left an account.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.removed': facts({
    meaning: 'An owner removed a user from an account.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.signed_up': facts({
    meaning: 'A user signed up and owns a new account.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid }),
  }),
  'users.link_made': facts({
    meaning: 'A sign-in link was made for a user and printed.',
    subject: uuid,
    details: none,
  }),
  'users.disabled': facts({
    meaning: 'A user was disabled, and every session of the user ended.',
    subject: uuid,
    details: none,
  }),
  'users.enabled': facts({
    meaning: 'A disabled user was enabled.',
    subject: uuid,
    details: none,
  }),
  'users.erased': facts({
    meaning:
      'A user was erased, with memberships, sessions, invitations and waiting mails; without a user, the subjects are invitations.',
    subject: uuid,
    details: none,
  }),
} as const
