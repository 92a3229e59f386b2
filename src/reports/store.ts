/** All SQL of the tables of agent decisions. */
import { type Db, fragment, type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { uuidV7Floor } from '../platform/db/uuid-v7.ts'
import { readJson } from '../platform/json/strict-json.ts'
import type { ReportContent, Subject } from './report-request.ts'

const reportColumns = fragment`r.id, r.user_id as "userId", r.api_key_id as "apiKeyId",
      r.subject_kind as "subjectKind", r.subject, r.decision, r.outcome,
      r.agent_name as "agentName", r.agent_version as "agentVersion", r.job_ref as "jobRef",
      r.reason_codes as "reasonCodes", r.notes, r.metadata::text as metadata,
      r.created_at as "createdAt"`

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
 * Inserts reports and returns the ids of the inserted ones. Leaves out reports of a locked account
 * and reports whose Idempotency-Key was used before. Waits for a duplicate in another transaction;
 * the rows are inserted in the order of their keys, so that two batches cannot deadlock.
 */
export async function insertReports(
  db: Queryable,
  reports: readonly NewReport[],
  defaultState: ReportingState,
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
      where coalesce(a.state, ${defaultState}) = 'unlocked'
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

/** State of an account, and the use of one of its Idempotency-Keys. */
export interface KeyState {
  state: ReportingState
  isUsed: boolean
  /** Null once the report is deleted. */
  fingerprint: Buffer | null
  report: ReportRow | null
}

/** Returns one state for each key, in the order of `keys`. */
export async function findKeyStates(
  db: Queryable,
  keys: readonly { userId: string; idempotencyKey: string }[],
  defaultState: ReportingState,
): Promise<KeyState[]> {
  const rows = await db.rows<StoredKeyState>(sql`
    select coalesce(a.state, ${defaultState}) as state, k.user_id is not null as "isUsed",
      k.fingerprint, ${reportColumns}
    from unnest(${keys.map(({ userId }) => userId)}::uuid[],
      ${keys.map(({ idempotencyKey }) => idempotencyKey)}::text[])
      with ordinality as wanted(user_id, idempotency_key, place)
    left join agent_reporting a on a.user_id = wanted.user_id
    left join agent_decision_keys k
      on k.user_id = wanted.user_id and k.idempotency_key = wanted.idempotency_key
    left join agent_decision_reports r on r.id = k.report_id
    order by wanted.place`)
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
  /** Only reports before this id, or null to begin with the newest. */
  before: string | null
  limit: number
}

const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Returns the reports of an account, newest first. */
export async function findReportsOf(
  db: Queryable,
  userId: string,
  { before, limit }: ReportPage,
): Promise<ReportRow[]> {
  const rows = await db.rows<StoredReport>(sql`
    select ${reportColumns} from agent_decision_reports r
    where user_id = ${userId} and id < ${before ?? afterAll}::uuid order by id desc limit ${limit}`)
  return rows.map(reportOf)
}

/** Returns a report of the account, if it has this id. */
export async function findReportOf(
  db: Queryable,
  { userId, id }: { userId: string; id: string },
): Promise<ReportRow | undefined> {
  const [row] = await db.rows<StoredReport>(sql`
    select ${reportColumns} from agent_decision_reports r
    where id = ${id} and user_id = ${userId}`)
  return row === undefined ? undefined : reportOf(row)
}

/** Returns the reports of all accounts, newest first. */
export async function findReports(
  db: Queryable,
  { before, limit }: ReportPage,
): Promise<ReportRow[]> {
  const rows = await db.rows<StoredReport>(sql`
    select ${reportColumns} from agent_decision_reports r
    where id < ${before ?? afterAll}::uuid order by id desc limit ${limit}`)
  return rows.map(reportOf)
}

/** Deletes the reports about these subjects and keeps their keys. Returns their number. */
function deleteReportsAbout(tx: Tx, subjects: readonly Subject[]): Promise<number> {
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

/** Deletes up to `limit` reports before `id`, oldest first, but not their keys. */
function deleteReportsBefore(db: Queryable, id: string, limit: number): Promise<number> {
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

const dayMs = 86_400_000
const batch = 1_000

/**
 * Deletes reports older than `days`, batch by batch. Their Idempotency-Keys stay, so that a
 * repeated request does not bring a report back. Several processes may do so at the same time.
 * Returns how many were deleted.
 */
export async function sweepReports(
  db: Db,
  { days, now }: { days: number; now: Date },
): Promise<number> {
  const before = uuidV7Floor(new Date(now.getTime() - days * dayMs))
  let deleted = 0
  for (let count = batch; count === batch; deleted += count)
    count = await deleteReportsBefore(db, before, batch)
  return deleted
}

/** A worker, by every username and score id of theirs. */
interface ErasedWorker {
  usernames: readonly string[]
  /** 64 lowercase hex characters. */
  scoreIds: readonly string[]
}

/**
 * Deletes the reports of all accounts about a worker. Their Idempotency-Keys stay, so that a
 * repeated request does not bring a report back. Returns how many were deleted.
 */
export function eraseReportsAbout(tx: Tx, { usernames, scoreIds }: ErasedWorker): Promise<number> {
  return deleteReportsAbout(tx, [
    ...usernames.map((username) => ({ kind: 'candidate' as const, username })),
    ...scoreIds.map((scoreId) => ({ kind: 'score' as const, scoreId })),
  ])
}
