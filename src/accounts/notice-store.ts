/** All SQL of notices_sent, and of the notices that members switch off. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

/**
 * Records that a notice is queued. Returns false if it was queued after `before`. A concurrent call
 * for the same notice waits, and then returns false.
 */
export async function claimNotice(
  tx: Tx,
  { recipient, notice, before }: { recipient: string; notice: string; before: Date },
  now: Date,
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into notices_sent (recipient, notice, sent_at) values (${recipient}, ${notice}, ${now})
    on conflict (recipient, notice) do update set sent_at = excluded.sent_at
    where notices_sent.sent_at <= ${before}`)
  return count === 1
}

export interface NoticeReader {
  userId: string
  email: string
  /** The notices that the owner switched off. */
  off: string[]
}

/** Returns the owners of an account who may sign in. */
export function findNoticeReaders(db: Queryable, accountId: string): Promise<NoticeReader[]> {
  return db.rows<NoticeReader>(sql`
    select u.id as "userId", u.email, m.notices_off as off
    from memberships m join users u on u.id = m.user_id
    where m.account_id = ${accountId} and m.role = 'owner' and u.disabled_at is null
    order by u.email`)
}

/** Returns the id of the user, or undefined if the address is no member of the account. */
export async function updateNoticesOff(
  tx: Tx,
  { accountId, email, off }: { accountId: string; email: string; off: readonly string[] },
): Promise<string | undefined> {
  const [row] = await tx.rows<{ userId: string }>(sql`
    update memberships m set notices_off = ${off} from users u
    where m.account_id = ${accountId} and u.id = m.user_id and u.email = ${email}
    returning m.user_id as "userId"`)
  return row?.userId
}
