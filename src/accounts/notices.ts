/**
 * Notices by mail: what an owner of an account or the operator has to mend. A notice is queued at
 * most once in its span. A crash leaves both the record and the mail, or neither; the mail itself is
 * sent at least once (decision D46).
 */
import type { OwnerNotice } from '../audit/account-actions.ts'
import type { Db } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { insertMail, type NoticeLine } from './mail-store.ts'
import { claimNotice, findNoticeReaders } from './notice-store.ts'

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

export interface NoticeRecipient {
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
