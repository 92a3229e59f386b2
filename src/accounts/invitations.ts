/**
 * How an account invites (decision D47). An invitation is a row and a link; the user
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
import type { Role } from '../edge/http/callers.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
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
import { lockMemberships } from './store.ts'

export const membersMax = 100
export const invitationDays = 7
const dayMs = 86_400_000

/** An account and the address that it invites. */
export interface OwnInvitation {
  accountId: string
  /** A result of `parseEmail`. */
  email: string
}

export interface Sending extends OwnInvitation {
  /** The owner who invites. Null: the operator. */
  invitedBy: string | null
  /** Whether the link is mailed. Otherwise it is returned, to be handed over. */
  isMailed: boolean
}

/** `token` is null if the link is mailed. */
type Sent = { invitationId: string; token: string | null }

/** Invites an address to an account. */
export async function inviteMember(
  tx: Tx,
  { role, ...sending }: Sending & { role: Role },
  now: Date,
): Promise<
  Sent | { memberId: string } | Refusal<'invited_already' | 'members_maximum' | 'rate_limited'>
> {
  const { accountId, email, invitedBy } = sending
  const members = await lockMemberships(tx, accountId)
  const member = members.find((one) => one.email === email)
  if (member !== undefined) return { memberId: member.userId }
  const open = await findOpenInvitations(tx, { accountId, now })
  if (open.some((one) => one.email === email)) return refuse('invited_already')
  if (members.length + open.length >= membersMax) return refuse('members_maximum')
  const isFirst = !(await wasInvited(tx, { accountId, email }))
  const limited = await spend(tx, { ...sending, isFirst })
  if (limited !== null) return limited
  await expireInvitation(tx, { accountId, email, now })
  const id = uuidV7(now)
  const expiresAt = new Date(now.getTime() + invitationDays * dayMs)
  await insertInvitation(tx, { id, accountId, email, role, invitedBy, createdAt: now, expiresAt })
  return { invitationId: id, token: await deliver(tx, { id, ...sending, now }) }
}

/** Mails an open invitation again, or returns a new link, which replaces the one handed over. */
export async function resendInvitation(
  tx: Tx,
  sending: Sending,
  now: Date,
): Promise<Sent | Refusal<'invitation_not_found' | 'rate_limited'>> {
  const { invitedBy, isMailed } = sending
  const open = await lockOpenInvitation(tx, { ...sending, now })
  if (open === undefined) return refuse('invitation_not_found')
  const { id, mailedAt } = open
  const waitMs = mailedAt === null ? 0 : mailedAt.getTime() + dayMs - now.getTime()
  if (isMailed && invitedBy !== null && waitMs > 0) return limit(Math.ceil(waitMs / 1_000))
  const limited = await spend(tx, { ...sending, isFirst: false })
  if (limited !== null) return limited
  return { invitationId: id, token: await deliver(tx, { id, ...sending, now }) }
}

/** Withdraws an open invitation: its links end with the commit, and a waiting mail is not sent. */
export async function withdrawInvitation(
  tx: Tx,
  of: OwnInvitation,
  now: Date,
): Promise<{ invitationId: string } | Refusal<'invitation_not_found'>> {
  const open = await lockOpenInvitation(tx, { ...of, now })
  if (open === undefined) return refuse('invitation_not_found')
  await updateAnswer(tx, { id: open.id, answer: 'withdrawn', now })
  await deleteMailsOfInvitation(tx, open.id)
  return { invitationId: open.id }
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

interface Delivery extends Omit<Sending, 'accountId'> {
  id: string
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

/** Returns null, or a refusal. Without mail, only the invitations of the account count. */
async function spend(
  tx: Tx,
  { accountId, email, invitedBy, isMailed, isFirst }: Sending & { isFirst: boolean },
): Promise<Refusal<'rate_limited'> | null> {
  if (invitedBy === null) return null
  const ofAddress = isFirst ? invitationLimit(email) : strangersLimit(email)
  const limits = [accountLimit(accountId), ...(isMailed ? [ofAddress] : [])]
  const retryAfterSeconds = await spendMailBudget(tx, limits)
  return retryAfterSeconds === null ? null : limit(retryAfterSeconds)
}

/** One text for all limits: it must not tell which one an address has reached. */
function limit(retryAfterSeconds: number): Refusal<'rate_limited'> {
  return refuse('rate_limited', {
    message:
      'An invitation is mailed once a day, and the mails of an account and to an address are limited.',
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
}
