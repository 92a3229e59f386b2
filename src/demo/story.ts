/**
 * The story of the dashboard: an expired key, two reports of decisions, and a second account, which
 * is locked and has requested a review. The failing endpoint is in `receiver.ts`.
 */
import { createRecordedKey } from '../accounts/access/manage.ts'
import { findAccount } from '../accounts/api.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { insertReports, lockReporting, requestUnlockReview } from '../reports/api.ts'
import { type ReportContent, reportFingerprint } from '../reports/report-request.ts'
import { accountName, createDemoAccount } from './account.ts'
import { dayMs, sampleWorkers } from './scenario.ts'

export const secondAccountName = 'demo-agency'

const reports: readonly { daysAgo: number; content: ReportContent }[] = [
  {
    daysAgo: 6,
    content: {
      ...candidateWith(sampleWorkers.superseded, 'positive'),
      decision: 'interview_requested',
      reasonCodes: ['skill_match'],
      notes: 'The interview is on Thursday.',
    },
  },
  {
    daysAgo: 2,
    content: {
      ...candidateWith(sampleWorkers.revoked, 'neutral'),
      decision: 'rejected',
      reasonCodes: ['credential_revoked'],
      notes: 'Two items of evidence were revoked.',
    },
  },
]

function candidateWith(username: string, outcome: ReportContent['outcome']) {
  const subject = { kind: 'candidate', username } as const
  const agent = { agentName: 'Shortlist agent', agentVersion: null, jobRef: null, metadata: {} }
  return { ...agent, subject, outcome }
}

const reviewNote = 'Our agent reported each decision twice. It sends an Idempotency-Key now.'

/** Adds the story once. The second account is the mark that it was added. */
export async function ensureStory(db: Db, now: Date): Promise<void> {
  if ((await findAccount(db, secondAccountName)) !== undefined) return
  await db.transaction(async (tx) => {
    const account = await findAccount(tx, accountName)
    const second = await createDemoAccount(tx, secondAccountName, now)
    // Null: another process of this database has added the story since.
    if (account === undefined || second === null) return
    await addExpiredKey(tx, { accountId: account.id, now })
    await addReports(tx, account.id, now)
    await lockReporting(tx, second.id, now)
    await recordReporting(tx, 'agent_reporting.locked', second.id, now)
    const request = { userId: second.id, defaultState: 'locked', note: reviewNote, now } as const
    await requestUnlockReview(tx, request)
    await recordReporting(tx, 'agent_reporting.review_requested', second.id, now)
  })
}

function recordReporting(
  tx: Tx,
  action: 'agent_reporting.locked' | 'agent_reporting.review_requested',
  accountId: string,
  now: Date,
): Promise<void> {
  return recordAction(tx, { action, subjects: [accountId], details: {}, actor: operator() }, now)
}

async function addExpiredKey(
  tx: Tx,
  { accountId, now }: { accountId: string; now: Date },
): Promise<void> {
  const rights = { environment: 'test', scopes: ['candidates:read'], allowedFrom: null } as const
  await createRecordedKey(
    tx,
    {
      accountId,
      name: 'spring trial',
      ...rights,
      expiresAt: before(now, 3),
    },
    { actor: operator(), now: before(now, 33) },
  )
}

async function addReports(tx: Tx, userId: string, now: Date): Promise<void> {
  const rows = reports.map(({ daysAgo, content }) => {
    const createdAt = before(now, daysAgo)
    const id = uuidV7(createdAt)
    return {
      report: { id, userId, apiKeyId: null, createdAt, ...content },
      idempotencyKey: `demo story, ${daysAgo} days ago`,
      fingerprint: reportFingerprint(content),
    }
  })
  await insertReports(tx, rows, 'unlocked')
}

function before(now: Date, days: number): Date {
  return new Date(now.getTime() - days * dayMs)
}
