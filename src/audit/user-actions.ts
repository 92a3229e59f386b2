/** Pure: actions on users. Their addresses are not in the log: an erased user leaves an id. */
import { Type } from 'typebox'
import { roles } from '../platform/http/callers.ts'
import { closed, facts, uuid } from './action-facts.ts'

const none = Type.Object({}, closed)

export const userActions = {
  'users.invited': facts({
    meaning: 'A user became a member of an account.',
    subject: uuid,
    account: 'details',
    details: Type.Object({ account: uuid, role: Type.Enum([...roles]) }, closed),
  }),
  'users.removed': facts({
    meaning: 'A user is no longer a member of an account.',
    subject: uuid,
    account: 'details',
    details: Type.Object({ account: uuid }, closed),
  }),
  'users.signed_up': facts({
    meaning: 'A user signed up and owns a new account.',
    subject: uuid,
    account: 'details',
    details: Type.Object({ account: uuid }, closed),
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
    meaning: 'A user was erased, with memberships, sessions and waiting mails.',
    subject: uuid,
    details: none,
  }),
} as const
