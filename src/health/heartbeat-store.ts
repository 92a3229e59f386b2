/** All SQL of `process_heartbeats`, and of the view `backlog`. */
import { fragment, type Queryable, sql } from '../platform/db/db.ts'
import type { JobRecord } from '../platform/job-runner.ts'
import type { Abilities, Heartbeat, ProcessIdentity } from './processes.ts'

export async function upsertHeartbeat(
  db: Queryable,
  process: ProcessIdentity & Abilities,
  now: Date,
): Promise<void> {
  const { processId, node, pid, release, startedAt, serves, signs, opensSecrets, jobs } = process
  await db.run(sql`
    insert into process_heartbeats (process_id, node, pid, release, started_at, seen_at, serves,
      signs, opens_secrets, jobs)
    values (${processId}, ${node}, ${pid}, ${release}, ${startedAt}, ${now}, ${serves}, ${signs},
      ${opensSecrets}, ${jobs === null ? null : JSON.stringify(jobs)}::jsonb)
    on conflict (process_id) do update set seen_at = excluded.seen_at, signs = excluded.signs,
      jobs = excluded.jobs`)
}

/**
 * Makes the statement fail if the disk of the database is full. An update in place needs no room,
 * so it alone would succeed; this one spills 100 kB into a temporary file.
 */
export async function proveDiskRoom(db: Queryable): Promise<void> {
  await db.rows(sql`select set_config('work_mem', '64kB', true)`)
  await db.rows(sql`select count(*) from generate_series(1, 4000)`)
}

export async function endHeartbeat(db: Queryable, processId: string, now: Date): Promise<void> {
  await db.run(sql`update process_heartbeats set ended_at = ${now} where process_id = ${processId}`)
}

/** Bounds the rows that are read if a process restarts again and again. */
const readMax = 1_000

/** Returns the processes of the last day, the newest first. */
export async function findHeartbeats(db: Queryable): Promise<Heartbeat[]> {
  const rows = await db.rows<Heartbeat>(sql`
    select process_id as "processId", node, pid, release, started_at as "startedAt",
      seen_at as "seenAt", ended_at as "endedAt", serves, signs, opens_secrets as "opensSecrets",
      jobs
    from process_heartbeats order by seen_at desc limit ${readMax}`)
  return rows.map((row) => ({ ...row, jobs: row.jobs === null ? null : datedJobs(row.jobs) }))
}

function datedJobs(jobs: Readonly<Record<string, JobRecord>>): Record<string, JobRecord> {
  const dated = (time: Date | null): Date | null => (time === null ? null : new Date(time))
  return Object.fromEntries(
    Object.entries(jobs).map(([name, { ranAt, succeededAt, ...rest }]) => [
      name,
      { ...rest, ranAt: dated(ranAt), succeededAt: dated(succeededAt) },
    ]),
  )
}

/** Keeps the newest row with background jobs, which tells since when none run. */
export function deleteOldHeartbeats(db: Queryable, before: Date): Promise<number> {
  return db.run(sql`
    delete from process_heartbeats where seen_at < ${before} and process_id is distinct from (
      select process_id from process_heartbeats where jobs is not null
      order by seen_at desc limit 1)`)
}

/** The work that waits for background jobs, or for an operator. */
export interface Backlog {
  /** Null if no worker is due to be scored. A mark that waits for a running import is not due. */
  scoreDueSince: Date | null
  eventUndispatchedSince: Date | null
  /** The publication of the oldest status list. Null if there is none. */
  listPublishedAt: Date | null
  mailsWaiting: number
  disputesOverdue: number
  /** API keys that end within seven days. */
  apiKeysEnding: number
  /** Accounts that are suspended, because their balance is not the sum of their entries. */
  booksDiffering: number
  /** Public scores whose credential was revoked and is not replaced yet. */
  scoresWithoutCredential: number
  /** Payments whose outcome has been unknown for a quarter of an hour. */
  paymentsUnresolved: number
  /** The archive of PostgreSQL's log has refused its last segment. */
  isArchiveFailing: boolean
}

/**
 * Whether the archive of `pg_stat_archiver` refused its last segment. The view keeps the failures of
 * an archive that was switched off.
 */
export const archiveFails = fragment`current_setting('archive_mode') <> 'off'
  and last_failed_time > coalesce(last_archived_time, '-infinity')`

export async function findBacklog(db: Queryable): Promise<Backlog> {
  const [row] = await db.rows<Backlog>(sql`
    select score_due_since as "scoreDueSince", event_undispatched_since as "eventUndispatchedSince",
      list_published_at as "listPublishedAt", mails_waiting as "mailsWaiting",
      disputes_overdue as "disputesOverdue", api_keys_ending as "apiKeysEnding",
      books_differing as "booksDiffering", scores_without_credential as "scoresWithoutCredential",
      coalesce(${archiveFails}, false) as "isArchiveFailing",
      (select count(*)::int from x402_payments
       where state = 'unknown' and state_at < now() - interval '15 minutes') as "paymentsUnresolved"
    from backlog, pg_stat_archiver`)
  if (row === undefined) throw new Error('the view backlog has one row')
  return row
}
