/** All SQL of the tables of agent decisions. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { readJson } from '../platform/json/json-reader.ts'
import type { ReportContent, Subject } from './report-request.ts'

export interface ReportRow extends ReportContent {
  /** UUID of version 7. */
  id: string
  userId: string
  apiKeyId: string | null
  createdAt: Date
}

export interface NewReport {
  report: ReportRow
  idempotencyKey: string
  fingerprint: Buffer
}

export type ReportingState = 'unlocked' | 'locked'

/**
 * Adds the reports that may be added, and says the ids of those that were: not those of a locked account, nor those whose key was used
 * before. A twin in another transaction is waited for; in the order of keys, so that two batches never wait for each other in a circle.
 */
export async function insertReports(
  db: Queryable,
  reports: readonly NewReport[],
  stateUnlessSet: ReportingState,
): Promise<Set<string>> {
  const column = <Name extends keyof ReportRow>(name: Name) =>
    reports.map(({ report }) => report[name])
  const rows = await db.rows<{ id: string }>(sql`
    with new as materialized (
      select n.* from unnest(${column('id')}::uuid[], ${column('userId')}::uuid[],
        ${column('apiKeyId')}::uuid[], ${reports.map(({ idempotencyKey }) => idempotencyKey)}::text[],
        ${reports.map(({ fingerprint }) => fingerprint)}::bytea[], ${reports.map(({ report }) => report.subject.kind)}::text[],
        ${reports.map(({ report }) => subjectText(report.subject))}::text[],
        ${column('decision')}::text[], ${column('outcome')}::text[], ${column('agentName')}::text[],
        ${column('agentVersion')}::text[], ${column('jobRef')}::text[],
        ${reports.map(({ report }) => report.reasonCodes.join(' '))}::text[],
        ${column('notes')}::text[],
        ${reports.map(({ report }) => JSON.stringify(report.metadata))}::text[],
        ${column('createdAt')}::timestamptz[])
        as n(id, user_id, api_key_id, idempotency_key, fingerprint, subject_kind, subject, decision,
          outcome, agent_name, agent_version, job_ref, reason_codes, notes, metadata, created_at)
      left join agent_reporting a on a.user_id = n.user_id
      where coalesce(a.state, ${stateUnlessSet}) = 'unlocked'
    ), keyed as (
      insert into agent_decision_keys (user_id, idempotency_key, fingerprint, report_id)
      select user_id, idempotency_key, fingerprint, id from new
      order by user_id, idempotency_key, id
      on conflict (user_id, idempotency_key) do nothing
      returning report_id
    )
    insert into agent_decision_reports (id, user_id, idempotency_key, api_key_id, subject_kind,
      subject, decision, outcome, agent_name, agent_version, job_ref, reason_codes, notes, metadata,
      created_at)
    select id, user_id, idempotency_key, api_key_id, subject_kind, subject, decision, outcome,
      agent_name, agent_version, job_ref, string_to_array(reason_codes, ' '), notes, metadata::json,
      created_at
    from new join keyed on keyed.report_id = new.id
    returning id`)
  return new Set(rows.map(({ id }) => id))
}

/** Of one key of a user: the account's state, and what the key was used for. */
export interface KeyState {
  state: ReportingState
  isUsed: boolean
  /** Null once the report is gone. */
  fingerprint: Buffer | null
  report: ReportRow | null
}

/** One for each of the keys, in their order. */
export async function findKeyStates(
  db: Queryable,
  keys: readonly { userId: string; idempotencyKey: string }[],
  stateUnlessSet: ReportingState,
): Promise<KeyState[]> {
  const rows = await db.rows<StoredKeyState>(sql`
    select coalesce(a.state, ${stateUnlessSet}) as state, k.user_id is not null as "isUsed",
      k.fingerprint, r.id, r.user_id as "userId", r.api_key_id as "apiKeyId",
      r.subject_kind as "subjectKind", r.subject, r.decision, r.outcome,
      r.agent_name as "agentName", r.agent_version as "agentVersion", r.job_ref as "jobRef",
      r.reason_codes as "reasonCodes", r.notes, r.metadata::text as metadata,
      r.created_at as "createdAt"
    from unnest(${keys.map(({ userId }) => userId)}::uuid[],
      ${keys.map(({ idempotencyKey }) => idempotencyKey)}::text[])
      with ordinality as asked(user_id, idempotency_key, place)
    left join agent_reporting a on a.user_id = asked.user_id
    left join agent_decision_keys k
      on k.user_id = asked.user_id and k.idempotency_key = asked.idempotency_key
    left join agent_decision_reports r on r.id = k.report_id
    order by asked.place`)
  return rows.map(({ state, isUsed, fingerprint, ...stored }) => ({
    state,
    isUsed,
    fingerprint,
    report: isStored(stored) ? reportOf(stored) : null,
  }))
}

