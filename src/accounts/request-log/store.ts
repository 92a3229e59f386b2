/**
 * All SQL of `request_log` and `request_counts`, and the job that makes and removes their days.
 */
import type { CallRecord } from '../../edge/http/call-log.ts'
import { type Db, fragment, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { LogFilter } from './log-filter.ts'

interface NewEntry extends Omit<CallRecord, 'cause' | 'address'> {
  /** As JSON. */
  cause: string | null
  network: string
}

/**
 * Writes a batch in one statement, and counts its calls by account, minute and status. The
 * rows are counted in the order of their key, so two processes cannot deadlock.
 */
export async function insertEntries(db: Queryable, entries: readonly NewEntry[]): Promise<void> {
  const column = <Name extends keyof NewEntry>(name: Name) => entries.map((entry) => entry[name])
  await db.run(sql`
    with written as (
      insert into request_log
        (at, request_id, account_id, key_id, operation, status, error, cause, credits, duration_us,
         network)
      select * from unnest(
        ${column('at')}::timestamptz[], ${column('requestId')}::text[],
        ${column('accountId')}::uuid[], ${column('keyId')}::uuid[],
        ${column('operationId')}::text[], ${column('status')}::smallint[],
        ${column('error')}::text[], ${column('cause')}::jsonb[], ${column('credits')}::integer[],
        ${column('durationUs')}::integer[], ${column('network')}::text[])
      returning account_id, at, status, seq)
    insert into request_counts as c (account_id, minute, class, calls, first_seq, last_seq)
    select account_id, date_trunc('minute', at), status, count(*), min(seq), max(seq)
    from written group by 1, 2, 3 order by 1, 2, 3
    on conflict (account_id, minute, class) do update set calls = c.calls + excluded.calls,
      first_seq = least(c.first_seq, excluded.first_seq),
      last_seq = greatest(c.last_seq, excluded.last_seq)`)
}

export interface LogEntry extends Omit<NewEntry, 'accountId' | 'operationId' | 'cause'> {
  seq: number
  operation: string
  /** See `ErrorCauses`. */
  cause: Readonly<Record<string, unknown>> | null
}

const columns = fragment`seq, at, request_id as "requestId", key_id as "keyId", operation,
  status, error, cause, credits, duration_us as "durationUs", network`

/** The calls that one look goes through. With a million calls it takes 7 ms instead of 1.3 s. */
export const lookedAtMax = 10_000

interface EntriesWanted extends LogFilter {
  accountId: string
  /** Only calls before this one; null: from the newest. */
  before: number | null
  limit: number
  lookedAtMax?: number
}

export interface FoundEntries {
  entries: LogEntry[]
  /** Where the look ended before the page was full: older calls may fit. Null: it saw all. */
  lookedTo: number | null
}

/**
 * Returns calls of an account, newest first, among the newest that one look goes through.
 *
 * The inner query walks the index backwards, and the filters take what fits from it. In one query
 * the planner would sort all calls of the account: 80 ms instead of 1 ms with 100,000 calls.
 * Refused and failed calls are rare, and have an index of their own. A time begins and ends at the
 * calls that its minutes name: 1.4 ms instead of 510 ms for a minute five days ago, of a million calls.
 */
export async function findEntries(db: Queryable, wanted: EntriesWanted): Promise<FoundEntries> {
  const { accountId, from = null, to = null, keyId = null, operation = null } = wanted
  const { error = null, limit, lookedAtMax: walk = lookedAtMax } = wanted
  const [low, high] = wanted.statuses ?? [null, null]
  const { first, last } = await boundsOf(db, { accountId, from, to })
  const before = Math.min(wanted.before ?? Number.MAX_SAFE_INTEGER, last + 1)
  // The last call of the look is in the answer even if it does not fit.
  const rows = await db.rows<LogEntry & { fits: boolean; place: number }>(
    (low ?? 0) >= 400 || error !== null
      ? sql`
    select ${columns}, fits, place from (
      select *, ${place} (${from}::timestamptz is null or at >= ${from})
        and (${to}::timestamptz is null or at < ${to})
        and (${keyId}::uuid is null or key_id = ${keyId})
        and (${operation}::text is null or operation = ${operation})
        and (${low}::integer is null or status between ${low} and ${high})
        and (${error}::text is null or error = ${error}) as fits
      from request_log
      where account_id = ${accountId} and seq < ${before} and seq >= ${first} and status >= 400
      order by seq desc limit ${walk}
    ) newest
    where fits or place = ${walk} order by seq desc limit ${limit}`
      : sql`
    select ${columns}, fits, place from (
      select *, ${place} (${from}::timestamptz is null or at >= ${from})
        and (${to}::timestamptz is null or at < ${to})
        and (${keyId}::uuid is null or key_id = ${keyId})
        and (${operation}::text is null or operation = ${operation})
        and (${low}::integer is null or status between ${low} and ${high}) as fits
      from request_log
      where account_id = ${accountId} and seq < ${before} and seq >= ${first}
      order by seq desc limit ${walk}
    ) newest
    where fits or place = ${walk} order by seq desc limit ${limit}`,
  )
  const end = rows.at(-1)
  return {
    entries: rows.flatMap((row) => {
      const { fits, place: _, ...entry } = row
      return fits ? [entry] : []
    }),
    lookedTo: end?.place === walk ? end.seq : null,
  }
}

/** A million calls. A look takes about 7 ms. */
const looksMax = 100

/** Returns calls of an account, newest first, among the newest million. */
export async function findAllEntries(db: Queryable, wanted: EntriesWanted): Promise<LogEntry[]> {
  const all: LogEntry[] = []
  let { before } = wanted
  for (let looks = 0; looks < looksMax; looks++) {
    const rest = { ...wanted, before, limit: wanted.limit - all.length }
    const { entries, lookedTo } = await findEntries(db, rest)
    all.push(...entries)
    before = lookedTo
    if (before === null || all.length >= wanted.limit) break
  }
  return all
}

const place = fragment`row_number() over (order by seq desc)::int as place,`

/** Rows of `request_counts` in which the edge of a time is looked for: about 20 minutes. */
const edgeRows = 300

/**
 * Returns the first and the last call that can be within a time. Nodes write their batches out of
 * order, so some minutes at each edge are asked. A time without a count is not bounded.
 */
async function boundsOf(
  db: Queryable,
  { accountId, from, to }: { accountId: string; from: Date | null; to: Date | null },
): Promise<{ first: number; last: number }> {
  const whole = { first: 0, last: Number.MAX_SAFE_INTEGER - 1 }
  if (from === null && to === null) return whole
  const [row] = await db.rows<{ first: number | null; last: number | null }>(sql`
    select (
      select min(first_seq) from (
        select first_seq from request_counts
        where account_id = ${accountId} and minute >= date_trunc('minute', ${from}::timestamptz)
        order by minute limit ${edgeRows}) later) as first,
      (select least(max(last_seq), ${whole.last}) from (
        select last_seq from request_counts where account_id = ${accountId} and minute < ${to}::timestamptz
        order by minute desc limit ${edgeRows}) earlier) as last`)
  return { first: row?.first ?? whole.first, last: row?.last ?? whole.last }
}

/**
 * Returns the newest `limit` calls of each account after an entry, oldest first. One statement
 * serves all accounts.
 */
export function findEntriesAfter(
  db: Queryable,
  accounts: ReadonlyMap<string, number>,
  limit: number,
): Promise<(LogEntry & { accountId: string })[]> {
  return db.rows<LogEntry & { accountId: string }>(sql`
    select asked.account_id as "accountId", ${columns}
    from unnest(${[...accounts.keys()]}::uuid[], ${[...accounts.values()]}::bigint[])
      as asked(account_id, after)
    cross join lateral (
      select seq, at, request_id, key_id, operation, status, error, cause, credits, duration_us, network
      from request_log where account_id = asked.account_id and seq > asked.after
      order by seq desc limit ${limit}
    ) newest
    order by seq`)
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
  /** The status as text: 404, or 4xx for calls that an earlier release counted. */
  group: string
  calls: number
}

/** Counts the calls of an account in the minutes from `since` to `until` by status. Reads no call. */
export function countByStatus(
  db: Queryable,
  { accountId, since, until }: { accountId: string; since: Date; until: Date },
): Promise<StatusCount[]> {
  return db.rows<StatusCount>(sql`
    select case when class < 10 then class || 'xx' else class::text end as "group",
      sum(calls)::int as calls
    from request_counts
    where account_id = ${accountId} and minute >= date_trunc('minute', ${since}::timestamptz)
      and minute < ${until}
    group by class order by class`)
}

/** Counts of one bucket of time. */
export interface CountedCalls {
  from: Date
  answered: number
  refused: number
  failed: number
}

/** Returns the buckets of `bucketS` seconds in [from, to) that have calls. Reads no call. */
export function countByTime(
  db: Queryable,
  { accountId, from, to, bucketS }: { accountId: string; from: Date; to: Date; bucketS: number },
): Promise<CountedCalls[]> {
  return db.rows<CountedCalls>(sql`
    select date_bin(make_interval(secs => ${bucketS}), minute, ${from}::timestamptz) as "from",
      coalesce(sum(calls) filter (where class = 2 or class between 100 and 399), 0)::int as answered,
      coalesce(sum(calls) filter (where class = 4 or class between 400 and 499), 0)::int as refused,
      coalesce(sum(calls) filter (where class = 5 or class >= 500), 0)::int as failed
    from request_counts
    where account_id = ${accountId} and minute >= ${from} and minute < ${to}
    group by 1 order by 1`)
}

async function deleteCountsBefore(tx: Tx, firstMinute: Date): Promise<void> {
  await tx.run(sql`delete from request_counts where minute < ${firstMinute}`)
}

/** Creates the partition of a day (`2026-05-14`) and waits for no reader or writer. */
export async function makeDay(tx: Tx, day: string): Promise<void> {
  await tx.run(sql`select set_config('lock_timeout', '200ms', true)`)
  await tx.run(sql`select make_request_log_day(${day}::date)`)
}

/** Removes all days before `firstDay`. */
async function dropDaysBefore(tx: Tx, firstDay: string): Promise<void> {
  await tx.run(sql`select set_config('lock_timeout', '200ms', true)`)
  await tx.run(sql`select drop_request_log_days(${firstDay}::date)`)
}

const dayMs = 86_400_000
/** Days made ahead, so that an outage of the job for a day loses nothing. */
const daysAhead = 2

/** Counts hold no call, so they stay longer: at least as long as the calls that they lead to. */
const countDaysMin = 90

/** `days` is how many days are kept besides today. 0 removes all, because nothing is logged. */
export async function keepRequestLogDays(
  db: Db,
  { days, now }: { days: number; now: Date },
): Promise<void> {
  const dayIn = (n: number) => new Date(now.getTime() + n * dayMs).toISOString().slice(0, 10)
  if (days > 0)
    for (let n = 0; n <= daysAhead; n++) await db.transaction((tx) => makeDay(tx, dayIn(n)))
  const first = days > 0 ? dayIn(-days) : dayIn(daysAhead + 1)
  await db.transaction((tx) => dropDaysBefore(tx, first))
  const counted = new Date(
    now.getTime() - (days > 0 ? Math.max(countDaysMin, days + 1) : 0) * dayMs,
  )
  await db.transaction((tx) => deleteCountsBefore(tx, counted))
}
