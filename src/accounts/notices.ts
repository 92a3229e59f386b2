/**
 * Notices by mail: what an owner of an account or the operator has to mend. A notice is queued at
 * most once in its span. A crash leaves both the record and the mail, or neither; the mail itself is
 * sent at least once (decision D46).
 */
import type { OwnerNotice } from '../audit/account-actions.ts'
import { type Db, type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { insertMail, type NoticeLine } from './mail-store.ts'

/** The notices that an owner gets by default, and the page that mends each. */
export const ownerNotices = {
  webhooks_failing: {
    title: 'A webhook endpoint has not succeeded for an hour',
    everyHours: 24,
    path: '/dashboard/webhooks',
  },
  webhooks_disabled: {
    title: 'The service disabled a webhook endpoint',
    everyHours: 24,
    path: '/dashboard/webhooks',
  },
  credits_low: {
    title: 'The credits last less than a week at the present use',
    everyHours: 72,
    path: '/dashboard/usage',
  },
  credits_gone: {
    title: 'The credits pay for no read any more',
    everyHours: 24,
    path: '/dashboard/usage',
  },
  key_ends: {
    title: 'An API key without a successor ends within a week',
    everyHours: 72,
    path: '/dashboard/keys',
  },
} as const satisfies Record<OwnerNotice, object>

export interface DueNotice extends NoticeLine {
  name: string
  everyHours: number
  /** What happened once. It is queued again only if it happens again. */
  happenedAt?: Date
}

interface NoticeRecipient {
  accountId: string | null
  of: string
  /** The operator's addresses. Owners are read from the account. */
  emails?: readonly string[]
}

const hourMs = 3_600_000

/** Queues one mail for each reader, with the notices that were not queued in their span. */
export function queueNotices(
  db: Db,
  { accountId, of, emails = [] }: NoticeRecipient,
  notices: readonly DueNotice[],
  now: Date,
): Promise<number> {
  return db.transaction(async (tx) => {
    const due: DueNotice[] = []
    for (const notice of notices) {
      const spanEnd = new Date(now.getTime() - notice.everyHours * hourMs)
      const before = new Date(Math.min(Number(spanEnd), Number(notice.happenedAt ?? spanEnd)))
      const claim = { recipient: accountId ?? 'operator', notice: notice.name, before }
      if (await claimNotice(tx, claim, now)) due.push(notice)
    }
    if (due.length === 0) return 0
    const readers =
      accountId === null
        ? emails.map((email) => ({ email, off: [] as string[] }))
        : await findNoticeReaders(tx, accountId)
    let queued = 0
    for (const { email, off } of readers) {
      const lines = due
        .filter(({ name }) => !off.includes(name))
        .map(({ title, text, url }) => ({ title, text, url }))
      if (lines.length === 0) continue
      const mail = { id: uuidV7(now), kind: 'notice', email, next: null } as const
      await insertMail(tx, {
        ...mail,
        notice: { accountId, of, lines },
        createdAt: now,
        dueAt: now,
      })
      queued++
    }
    return queued
  })
}

/**
 * Records that a notice is queued. Returns false if it was queued after `before`. A concurrent call
 * for the same notice waits, and then returns false.
 */
async function claimNotice(
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
