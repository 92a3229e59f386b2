/** Operators' verbs for users. Each writes its audit entry in its own transaction. */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { deleteInvitationsTo } from './invitation-store.ts'
import { deleteMailsTo, insertMail } from './mail-store.ts'
import { deleteSessionsOf } from './session-store.ts'
import { makeLink } from './sign-in.ts'
import {
  deleteUser,
  findSignInAccount,
  findUserByEmail,
  insertUser,
  lockUserByEmail,
  type User,
  updateDisabled,
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

type Changed = { userId: string; changed: boolean } | null

/**
 * Disables a user. Sessions end with the commit, on every node. Returns null for an unknown
 * address.
 */
export function disableUser(context: ActionContext, email: string): Promise<Changed> {
  return audited(context, 'users.disabled', async (tx, now) => {
    const user = await lockUserByEmail(tx, email)
    if (user === undefined) return unchanged(null)
    if (user.disabledAt !== null) return unchanged({ userId: user.id, changed: false })
    await updateDisabled(tx, user.id, now)
    await deleteSessionsOf(tx, user.id)
    await deleteMailsTo(tx, email)
    return changed({ userId: user.id, changed: true }, { subjects: [user.id] })
  })
}

/** Lets a disabled user sign in again. Returns null for an unknown address. */
export function enableUser(context: ActionContext, email: string): Promise<Changed> {
  return audited(context, 'users.enabled', async (tx) => {
    const user = await lockUserByEmail(tx, email)
    if (user === undefined) return unchanged(null)
    if (user.disabledAt === null) return unchanged({ userId: user.id, changed: false })
    await updateDisabled(tx, user.id, null)
    return changed({ userId: user.id, changed: true }, { subjects: [user.id] })
  })
}

/**
 * Erases a user, and the invitations to the address. The accounts stay, with their keys and
 * credits. Returns what was erased, or null for an unknown address.
 */
export function eraseUser(
  context: ActionContext,
  email: string,
): Promise<{ userId: string | null; invitations: number } | null> {
  return audited(context, 'users.erased', async (tx) => {
    const user = await lockUserByEmail(tx, email)
    const invitationIds = await deleteInvitationsTo(tx, email)
    await deleteMailsTo(tx, email)
    if (user !== undefined) await deleteUser(tx, user.id)
    const subjects = user === undefined ? invitationIds : [user.id]
    if (subjects.length === 0) return unchanged(null)
    return changed({ userId: user?.id ?? null, invitations: invitationIds.length }, { subjects })
  })
}

export type PrintedLink =
  | { outcome: 'made'; userId: string; token: string }
  | { outcome: 'no such user' }
  | { outcome: 'disabled' }
  | { outcome: 'no account' }

/** Makes a sign-in link that is printed instead of mailed. */
export function printLink(context: ActionContext, email: string): Promise<PrintedLink> {
  return audited(context, 'users.link_made', async (tx, now) => {
    const user = await findUserByEmail(tx, email)
    if (user === undefined) return unchanged({ outcome: 'no such user' })
    if (user.disabledAt !== null) return unchanged({ outcome: 'disabled' })
    if ((await findSignInAccount(tx, user.id)) === undefined)
      return unchanged({ outcome: 'no account' })
    const mailId = uuidV7(now)
    const mail = { id: mailId, kind: 'sign_in', email, next: null } as const
    await insertMail(tx, { ...mail, createdAt: now, dueAt: null })
    const token = await makeLink(tx, { mailId, userId: user.id }, now)
    if (token === null) throw new Error('a mail that was just written is gone')
    return changed({ outcome: 'made', userId: user.id, token }, { subjects: [user.id] })
  })
}
