/**
 * Changes of users by operators, and of memberships. An account always keeps an owner: changes of
 * one account take turns, so two owners never remove each other at once.
 */
import type { Role } from '../edge/http/callers.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { deleteInvitationsTo } from './invitation-store.ts'
import { deleteMailsTo, insertMail } from './mail-store.ts'
import { deleteSessionsOf } from './session-store.ts'
import { makeLink } from './sign-in.ts'
import {
  deleteMembership,
  deleteUser,
  findSignInAccount,
  findUserByEmail,
  insertMembership,
  insertUser,
  lockMemberships,
  lockUserByEmail,
  type Member,
  type User,
  updateDisabled,
  updateLastAccount,
  updateRole,
} from './store.ts'

/** Returns the user of an address, and makes one if there is none. Locks the user. */
export async function findOrCreateUser(
  tx: Tx,
  { email, name, now }: { email: string; name: string | null; now: Date },
): Promise<User> {
  await insertUser(tx, { id: uuidV7(now), email, name, createdAt: now })
  const user = await lockUserByEmail(tx, email)
  if (user === undefined) throw new Error('a user that was just made is gone')
  return user
}

type Changed = { userId: string; changed: boolean } | Refusal<'user_not_found'>

/** Disables a user. Sessions end with the commit, on every node. */
export async function disableUser(tx: Tx, email: string, now: Date): Promise<Changed> {
  const user = await lockUserByEmail(tx, email)
  if (user === undefined) return unknownUser(email)
  if (user.disabledAt !== null) return { userId: user.id, changed: false }
  await updateDisabled(tx, user.id, now)
  await deleteSessionsOf(tx, user.id)
  await deleteMailsTo(tx, email)
  return { userId: user.id, changed: true }
}

/** Lets a disabled user sign in again. */
export async function enableUser(tx: Tx, email: string): Promise<Changed> {
  const user = await lockUserByEmail(tx, email)
  if (user === undefined) return unknownUser(email)
  if (user.disabledAt === null) return { userId: user.id, changed: false }
  await updateDisabled(tx, user.id, null)
  return { userId: user.id, changed: true }
}

/**
 * Erases a user, and the invitations to the address. The accounts stay, with their keys and
 * credits. `userId` is null if there were invitations alone.
 */
export async function eraseUser(
  tx: Tx,
  email: string,
): Promise<{ userId: string | null; invitationIds: string[] } | Refusal<'user_not_found'>> {
  const user = await lockUserByEmail(tx, email)
  const invitationIds = await deleteInvitationsTo(tx, email)
  await deleteMailsTo(tx, email)
  if (user !== undefined) await deleteUser(tx, user.id)
  else if (invitationIds.length === 0) return unknownUser(email)
  return { userId: user?.id ?? null, invitationIds }
}

/** Makes a sign-in link that is shown instead of mailed. It leads to the page `next`. */
export async function makeShownLink(
  tx: Tx,
  { email, next }: { email: string; next: string | null },
  now: Date,
): Promise<
  | { userId: string; token: string }
  | Refusal<'user_not_found' | 'user_disabled' | 'user_without_account'>
> {
  const user = await findUserByEmail(tx, email)
  if (user === undefined) return unknownUser(email)
  if (user.disabledAt !== null) return disabledUser(email)
  if ((await findSignInAccount(tx, user.id)) === undefined)
    return refuse('user_without_account', { message: `${email} is in no account.` })
  const mailId = uuidV7(now)
  const mail = { id: mailId, kind: 'sign_in', email, next } as const
  await insertMail(tx, { ...mail, createdAt: now, dueAt: null })
  const token = await makeLink(tx, { mailId, userId: user.id }, now)
  if (token === null) throw new Error('a mail that was just written is gone')
  return { userId: user.id, token }
}

export function unknownUser(email: string): Refusal<'user_not_found'> {
  return refuse('user_not_found', { message: `No user has the address ${email}.` })
}

export function disabledUser(email: string): Refusal<'user_disabled'> {
  return refuse('user_disabled', { message: `${email} is disabled.` })
}

/** A member of an account, by address or by user. */
type OwnMember = { accountId: string } & ({ email: string } | { userId: string })

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
