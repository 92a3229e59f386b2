/**
 * Sends the mails of the outbox (decision D46). Each attempt makes a new link, which is valid for
 * 15 minutes from that attempt: a mail that waited an hour for its server still holds a link that
 * works. Once a link of a mail is used, the other links of that mail no longer work.
 *
 * Tables: updates and deletes `mails`; inserts `sign_in_links` and `invitation_links`; reads `users`,
 * `memberships` and `invitations`. With open sign-up it also inserts the user and the account.
 * Crash: a claimed mail is due again when its lease ends, so it is sent at least once.
 */
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import type { Mail, MailClient, MailResult } from '../platform/egress/mail-client.ts'
import { findInvitation, findNewestInvitation, type Invitation } from './invitation-store.ts'
import { invitationUrl, makeInvitationLink } from './invitations.ts'
import {
  type ClaimedMail,
  claimDueMails,
  deleteMail,
  type MailKind,
  type NoticeMail,
  updateMailDue,
} from './mail-store.ts'
import { findNoticeReaders } from './notices.ts'
import { isOfConsole, linkUrl, makeLink } from './sign-in.ts'
import { findSignInAccount, findUserByEmail } from './store.ts'

/** What a mail says. A link without an invitation signs in. */
export type MailContent = { url: string; invitation: Invitation | null } | { notice: NoticeMail }

export type RenderMail = (content: MailContent) => Pick<Mail, 'subject' | 'text' | 'html'>

export interface MailSenderOptions {
  db: Db
  clock: Clock
  publicUrl: string
  /** Origin of the console. */
  operatorUrl: string
  client: MailClient
  render: RenderMail
  /** The kind of mails that is sent. By default every kind. */
  only?: MailKind | undefined
  /** Makes a user for an unknown address. Returns null if sign-up is by invitation. */
  signUp(tx: Tx, email: string, now: Date): Promise<string | null>
  onResult(mail: ClaimedMail, result: MailResult | { result: 'no user' | 'given up' }): void
}

const batchSize = 8
/** Longer than the deadline of an attempt. */
const leaseMs = 60_000
/** Seconds to wait before attempts 2, 3, …; later attempts follow every hour. */
const retryWaitsSeconds = [5, 30, 120, 600, 1_800] as const
const givenUpAfterMs = 86_400_000

/**
 * Returns the time of the next attempt, or null if the mail is given up. The first attempt is 1.
 */
export function nextMailAt(attempt: number, createdAt: Date, failedAt: Date): Date | null {
  const at = new Date(failedAt.getTime() + (retryWaitsSeconds[attempt - 1] ?? 3_600) * 1_000)
  return at.getTime() - createdAt.getTime() > givenUpAfterMs ? null : at
}

/** Sends all due mails. Ends early, after a batch, when the signal comes. */
export async function sendMails(options: MailSenderOptions, signal?: AbortSignal): Promise<void> {
  for (let claimed = batchSize; claimed === batchSize; ) {
    claimed = await sendBatch(options)
    if (signal?.aborted) return
  }
}

async function sendBatch(options: MailSenderOptions): Promise<number> {
  const { db, clock, only } = options
  const now = clock()
  const leasedUntil = new Date(now.getTime() + leaseMs)
  const mails = await claimDueMails(db, { now, leasedUntil, limit: batchSize, only })
  await Promise.all(mails.map((mail) => sendOne(options, mail)))
  return mails.length
}

async function sendOne(options: MailSenderOptions, mail: ClaimedMail): Promise<void> {
  const { db, clock, client, render, onResult } = options
  const content = await db.transaction((tx) => contentOf(tx, options, mail))
  if (content === null) {
    await deleteMail(db, mail.id)
    onResult(mail, { result: 'no user' })
    return
  }
  const messageId = `<${mail.id}@${new URL(options.publicUrl).hostname}>`
  const sent = await client.send({ to: mail.email, messageId, ...render(content) })
  onResult(mail, sent)
  if (sent.result === 'sent') return updateMailDue(db, mail, null)
  const next = sent.result === 'rejected' ? null : nextMailAt(mail.attempt, mail.createdAt, clock())
  if (next !== null) return updateMailDue(db, mail, next)
  onResult(mail, { result: 'given up' })
  await deleteMail(db, mail.id)
}

/** An owner who was removed in the meantime gets no notice. */
async function mayRead(tx: Tx, { accountId }: NoticeMail, email: string): Promise<boolean> {
  if (accountId === null) return true
  return (await findNoticeReaders(tx, accountId)).some((reader) => reader.email === email)
}

/**
 * Returns the content of a mail. Null: the user is disabled, no user has the address, or the
 * invitation is not open any more. An invited person without an account who requests a sign-in link
 * gets the newest invitation.
 */
async function contentOf(
  tx: Tx,
  { clock, publicUrl, operatorUrl, signUp }: MailSenderOptions,
  { id, email, next, invitationId, notice }: ClaimedMail,
): Promise<MailContent | null> {
  if (notice !== null) return (await mayRead(tx, notice, email)) ? { notice } : null
  const now = clock()
  const user = await findUserByEmail(tx, email)
  if (user !== undefined && user.disabledAt !== null) return null
  const isMember = user !== undefined && (await findSignInAccount(tx, user.id)) !== undefined
  const userId = invitationId !== null ? null : isMember ? user.id : await signUp(tx, email, now)
  if (userId !== null) {
    const token = await makeLink(tx, { mailId: id, userId }, now)
    const origin = isOfConsole(next) ? operatorUrl : publicUrl
    return token === null ? null : { url: linkUrl(origin, token), invitation: null }
  }
  const invitation =
    invitationId === null
      ? await findNewestInvitation(tx, email, now)
      : await findInvitation(tx, invitationId, now)
  if (invitation === undefined) return null
  const link = { invitationId: invitation.id, provesAddress: true }
  const token = await makeInvitationLink(tx, link)
  return { url: invitationUrl(publicUrl, token), invitation }
}
