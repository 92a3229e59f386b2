/** All SQL of audit_log and account_audit. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { AccountEntry } from './account-entry.ts'
import type { ActionName } from './actions.ts'
import type { Entry, Head } from './chain.ts'

/**
 * Lets one transaction append at a time, until its end. This is a statement of its own, so that the
 * next statement sees the commit of the previous holder.
 */
export async function lockAppending(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('audit_log'))`)
}

/** Returns the last entry. Under the lock of `lockAppending`, the next entry follows it. */
export async function findHead(db: Queryable): Promise<Head | undefined> {
  const [head] = await db.rows<Head>(sql`
    select seq, encode(hash, 'hex') as hash from audit_log order by seq desc limit 1`)
  return head
}

export async function insertEntry(tx: Tx, entry: Entry): Promise<void> {
  const { seq, at, actor, action, subjects, details, prevHash, hash } = entry
  await tx.run(sql`
    insert into audit_log (seq, at, actor, action, subjects, details, prev_hash, hash)
    values (${seq}, ${at}, ${actor}, ${action}, ${subjects}, ${details},
      decode(${prevHash}, 'hex'), decode(${hash}, 'hex'))`)
}

/** Lets the members of these accounts read an entry. */
export async function insertAccounts(
  tx: Tx,
  seq: number,
  accounts: readonly string[],
): Promise<void> {
  if (accounts.length === 0) return
  await tx.run(sql`
    insert into account_audit (account_id, seq) select id, ${seq} from unnest(${accounts}::uuid[]) id`)
}

/** Returns entries of an account, newest first, before the entry `before` if one is given. */
export function findAccountEntries(
  db: Queryable,
  { accountId, before, limit }: { accountId: string; before: number | null; limit: number },
): Promise<AccountEntry[]> {
  return db.rows<AccountEntry>(sql`
    select l.seq, l.at, l.actor, l.action, l.subjects, l.details
    from account_audit a join audit_log l on l.seq = a.seq
    where a.account_id = ${accountId} and a.seq < ${before ?? Number.MAX_SAFE_INTEGER}
    order by a.seq desc limit ${limit}`)
}

/** Returns the ids of the API keys that an actor has made for an account. */
export async function findKeysMadeBy(
  db: Queryable,
  { accountId, actor }: { accountId: string; actor: string },
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select coalesce(l.details::jsonb ->> 'successor', l.subjects::jsonb ->> 0) as id
    from account_audit a join audit_log l on l.seq = a.seq
    where a.account_id = ${accountId} and l.actor = ${actor}
      and l.action in ('api_keys.created', 'api_keys.rotated')`)
  return rows.map(({ id }) => id)
}

/** Returns entries in the order of the chain. */
export function findEntriesAfter(
  db: Queryable,
  { after, limit }: { after: number; limit: number },
): Promise<Entry[]> {
  return db.rows<Entry>(sql`
    select seq, at, actor, action, subjects, details,
      encode(prev_hash, 'hex') as "prevHash", encode(hash, 'hex') as hash
    from audit_log where seq > ${after} order by seq limit ${limit}`)
}

export interface EntryFilter {
  /** A time as the log writes it, or null for all entries. */
  since: string | null
  action: ActionName | null
  /** Only entries with a lower number. */
  before?: number | null
  limit: number
}

/** Returns entries, newest first. */
export function findEntries(
  db: Queryable,
  { since, action, before = null, limit }: EntryFilter,
): Promise<Entry[]> {
  return db.rows<Entry>(sql`
    select seq, at, actor, action, subjects, details,
      encode(prev_hash, 'hex') as "prevHash", encode(hash, 'hex') as hash
    from audit_log
    where (${since}::text is null or at >= ${since}) and (${action}::text is null or action = ${action})
      and seq < ${before ?? Number.MAX_SAFE_INTEGER}
    order by seq desc limit ${limit}`)
}

/** Returns those of `subjects` that have an entry of this action. */
export async function findSubjects(
  db: Queryable,
  action: ActionName,
  subjects: readonly string[],
): Promise<string[]> {
  const rows = await db.rows<{ subject: string }>(sql`
    select subject from unnest(${subjects}::text[]) as asked(subject)
    where exists (
      select from audit_log where action = ${action} and strpos(subjects, to_json(subject)::text) > 0
    )`)
  return rows.map(({ subject }) => subject)
}

/** Returns false if the database is older than its audit log. */
export async function hasLog(db: Queryable): Promise<boolean> {
  const [row] = await db.rows<{ exists: boolean }>(
    sql`select to_regclass('audit_log') is not null as "exists"`,
  )
  return row?.exists ?? false
}
