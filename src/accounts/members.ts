/**
 * The verbs that change or end a membership, or begin one without an invitation. An account always
 * keeps an owner: changes of one account take turns, so two owners never remove each other at once.
 */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import type { Role } from '../platform/http/callers.ts'
import {
  deleteMembership,
  findSignInAccount,
  insertMembership,
  lockMemberships,
  updateLastAccount,
  updateRole,
} from './store.ts'
import { findOrCreateUser } from './users.ts'

export type Ended = 'ended' | 'no such member' | 'last owner'

export interface OwnMember {
  accountId: string
  userId: string
}

/** Removes a member. The sessions in this account end with the commit, on every node. */
export function removeMember(context: ActionContext, member: OwnMember): Promise<Ended> {
  return endMembership(context, 'users.removed', member)
}

/** Lets a user leave an account. The sessions in this account end with the commit. */
export function leaveAccount(context: ActionContext, member: OwnMember): Promise<Ended> {
  return endMembership(context, 'users.left', member)
}

function endMembership(
  context: ActionContext,
  action: 'users.removed' | 'users.left',
  { accountId, userId }: OwnMember,
): Promise<Ended> {
  return audited(context, action, async (tx) => {
    const roles = await lockMemberships(tx, accountId)
    const role = roles.find((one) => one.userId === userId)?.role
    if (role === undefined) return unchanged('no such member')
    const owners = roles.filter((one) => one.role === 'owner')
    if (role === 'owner' && owners.length === 1) return unchanged('last owner')
    await deleteMembership(tx, { accountId, userId })
    return changed('ended', { subjects: [userId], details: { account: accountId } })
  })
}

/** Makes a member an owner as well. Returns false if the user is no member. */
export function makeOwner(
  context: ActionContext,
  { accountId, userId }: OwnMember,
): Promise<boolean> {
  return audited(context, 'users.made_owner', async (tx) => {
    const roles = await lockMemberships(tx, accountId)
    const role = roles.find((one) => one.userId === userId)?.role
    if (role !== 'member') return unchanged(role === 'owner')
    await updateRole(tx, { accountId, userId, role: 'owner' })
    return changed(true, { subjects: [userId], details: { account: accountId } })
  })
}

/** Makes the user of an address a member at once: for the demo. */
export function addMember(
  context: ActionContext,
  { accountId, email, role }: { accountId: string; email: string; role: Role },
): Promise<string> {
  return audited(context, 'users.joined', async (tx, now) => {
    const { id: userId } = await findOrCreateUser(tx, { email, name: null, now })
    if (!(await insertMembership(tx, { userId, accountId, role, createdAt: now })))
      return unchanged(userId)
    // The first account is the one that sign-in opens.
    const opened = await findSignInAccount(tx, userId)
    if (opened?.accountId === accountId) await updateLastAccount(tx, { userId, accountId })
    return changed(userId, { subjects: [userId], details: { account: accountId, role } })
  })
}
