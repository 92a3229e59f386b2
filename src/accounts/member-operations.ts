/** The operations on the members of an account. Those on invitations are in `user-operations.ts`. */
import { Type } from 'typebox'
import { ownerNoticeNames } from '../audit/account-actions.ts'
import { roles } from '../edge/http/callers.ts'
import { accountField, idField, orNull, ownerNamed, time, userName } from '../operations/fields.ts'
import { type Context, changed, operationsFor, unchanged } from '../operations/operation.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { renderTable, sameNames } from '../platform/render-table.ts'
import { findOwnInvitation, join } from './accept-invitation.ts'
import { emailField } from './email.ts'
import { findOpenInvitations, updateAnswer } from './invitation-store.ts'
import { updateNoticesOff } from './notices.ts'
import { findMembers } from './store.ts'
import type { UserServices } from './user-operations.ts'
import { endMembership, makeOwner } from './users.ts'

const { read, change } = operationsFor<UserServices>()

const account = accountField
const email = emailField
const role = Type.Enum([...roles])

export const accountsMembers = read({
  name: 'accounts members',
  http: 'GET /accounts/{account}/members',
  summary: 'Show the users who may sign in for an account, and the open invitations',
  who: { operator: 'viewer', member: 'member' },
  path: { account },
  output: closedObject({
    members: listOf({
      userId: Type.String(),
      email: Type.String(),
      name: userName,
      role,
      createdAt: time,
      disabledAt: orNull(time, 'Null if the user may sign in.'),
    }),
    invitations: listOf({
      id: Type.String(),
      email: Type.String(),
      role,
      createdAt: time,
      expiresAt: time,
      mailedAt: orNull(time, 'Null if its link was shown.'),
    }),
  }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd' },
  renderLines({ members, invitations }, { account: named }) {
    const rows = [
      ...members.map((one) => ({ ...one, state: one.disabledAt === null ? 'member' : 'disabled' })),
      ...invitations.map((one) => ({ ...one, state: 'invited' })),
    ]
    if (rows.length === 0)
      return [`${named} has no member. Run \`assay users invite EMAIL --account ACCOUNT\`.`]
    return renderTable(rows, {
      ...sameNames('email', 'role'),
      created: 'createdAt',
      state: 'state',
    })
  },
  async run(db, { account: named }, context) {
    const of = await ownerNamed(db, named, context)
    if ('refusal' in of) return of
    const [members, invitations] = await Promise.all([
      findMembers(db, of.id),
      findOpenInvitations(db, { accountId: of.id, now: context.now }),
    ])
    return { members, invitations }
  },
})

export const membersRemove = change({
  name: 'members remove',
  http: 'POST /accounts/{account}/members/{email}/remove',
  summary: 'Remove a member from an account, and end the sessions in it',
  who: { operator: 'support', member: 'owner' },
  path: { account, email },
  positional: ['email'],
  output: closedObject({ userId: Type.String() }),
  refusals: ['account_not_found', 'member_not_found', 'last_owner'],
  example: { account: 'Example Ltd', email: 'ada@example.org' },
  audit: 'users.removed',
  renderLines: (_, { account: named, email: of }) => [
    `removed ${of} from ${named}: API keys stay valid, revoke those that the member knows`,
  ],
  async run(tx, { account: named, email: who }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const ended = await endMembership(tx, { accountId: of.id, email: who })
    if ('refusal' in ended) return withNames(ended, of.name, who)
    const { userId } = ended
    return changed({ userId }, { subjects: [userId], details: { account: of.id } })
  },
})

/** Names the account and the address. */
function withNames<Name extends 'member_not_found' | 'last_owner'>(
  refusal: Refusal<Name>,
  account: string,
  email: string,
): Refusal<Name> {
  const isUnknown = refusal.refusal === 'member_not_found'
  const message = isUnknown
    ? `${account} has no member ${email}.`
    : `${email} is the only owner of ${account}.`
  return { ...refusal, message }
}

export const membersMakeOwner = change({
  name: 'members make-owner',
  http: 'POST /accounts/{account}/members/{email}/make-owner',
  summary: 'Make a member of an account an owner as well',
  who: { operator: 'support', member: 'owner' },
  path: { account, email },
  positional: ['email'],
  output: closedObject({ userId: Type.String(), changed: Type.Boolean() }),
  refusals: ['account_not_found', 'member_not_found'],
  example: { account: 'Example Ltd', email: 'ada@example.org' },
  audit: 'users.made_owner',
  renderLines: ({ changed: isNew }, { account: named, email: of }) => [
    isNew
      ? `${of} is an owner of ${named}`
      : `${of} is an owner of ${named} already: nothing changed.`,
  ],
  async run(tx, { account: named, email: who }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const made = await makeOwner(tx, { accountId: of.id, email: who })
    if ('refusal' in made) return withNames(made, of.name, who)
    if (!made.changed) return unchanged(made)
    return changed(made, { subjects: [made.userId], details: { account: of.id } })
  },
})

export const membersNotices = change({
  name: 'members notices',
  http: 'POST /accounts/{account}/members/{email}/notices',
  summary: 'Choose the notices that an owner gets by mail',
  who: { operator: 'support', member: 'owner' },
  path: { account, email },
  input: {
    off: Type.Array(Type.Enum([...ownerNoticeNames]), {
      default: [],
      maxItems: ownerNoticeNames.length,
      uniqueItems: true,
      description: `the notices to switch off, all others are on: ${ownerNoticeNames.join(', ')}`,
    }),
  },
  positional: ['email'],
  output: closedObject({ userId: Type.String() }),
  refusals: ['account_not_found', 'member_not_found'],
  example: { account: 'Example Ltd', email: 'ada@example.org', off: ['credits_low'] },
  audit: 'users.chose_notices',
  renderLines: (_, { account: named, email: of, off }) => [
    off.length === 0
      ? `${of} gets all notices of ${named}`
      : `${of} gets all notices of ${named} except ${off.join(', ')}`,
  ],
  async run(tx, { account: named, email: who, off }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const userId = await updateNoticesOff(tx, { accountId: of.id, email: who, off })
    if (userId === undefined) return withNames(refuse('member_not_found'), of.name, who)
    return changed({ userId }, { subjects: [userId], details: { account: of.id, off } })
  },
})

export const memberOperations = [membersRemove, membersMakeOwner, membersNotices] as const

export const membersLeave = change({
  name: 'members leave',
  http: 'POST /members/leave',
  summary: 'Leave the account, and end the own sessions in it',
  who: { member: 'member' },
  output: closedObject({ userId: Type.String() }),
  refusals: ['member_not_found', 'last_owner'],
  audit: 'users.left',
  async run(tx, _, context) {
    const [userId, accountId] = [userOf(context), accountOf(context)]
    const ended = await endMembership(tx, { accountId, userId })
    if ('refusal' in ended) return ended
    return changed({ userId }, { subjects: [userId], details: { account: accountId } })
  },
})

const invitationId = idField('an invitation', 'accounts members')

export const membersAccept = change({
  name: 'members accept',
  http: 'POST /invitations/{invitationId}/accept',
  summary: 'Accept an invitation to the own address',
  who: { member: 'member' },
  path: { invitationId },
  output: closedObject({ accountId: Type.String() }),
  refusals: ['invitation_not_found', 'members_maximum'],
  example: { invitationId: '01a2cf10-1c2a-7d0e-8a5f-4f8de5d2a901' },
  audit: 'users.joined',
  async run(tx, { invitationId: id }, context) {
    const [userId, { now }] = [userOf(context), context]
    const invitation = await findOwnInvitation(tx, { userId, invitationId: id, now })
    if ('refusal' in invitation) return invitation
    const joined = await join(tx, { invitation, userId, now })
    if ('refusal' in joined) return joined
    const { accountId, role: as } = invitation
    const details = { account: accountId, role: as }
    return joined.isNew
      ? changed({ accountId }, { subjects: [userId], details })
      : unchanged({ accountId })
  },
})

export const membersDecline = change({
  name: 'members decline',
  http: 'POST /invitations/{invitationId}/decline',
  summary: 'Decline an invitation to the own address',
  who: { member: 'member' },
  path: { invitationId },
  output: closedObject({ accountId: Type.String() }),
  refusals: ['invitation_not_found'],
  example: { invitationId: '01a2cf10-1c2a-7d0e-8a5f-4f8de5d2a901' },
  audit: 'users.invitation_declined',
  async run(tx, { invitationId: id }, context) {
    const { now } = context
    const own = { userId: userOf(context), invitationId: id, now }
    const invitation = await findOwnInvitation(tx, own)
    if ('refusal' in invitation) return invitation
    if (!(await updateAnswer(tx, { id, answer: 'declined', now })))
      return refuse('invitation_not_found')
    const { accountId } = invitation
    return changed({ accountId }, { subjects: [id], details: { account: accountId } })
  },
})

function userOf({ userId }: Context<UserServices>): string {
  if (userId === null) throw new Error('no user asks')
  return userId
}

function accountOf({ owner }: Context<UserServices>): string {
  if (owner === 'any') throw new Error('no member asks')
  return owner.userId
}

/** Changes of a signed-in user's own memberships. Operators cannot call them. */
export const ownOperations = [membersLeave, membersAccept, membersDecline] as const
