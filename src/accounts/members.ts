/**
 * The verbs by which owners manage the members of their account. An account always keeps an owner:
 * changes of one account take turns, so two owners never remove each other at once.
 */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import type { Role } from '../platform/http/callers.ts'
import { deleteMembership, findMembers, lockMemberships } from './store.ts'
import { type Invited, inviteUser } from './users.ts'

export const membersMax = 100

export interface OwnInvitation {
  accountId: string
  /** A result of `parseEmail`. */
  email: string
  role: Role
  /** Whether the user receives a mail. */
  isMailed: boolean
}

/** Invites a user to the account, unless it has its maximum of members. */
export async function inviteMember(
  context: ActionContext,
  invitation: OwnInvitation,
): Promise<Invited | { outcome: 'too many members' }> {
  const members = await findMembers(context.db, invitation.accountId)
  if (members.length >= membersMax) return { outcome: 'too many members' }
  return inviteUser(context, { ...invitation, name: null })
}

export type Removed = 'removed' | 'no such member' | 'last owner'

/** Removes a member. The sessions in this account end with the commit, on every node. */
export function removeMember(
  context: ActionContext,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<Removed> {
  return audited(context, 'users.removed', async (tx) => {
    const roles = await lockMemberships(tx, accountId)
    const role = roles.find((one) => one.userId === userId)?.role
    if (role === undefined) return unchanged('no such member')
    const owners = roles.filter((one) => one.role === 'owner')
    if (role === 'owner' && owners.length === 1) return unchanged('last owner')
    await deleteMembership(tx, { accountId, userId })
    return changed('removed', { subjects: [userId], details: { account: accountId } })
  })
}
