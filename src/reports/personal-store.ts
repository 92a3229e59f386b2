/** Export of the reports about one worker. It does not name the account that reported. */
import { type Queryable, sql } from '../platform/db/db.ts'

/** Returns the usernames with one of these digests that occur in reports. Reads every report. */
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

/**
 * Returns the reports about these subjects: usernames, and score ids in 64 lowercase hex
 * characters, which is longer than any username.
 */
export function findReportRecords(db: Queryable, subjects: readonly string[]): Promise<object[]> {
  return db.rows<object>(sql`
    select decision, outcome, reason_codes as "reasonCodes", notes, metadata,
      created_at as "createdAt"
    from agent_decision_reports where subject = any(${subjects}::text[]) order by id`)
}
