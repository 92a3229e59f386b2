/**
 * The verbs by which an account invites (decision D47). An invitation is a row and a link; the user
 * and the membership begin when the invited person accepts (`accept-invitation.ts`). The answers
 * never depend on whether a user has the address.
 *
 * Limits: an account sends 20 mails a day, and an invitation one mail a day. The first mail of an
 * account to an address counts against a limit that all accounts share, 5 a day for each address.
 * So a mailbox is not flooded, and requests of strangers for sign-in links do not stop invitations.
 * Every further mail counts against the limit of strangers for the address. Mails of the operator do
 * not count.
 */
import { randomBytes } from 'node:crypto'
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Role } from '../platform/http/callers.ts'
import {
  deleteHandedLinks,
  expireInvitation,
  findOpenInvitations,
  insertInvitation,
  insertInvitationLink,
  lockOpenInvitation,
  updateAnswer,
  updateMailedAt,
  wasInvited,
} from './invitation-store.ts'
import { accountLimit, invitationLimit, spendMailBudget, strangersLimit } from './mail-budget.ts'
import { deleteMailsOfInvitation, insertMail } from './mail-store.ts'
import { findMembers, lockMemberships } from './store.ts'

export const membersMax = 100
export const invitationDays = 7
const dayMs = 86_400_000

export interface NewInvitation {
  accountId: string
  /** A result of `parseEmail`. */
  email: string
  role: Role
  /** The owner who invites. Null: the operator. */
  invitedBy: string | null
  /** Whether the link is mailed. Otherwise it is returned, to be handed over. */
  isMailed: boolean
}

export type Invited =
  /** `token` is null if the link is mailed. */
  | { outcome: 'invited'; invitationId: string; token: string | null }
  | { outcome: 'invited already'; invitationId: string }
  | { outcome: 'member already'; userId: string }
  | { outcome: 'too many members' }
  | { outcome: 'limited'; retryAfterSeconds: number }

/** Invites an address to an account. */
export function inviteMember(context: ActionContext, invitation: NewInvitation): Promise<Invited> {
  return audited(context, 'users.invited', async (tx, now) => {
    const { accountId, email, role, invitedBy, isMailed } = invitation
    await lockMemberships(tx, accountId)
    const members = await findMembers(tx, accountId)
    const member = members.find((one) => one.email === email)
    if (member !== undefined) return unchanged({ outcome: 'member already', userId: member.userId })
    const open = await findOpenInvitations(tx, { accountId, now })
    const same = open.find((one) => one.email === email)
    if (same !== undefined) return unchanged({ outcome: 'invited already', invitationId: same.id })
    if (members.length + open.length >= membersMax)
      return unchanged({ outcome: 'too many members' })
    const isFirst = !(await wasInvited(tx, { accountId, email }))
    const retryAfterSeconds = await spend(tx, { accountId, email, invitedBy, isMailed, isFirst })
    if (retryAfterSeconds !== null) return unchanged({ outcome: 'limited', retryAfterSeconds })
    await expireInvitation(tx, { accountId, email, now })
    const id = uuidV7(now)
    const expiresAt = new Date(now.getTime() + invitationDays * dayMs)
    await insertInvitation(tx, { id, accountId, email, role, invitedBy, createdAt: now, expiresAt })
    const token = await deliver(tx, { id, email, invitedBy, isMailed, now })
    const details = { account: accountId, role }
    return changed({ outcome: 'invited', invitationId: id, token }, { subjects: [id], details })
  })
}

export type Resent =
  | { outcome: 'sent'; token: string | null }
  | { outcome: 'no such invitation' }
  | { outcome: 'limited'; retryAfterSeconds: number }

export interface OwnInvitation {
  accountId: string
  invitationId: string
}

/** Mails an open invitation again, or returns a new link, which replaces the one handed over. */
export function resendInvitation(
  context: ActionContext,
  {
    accountId,
    invitationId: id,
    invitedBy,
    isMailed,
  }: OwnInvitation & Pick<NewInvitation, 'invitedBy' | 'isMailed'>,
): Promise<Resent> {
  return audited(context, 'users.invitation_resent', async (tx, now) => {
    const open = await lockOpenInvitation(tx, { id, accountId, now })
    if (open === undefined) return unchanged({ outcome: 'no such invitation' })
    const { email, mailedAt } = open
    const waitMs = mailedAt === null ? 0 : mailedAt.getTime() + dayMs - now.getTime()
    const retryAfterSeconds =
      isMailed && invitedBy !== null && waitMs > 0
        ? Math.ceil(waitMs / 1_000)
        : await spend(tx, { accountId, email, invitedBy, isMailed, isFirst: false })
    if (retryAfterSeconds !== null) return unchanged({ outcome: 'limited', retryAfterSeconds })
    const token = await deliver(tx, { id, email, invitedBy, isMailed, now })
    return changed({ outcome: 'sent', token }, { subjects: [id], details: { account: accountId } })
  })
}

/** Withdraws an open invitation: its links end with the commit, and a waiting mail is not sent. */
export function withdrawInvitation(
  context: ActionContext,
  { accountId, invitationId: id }: OwnInvitation,
): Promise<boolean> {
  return audited(context, 'users.invitation_withdrawn', async (tx, now) => {
    if ((await lockOpenInvitation(tx, { id, accountId, now })) === undefined)
      return unchanged(false)
    await updateAnswer(tx, { id, answer: 'withdrawn', now })
    await deleteMailsOfInvitation(tx, id)
    return changed(true, { subjects: [id], details: { account: accountId } })
  })
}

/** Makes a link of an invitation. Returns its token. */
export async function makeInvitationLink(
  tx: Tx,
  { invitationId, provesAddress }: { invitationId: string; provesAddress: boolean },
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await insertInvitationLink(tx, { digest: sha256(token), invitationId, provesAddress })
  return token
}

/** Returns the URL for the invited person. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/invitations/${token}`
}

interface Delivery {
  id: string
  email: string
  invitedBy: string | null
  isMailed: boolean
  now: Date
}

/** Queues the mail, and returns null. Without mail, returns the token of a link. */
async function deliver(
  tx: Tx,
  { id: invitationId, email, invitedBy, isMailed, now }: Delivery,
): Promise<string | null> {
  if (!isMailed) {
    await deleteHandedLinks(tx, invitationId)
    return makeInvitationLink(tx, { invitationId, provesAddress: invitedBy === null })
  }
  const mail = { id: uuidV7(now), kind: 'invitation', email, next: null, invitationId } as const
  await insertMail(tx, { ...mail, createdAt: now, dueAt: now })
  await updateMailedAt(tx, invitationId, now)
  return null
}

interface Spending extends Pick<NewInvitation, 'accountId' | 'email' | 'invitedBy' | 'isMailed'> {
  isFirst: boolean
}

/** Returns null, or the seconds until the mail is allowed. Without mail, only invitations count. */
async function spend(
  tx: Tx,
  { accountId, email, invitedBy, isMailed, isFirst }: Spending,
): Promise<number | null> {
  if (invitedBy === null) return null
  const ofAddress = isFirst ? invitationLimit(email) : strangersLimit(email)
  return spendMailBudget(tx, [accountLimit(accountId), ...(isMailed ? [ofAddress] : [])])
}
