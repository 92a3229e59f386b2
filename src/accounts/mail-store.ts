/** All SQL of mails and sign_in_links. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

export type MailKind = 'sign_in' | 'invitation' | 'notice'

/** A line of a mail, and where to mend it. */
export interface NoticeLine {
  /** Short, and always the same for a notice, because a mail program groups by subject. */
  title: string
  text: string
  url: string
}

export interface NoticeMail {
  /** Null: the mail is for the operator. */
  accountId: string | null
  /** What needs the reader, for example the name of the account. */
  of: string
  lines: readonly NoticeLine[]
}

export interface NewMail {
  id: string
  kind: MailKind
  email: string
  /** The page after sign-in, or null. */
  next: string | null
  /** Of a mail of the kind `invitation`. */
  invitationId?: string
  /** Of a mail of the kind `notice`. */
  notice?: NoticeMail
  createdAt: Date
  /** Null: the mail is not sent, because its link is printed. */
  dueAt: Date | null
}

export async function insertMail(db: Queryable, mail: NewMail): Promise<void> {
  await db.run(sql`
    insert into mails (id, kind, email, next, invitation_id, notice, created_at, due_at)
    values (${mail.id}, ${mail.kind}, ${mail.email}, ${mail.next}, ${mail.invitationId ?? null},
      ${mail.notice === undefined ? null : JSON.stringify(mail.notice)}::jsonb, ${mail.createdAt}, ${mail.dueAt})`)
}

export interface ClaimedMail extends Omit<NewMail, 'dueAt' | 'invitationId' | 'notice'> {
  invitationId: string | null
  notice: NoticeMail | null
  /** 1 for the first attempt. */
  attempt: number
}

/**
 * Claims due mails until `leasedUntil`. Skips rows that another process holds. If the process ends
 * before the mail is sent, the mail is due again after the lease. Notices wait for other mails.
 * Without `only`, it claims every kind.
 */
export function claimDueMails(
  db: Queryable,
  {
    now,
    leasedUntil,
    limit,
    only = null,
  }: { now: Date; leasedUntil: Date; limit: number; only?: MailKind | null | undefined },
): Promise<ClaimedMail[]> {
  return db.rows<ClaimedMail>(sql`
    update mails m set due_at = ${leasedUntil}, attempts = m.attempts + 1
    where m.id in (
      select id from mails where due_at <= ${now} and (${only}::text is null or kind = ${only})
      order by kind = 'notice', due_at
      limit ${limit} for update skip locked)
    returning m.id, m.kind, m.email, m.next, m.invitation_id as "invitationId", m.notice, m.created_at as "createdAt",
      m.attempts as attempt`)
}

/**
 * Sets the time of the next attempt, or null once the mail is sent. Does nothing if a later attempt
 * has claimed the mail.
 */
export async function updateMailDue(
  db: Queryable,
  { id, attempt }: Pick<ClaimedMail, 'id' | 'attempt'>,
  dueAt: Date | null,
): Promise<void> {
  await db.run(sql`update mails set due_at = ${dueAt} where id = ${id} and attempts = ${attempt}`)
}

export async function deleteMail(db: Queryable, id: string): Promise<void> {
  await db.run(sql`delete from mails where id = ${id}`)
}

export function deleteMailsTo(db: Queryable, email: string): Promise<number> {
  return db.run(sql`delete from mails where email = ${email}`)
}

export async function deleteMailsOfInvitation(tx: Tx, invitationId: string): Promise<void> {
  await tx.run(sql`delete from mails where invitation_id = ${invitationId}`)
}

export interface NewLink {
  digest: Buffer
  mailId: string
  userId: string
  expiresAt: Date
}

/** Returns false if the mail was deleted: its link was used, or its user was erased. */
export async function insertLink(tx: Tx, link: NewLink): Promise<boolean> {
  const count = await tx.run(sql`
    insert into sign_in_links (digest, mail_id, user_id, expires_at)
    select ${link.digest}, m.id, ${link.userId}, ${link.expiresAt} from mails m
    where m.id = ${link.mailId} for key share`)
  return count === 1
}

/** Returns the address of the user of a link, or undefined if the link cannot be used. */
export async function findLinkEmail(
  db: Queryable,
  digest: Buffer,
  now: Date,
): Promise<string | undefined> {
  const [row] = await db.rows<{ email: string }>(sql`
    select u.email from sign_in_links l join users u on u.id = l.user_id
    where l.digest = ${digest} and l.expires_at > ${now} and u.disabled_at is null
      and exists (select from memberships m where m.user_id = u.id)`)
  return row?.email
}

export interface UsedLink {
  userId: string
  next: string | null
}

/**
 * Consumes a link: deletes its mail, and with the mail all links of that mail. If two requests
 * present links of one mail, the second request waits for the first and then deletes nothing.
 */
export async function takeLink(tx: Tx, digest: Buffer, now: Date): Promise<UsedLink | undefined> {
  const [used] = await tx.rows<UsedLink>(sql`
    delete from mails where id = (
      select l.mail_id from sign_in_links l join users u on u.id = l.user_id
      where l.digest = ${digest} and l.expires_at > ${now} and u.disabled_at is null
        and exists (select from memberships m where m.user_id = u.id))
    returning next,
      (select l.user_id from sign_in_links l where l.digest = ${digest}) as "userId"`)
  return used
}

/** Deletes sent mails whose links have expired. */
export async function sweepMails(db: Queryable, now: Date): Promise<void> {
  await db.run(sql`
    delete from mails m where m.due_at is null
      and not exists (select from sign_in_links l where l.mail_id = m.id and l.expires_at > ${now})`)
}
