/** All SQL of invitations and invitation_links. */
import type { Role } from '../edge/http/callers.ts'
import { fragment, type Queryable, sql, type Tx } from '../platform/db/db.ts'

/** An open invitation as the members of its account see it. */
export interface OpenInvitation extends Pick<Invitation, 'id' | 'email' | 'role' | 'expiresAt'> {
  createdAt: Date
  mailedAt: Date | null
}

const openColumns = fragment`
  id, email, role, created_at as "createdAt", expires_at as "expiresAt", mailed_at as "mailedAt"`

/** Returns the open invitations of an account, sorted by address. */
export function findOpenInvitations(
  db: Queryable,
  { accountId, now }: { accountId: string; now: Date },
): Promise<OpenInvitation[]> {
  return db.rows<OpenInvitation>(sql`
    select ${openColumns} from invitations
    where account_id = ${accountId} and answered_at is null and expires_at > ${now} order by email`)
}

/** Locks the open invitation of an account to an address until the end of the transaction. */
export async function lockOpenInvitation(
  tx: Tx,
  { accountId, email, now }: { accountId: string; email: string; now: Date },
): Promise<OpenInvitation | undefined> {
  const [found] = await tx.rows<OpenInvitation>(sql`
    select ${openColumns} from invitations
    where account_id = ${accountId} and email = ${email} and answered_at is null and expires_at > ${now}
    for update`)
  return found
}

interface NewInvitation extends Omit<OpenInvitation, 'mailedAt'> {
  accountId: string
  invitedBy: string | null
}

export async function insertInvitation(tx: Tx, one: NewInvitation): Promise<void> {
  await tx.run(sql`
    insert into invitations (id, account_id, email, role, invited_by, created_at, expires_at)
    values (${one.id}, ${one.accountId}, ${one.email}, ${one.role}, ${one.invitedBy}, ${one.createdAt},
      ${one.expiresAt})`)
}

/** Returns whether the account has invited the address before, in the last month. */
export async function wasInvited(
  tx: Tx,
  { accountId, email }: { accountId: string; email: string },
): Promise<boolean> {
  const rows = await tx.rows(sql`
    select from invitations where account_id = ${accountId} and email = ${email} limit 1`)
  return rows.length > 0
}

/** Marks the invitation that has ended, so that the address can be invited again. */
export async function expireInvitation(
  tx: Tx,
  { accountId, email, now }: { accountId: string; email: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    update invitations set answered_at = expires_at, answer = 'expired'
    where account_id = ${accountId} and email = ${email} and answered_at is null and expires_at <= ${now}`)
}

export async function updateMailedAt(tx: Tx, id: string, mailedAt: Date): Promise<void> {
  await tx.run(sql`update invitations set mailed_at = ${mailedAt} where id = ${id}`)
}

/** Returns false if the invitation was answered before, or has ended. */
export async function updateAnswer(
  tx: Tx,
  { id, answer, now }: { id: string; answer: 'accepted' | 'declined' | 'withdrawn'; now: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    update invitations set answered_at = ${now}, answer = ${answer}
    where id = ${id} and answered_at is null and expires_at > ${now}`)
  return count === 1
}

export async function insertInvitationLink(
  tx: Tx,
  link: { digest: Buffer; invitationId: string; provesAddress: boolean },
): Promise<void> {
  await tx.run(sql`
    insert into invitation_links (digest, invitation_id, proves_address)
    values (${link.digest}, ${link.invitationId}, ${link.provesAddress})`)
}

/** Deletes the links that a member was given to hand over. */
export async function deleteHandedLinks(tx: Tx, invitationId: string): Promise<void> {
  await tx.run(sql`
    delete from invitation_links where invitation_id = ${invitationId} and not proves_address`)
}

const invitationColumns = fragment`
  i.id, i.email, i.role, i.account_id as "accountId", a.name as account, i.expires_at as "expiresAt",
  case when b.id is not null then json_build_object('name', b.name, 'email', b.email) end as inviter`
const invitationTables = fragment`
  invitations i join accounts a on a.id = i.account_id left join users b on b.id = i.invited_by`

export async function findInvitationByLink(
  db: Queryable,
  digest: Buffer,
  now: Date,
): Promise<(Invitation & { provesAddress: boolean }) | undefined> {
  const [found] = await db.rows<Invitation & { provesAddress: boolean }>(sql`
    select ${invitationColumns}, l.proves_address as "provesAddress"
    from ${invitationTables} join invitation_links l on l.invitation_id = i.id
    where l.digest = ${digest} and i.answered_at is null and i.expires_at > ${now}`)
  return found
}

export async function findInvitation(
  db: Queryable,
  id: string,
  now: Date,
): Promise<Invitation | undefined> {
  const [found] = await db.rows<Invitation>(sql`
    select ${invitationColumns} from ${invitationTables}
    where i.id = ${id} and i.answered_at is null and i.expires_at > ${now}`)
  return found
}

/**
 * Returns the open invitations to the address of a user, newest first. A user who has not proven
 * the address has none.
 */
export function findInvitationsTo(
  db: Queryable,
  { userId, now }: { userId: string; now: Date },
): Promise<Invitation[]> {
  return db.rows<Invitation>(sql`
    select ${invitationColumns} from ${invitationTables}
    join users u on u.email = i.email
    where u.id = ${userId} and u.address_proven_at is not null
      and i.answered_at is null and i.expires_at > ${now}
    order by i.created_at desc, i.id`)
}

/** Returns the newest open invitation to an address. */
export async function findNewestInvitation(
  db: Queryable,
  email: string,
  now: Date,
): Promise<Invitation | undefined> {
  const [found] = await db.rows<Invitation>(sql`
    select ${invitationColumns} from ${invitationTables}
    where i.email = ${email} and i.answered_at is null and i.expires_at > ${now}
    order by i.created_at desc, i.id limit 1`)
  return found
}

/** Deletes the invitations to an address. Returns their ids. */
export async function deleteInvitationsTo(tx: Tx, email: string): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    delete from invitations where email = ${email} returning id`)
  return rows.map(({ id }) => id)
}

/** Deletes invitations 30 days after their answer or their end. */
export async function sweepInvitations(db: Queryable, now: Date): Promise<void> {
  await db.run(sql`
    delete from invitations
    where coalesce(answered_at, expires_at) <= ${now}::timestamptz - interval '30 days'`)
}

export interface Invitation {
  id: string
  email: string
  role: Role
  accountId: string
  /** Name of the account. */
  account: string
  /** The user who invited. Null: the operator, or a user who was erased. */
  inviter: { name: string | null; email: string } | null
  expiresAt: Date
}
