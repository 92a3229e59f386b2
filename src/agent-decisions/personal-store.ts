/** What clients reported of one person, to give it out. Whose report it is stays with them. */
import { type Queryable, sql } from '../platform/db/db.ts'

export interface ReportRecord {
  decision: string
  outcome: string
  reasonCodes: string[]
  notes: string | null
  /** JSON as it was sent. */
  metadata: unknown
  createdAt: Date
}

/** Those of them that anybody reported about. Reads every report there is. */
export async function findReportedNames(
  db: Queryable,
  usernameSha256s: readonly Buffer[],
): Promise<string[]> {
  const rows = await db.rows<{ subject: string }>(sql`
    select distinct subject from agent_decision_reports
    where subject_kind = 'candidate'
      and sha256(convert_to(subject, 'UTF8')) = any(${usernameSha256s}::bytea[])`)
  return rows.map(({ subject }) => subject)
}

/** `subjects`: usernames, and score ids as 64 lowercase hex characters: no username is as long. */
export function findReportRecords(
  db: Queryable,
  subjects: readonly string[],
): Promise<ReportRecord[]> {
  return db.rows<ReportRecord>(sql`
    select decision, outcome, reason_codes as "reasonCodes", notes, metadata,
      created_at as "createdAt"
    from agent_decision_reports where subject = any(${subjects}::text[]) order by id`)
}
