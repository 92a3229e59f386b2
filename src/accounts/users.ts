/** Operators' verbs for users. Each writes its audit entry in its own transaction. */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Role } from '../platform/http/callers.ts'
import { deleteMailsTo, insertMail } from './mail-store.ts'
import { deleteSessionsOf } from './session-store.ts'
import { makeLink } from './sign-in.ts'
import {
  deleteUser,
  findUserByEmail,
  insertMembership,
  insertUser,
  lockUserByEmail,
  type User,
  updateDisabled,
} from './store.ts'

export interface Invitation {
  /** A result of `parseEmail`. */
  email: string
  name: string | null
  accountId: string
  role: Role
  /** Whether the user receives a mail. */
  isMailed: boolean
}

export type Invited =
  | { outcome: 'invited'; userId: string }
  | { outcome: 'member already'; userId: string }
  | { outcome: 'disabled'; userId: string }

/** Makes a user a member of an account, and makes the user if the address is new. */
export function inviteUser(context: ActionContext, invitation: Invitation): Promise<Invited> {
  return audited(context, 'users.invited', async (tx, now) => {
    const { email, name, accountId, role, isMailed } = invitation
    const user = await findOrCreateUser(tx, { email, name, now })
    const userId = user.id
    if (user.disabledAt !== null) return unchanged({ outcome: 'disabled', userId })
    if (!(await insertMembership(tx, { userId, accountId, role, createdAt: now })))
      return unchanged({ outcome: 'member already', userId })
    if (isMailed) {
      const mail = { id: uuidV7(now), kind: 'invitation', email, next: null } as const
      await insertMail(tx, { ...mail, createdAt: now, dueAt: now })
    }
    const details = { account: accountId, role }
    return changed({ outcome: 'invited', userId }, { subjects: [userId], details })
  })
}

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
 * Erases a user. The accounts stay, with their keys and credits. Returns the user's id, or null for
 * an unknown address.
 */
export function eraseUser(context: ActionContext, email: string): Promise<string | null> {
  return audited(context, 'users.erased', async (tx) => {
    const user = await lockUserByEmail(tx, email)
    if (user === undefined) return unchanged(null)
    await deleteMailsTo(tx, email)
    await deleteUser(tx, user.id)
    return changed(user.id, { subjects: [user.id] })
  })
}

export type PrintedLink =
  | { outcome: 'made'; userId: string; token: string }
  | { outcome: 'no such user' }
  | { outcome: 'disabled' }

/** Makes a sign-in link that is printed instead of mailed. */
export function printLink(context: ActionContext, email: string): Promise<PrintedLink> {
  return audited(context, 'users.link_made', async (tx, now) => {
    const user = await findUserByEmail(tx, email)
    if (user === undefined) return unchanged({ outcome: 'no such user' })
    if (user.disabledAt !== null) return unchanged({ outcome: 'disabled' })
    const mailId = uuidV7(now)
    const mail = { id: mailId, kind: 'sign_in', email, next: null } as const
    await insertMail(tx, { ...mail, createdAt: now, dueAt: null })
    const token = await makeLink(tx, { mailId, userId: user.id }, now)
    if (token === null) throw new Error('a mail that was just written is gone')
    return changed({ outcome: 'made', userId: user.id, token }, { subjects: [user.id] })
  })
}
