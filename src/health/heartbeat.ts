/**
 * The heartbeat of a process. Its write is also the proof of readiness: a process is ready only if
 * the database takes a write, and not if it is a standby or its disk is full (decision D62).
 */
import { hostname } from 'node:os'
import { atMostEvery } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import { type Db, fragment, type Queryable, sql } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Job, JobRecord } from '../platform/job-runner.ts'
import { type Abilities, beatMs, type Heartbeat, type ProcessIdentity } from './processes.ts'

interface HeartbeatOptions {
  /** A connection of its own, so that no request makes the heartbeat wait. */
  db: Db
  clock: Clock
  release: string
  abilities(): Promise<Abilities>
}

export interface ProcessHeartbeat {
  /**
   * Writes the heartbeat, at most once a second: further calls share the last write. Throws if the
   * database took no write.
   */
  beat(): Promise<void>
  job: Job
  /** Records that this process ends as it was told to. */
  end(): Promise<void>
}

const writtenEveryMs = 1_000

export function openHeartbeat(options: HeartbeatOptions): ProcessHeartbeat {
  const { db, clock, release, abilities } = options
  const startedAt = clock()
  const { pid } = process
  const identity: ProcessIdentity = {
    processId: uuidV7(startedAt),
    node: hostname(),
    pid,
    release,
    startedAt,
  }
  async function write(): Promise<void> {
    const able = await abilities()
    await db.transaction(async (tx) => {
      await proveDiskRoom(tx)
      await upsertHeartbeat(tx, { ...identity, ...able }, clock())
    })
  }

  const beat = atMostEvery(writtenEveryMs, write)
  return {
    beat,
    job: { name: 'heartbeat', everyMs: beatMs, run: beat },
    end: () => endHeartbeat(db, identity.processId, clock()),
  }
}

const keptMs = 86_400_000

export function heartbeatSweep(db: Db, clock: Clock): Job {
  return {
    name: 'delete old heartbeats',
    everyMs: 3_600_000,
    run: () => deleteOldHeartbeats(db, new Date(clock().getTime() - keptMs)),
  }
}

async function upsertHeartbeat(
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

async function endHeartbeat(db: Queryable, processId: string, now: Date): Promise<void> {
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
