/** All SQL of request_log. */
import { fragment, type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { LogFilter } from './log-filter.ts'

export interface NewEntry {
  at: Date
  requestId: string
  accountId: string
  keyId: string | null
  operationId: string
  status: number
  error: string | null
  credits: number
  durationUs: number
  network: string
}

/** Writes a batch in one statement. */
export async function insertEntries(db: Queryable, entries: readonly NewEntry[]): Promise<void> {
  const column = <Name extends keyof NewEntry>(name: Name) => entries.map((entry) => entry[name])
  await db.run(sql`
    insert into request_log
      (at, request_id, account_id, key_id, operation, status, error, credits, duration_us, network)
    select * from unnest(
      ${column('at')}::timestamptz[], ${column('requestId')}::text[], ${column('accountId')}::uuid[],
      ${column('keyId')}::uuid[], ${column('operationId')}::text[], ${column('status')}::smallint[],
      ${column('error')}::text[], ${column('credits')}::integer[],
      ${column('durationUs')}::integer[], ${column('network')}::text[])`)
}

export interface LogEntry {
  seq: number
  at: Date
  requestId: string
  keyId: string | null
  operation: string
  status: number
  error: string | null
  credits: number
  durationUs: number
  network: string
}

const columns = fragment`seq, at, request_id as "requestId", key_id as "keyId", operation,
  status, error, credits, duration_us as "durationUs", network`

/**
 * Returns calls of an account, newest first, before the entry `before` if one is given.
 *
 * The inner query walks the index backwards, and the filters take what fits from it. In one query
 * the planner would sort all calls of the account: 80 ms instead of 1 ms with 100,000 calls.
 */
export function findEntries(
  db: Queryable,
  of: LogFilter & { accountId: string; before: number | null; limit: number },
): Promise<LogEntry[]> {
  const [low, high] = of.statuses ?? [null, null]
  return db.rows<LogEntry>(sql`
    select ${columns} from (
      select * from request_log
      where account_id = ${of.accountId} and seq < ${of.before ?? Number.MAX_SAFE_INTEGER}
      order by seq desc offset 0
    ) newest
    where (${of.from ?? null}::timestamptz is null or at >= ${of.from ?? null})
      and (${of.to ?? null}::timestamptz is null or at < ${of.to ?? null})
      and (${of.keyId ?? null}::uuid is null or key_id = ${of.keyId ?? null})
      and (${of.operation ?? null}::text is null or operation = ${of.operation ?? null})
      and (${low}::integer is null or status between ${low} and ${high})
      and (${of.error ?? null}::text is null or error = ${of.error ?? null})
    order by seq desc limit ${of.limit}`)
}

/** Returns calls of an account after an entry, oldest first. */
export function findEntriesAfter(
  db: Queryable,
  { accountId, after, limit }: { accountId: string; after: number; limit: number },
): Promise<LogEntry[]> {
  return db.rows<LogEntry>(sql`
    select ${columns} from request_log
    where account_id = ${accountId} and seq > ${after} order by seq limit ${limit}`)
}

/** Returns the call of an account with this request id. */
export async function findEntry(
  db: Queryable,
  { accountId, requestId }: { accountId: string; requestId: string },
): Promise<LogEntry | undefined> {
  const [row] = await db.rows<LogEntry>(sql`
    select ${columns} from request_log
    where account_id = ${accountId} and request_id = ${requestId} limit 1`)
  return row
}

export interface StatusCount {
  /** The status as text. */
  group: string
  calls: number
  credits: number
}

/** Counts the calls of an account in [since, until) by status, as far as they are kept. */
export function countByStatus(
  db: Queryable,
  { accountId, since, until }: { accountId: string; since: Date; until: Date },
): Promise<StatusCount[]> {
  return db.rows<StatusCount>(sql`
    select status::text as "group", count(*)::int as calls, sum(credits)::int as credits
    from request_log
    where account_id = ${accountId} and at >= ${since} and at < ${until}
    group by 1 order by 1`)
}

/** Creates the partition of a day (`2026-05-14`) and waits for no reader or writer. */
export async function makeDay(tx: Tx, day: string): Promise<void> {
  await tx.run(sql`select set_config('lock_timeout', '200ms', true)`)
  await tx.run(sql`select make_request_log_day(${day}::date)`)
}

/** Removes all days before `firstDay`. */
export async function dropDaysBefore(tx: Tx, firstDay: string): Promise<void> {
  await tx.run(sql`select set_config('lock_timeout', '200ms', true)`)
  await tx.run(sql`select drop_request_log_days(${firstDay}::date)`)
}
