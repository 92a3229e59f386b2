/**
 * Changes and ends memberships, or begins one without an invitation. An account always keeps an
 * owner: changes of one account take turns, so two owners never remove each other at once.
 */
import type { Role } from '../edge/http/callers.ts'
import type { Tx } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import {
  deleteMembership,
  findSignInAccount,
  insertMembership,
  lockMemberships,
  type Member,
  updateLastAccount,
  updateRole,
} from './store.ts'
import { findOrCreateUser } from './users.ts'

/** A member of an account, by address or by user. */
export type OwnMember = { accountId: string } & ({ email: string } | { userId: string })

/** Ends a membership. The sessions in this account end with the commit, on every node. */
export async function endMembership(
  tx: Tx,
  of: OwnMember,
): Promise<Member | Refusal<'member_not_found' | 'last_owner'>> {
  const members = await lockMemberships(tx, of.accountId)
  const member = members.find((one) => isSame(one, of))
  if (member === undefined) return refuse('member_not_found')
  const owners = members.filter(({ role }) => role === 'owner')
  if (member.role === 'owner' && owners.length === 1) return refuse('last_owner')
  await deleteMembership(tx, { accountId: of.accountId, userId: member.userId })
  return member
}

/** Makes a member an owner as well. */
export async function makeOwner(
  tx: Tx,
  of: OwnMember,
): Promise<{ userId: string; changed: boolean } | Refusal<'member_not_found'>> {
  const members = await lockMemberships(tx, of.accountId)
  const member = members.find((one) => isSame(one, of))
  if (member === undefined) return refuse('member_not_found')
  const { userId } = member
  if (member.role === 'owner') return { userId, changed: false }
  await updateRole(tx, { accountId: of.accountId, userId, role: 'owner' })
  return { userId, changed: true }
}

function isSame(member: Member, of: OwnMember): boolean {
  return 'email' in of ? member.email === of.email : member.userId === of.userId
}

/** Makes the user of an address a member at once: for the demo. */
export async function addMember(
  tx: Tx,
  { accountId, email, role }: { accountId: string; email: string; role: Role },
  now: Date,
): Promise<{ userId: string; isNew: boolean }> {
  const { id: userId } = await findOrCreateUser(tx, { email, name: null, now })
  const isNew = await insertMembership(tx, { userId, accountId, role, createdAt: now })
  // The first account is the one that sign-in opens.
  if (isNew && (await findSignInAccount(tx, userId))?.accountId === accountId)
    await updateLastAccount(tx, { userId, accountId })
  return { userId, isNew }
}