interface StoredReport extends Omit<ReportRow, 'subject' | 'metadata'> {
  subjectKind: Subject['kind']
  subject: string
  metadata: string
}

type StoredKeyState = Omit<KeyState, 'report'> & (StoredReport | { id: null })

function isStored(row: StoredReport | { id: null }): row is StoredReport {
  return row.id !== null
}

export interface ReportPage {
  /** Only reports made before this one; null: from the newest. */
  before: string | null
  limit: number
}

const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The reports of a user, the newest first. */
export async function findReportsOf(
  db: Queryable,
  userId: string,
  { before, limit }: ReportPage,
): Promise<ReportRow[]> {
  const rows = await db.rows<StoredReport>(sql`
    select id, user_id as "userId", api_key_id as "apiKeyId", subject_kind as "subjectKind", subject,
      decision, outcome, agent_name as "agentName", agent_version as "agentVersion",
      job_ref as "jobRef", reason_codes as "reasonCodes", notes, metadata::text as metadata,
      created_at as "createdAt"
    from agent_decision_reports
    where user_id = ${userId} and id < ${before ?? afterAll}::uuid order by id desc limit ${limit}`)
  return rows.map(reportOf)
}

/** Returns a report of a user. */
export async function findReportOf(
  db: Queryable,
  { userId, id }: { userId: string; id: string },
): Promise<ReportRow | undefined> {
  const [row] = await db.rows<StoredReport>(sql`
    select id, user_id as "userId", api_key_id as "apiKeyId", subject_kind as "subjectKind", subject,
      decision, outcome, agent_name as "agentName", agent_version as "agentVersion",
      job_ref as "jobRef", reason_codes as "reasonCodes", notes, metadata::text as metadata,
      created_at as "createdAt"
    from agent_decision_reports where id = ${id} and user_id = ${userId}`)
  return row === undefined ? undefined : reportOf(row)
}

/** The reports of everybody, the newest first. */
export async function findReports(
  db: Queryable,
  { before, limit }: ReportPage,
): Promise<ReportRow[]> {
  const rows = await db.rows<StoredReport>(sql`
    select id, user_id as "userId", api_key_id as "apiKeyId", subject_kind as "subjectKind", subject,
      decision, outcome, agent_name as "agentName", agent_version as "agentVersion",
      job_ref as "jobRef", reason_codes as "reasonCodes", notes, metadata::text as metadata,
      created_at as "createdAt"
    from agent_decision_reports
    where id < ${before ?? afterAll}::uuid order by id desc limit ${limit}`)
  return rows.map(reportOf)
}

/** Deletes what is said of these people and scores, and keeps the keys; how many. */
export function deleteReportsAbout(tx: Tx, subjects: readonly Subject[]): Promise<number> {
  return tx.run(sql`
    with gone as (
      delete from agent_decision_reports r
      using unnest(${subjects.map(({ kind }) => kind)}::text[], ${subjects.map(subjectText)}::text[])
        as s(kind, subject)
      where r.subject = s.subject and r.subject_kind = s.kind
      returning r.user_id, r.idempotency_key
    )
    update agent_decision_keys k set fingerprint = null, report_id = null
    from gone where k.user_id = gone.user_id and k.idempotency_key = gone.idempotency_key`)
}

/** Deletes the oldest reports before `id`, at most `limit`, and keeps their keys; how many. */
export function deleteReportsBefore(db: Queryable, id: string, limit: number): Promise<number> {
  return db.run(sql`
    with old as (
      select id from agent_decision_reports where id < ${id}::uuid
      order by id limit ${limit} for update skip locked
    ), gone as (
      delete from agent_decision_reports r using old where r.id = old.id
      returning r.user_id, r.idempotency_key
    )
    update agent_decision_keys k set fingerprint = null, report_id = null
    from gone where k.user_id = gone.user_id and k.idempotency_key = gone.idempotency_key`)
}

function reportOf({ subjectKind, subject, metadata, ...row }: StoredReport): ReportRow {
  return {
    ...row,
    subject:
      subjectKind === 'candidate'
        ? { kind: subjectKind, username: subject }
        : { kind: subjectKind, scoreId: subject },
    metadata: readJson(metadata) as Record<string, unknown>,
  }
}

function subjectText(subject: Subject): string {
  return subject.kind === 'candidate' ? subject.username : subject.scoreId
}
