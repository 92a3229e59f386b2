/** All SQL of audit_log. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { ActionName } from './actions.ts'
import type { Entry, Head } from './chain.ts'

/** One transaction appends at a time, until its end. A statement of its own: what follows must see what the holder before has committed. */
export async function lockAppending(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('audit_log'))`)
}

/** Under the lock of `lockAppending` the entry that the next one follows. */
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

/** In the order of the chain. */
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
  /** As the log writes times. Null for all. */
  since: string | null
  action: ActionName | null
  limit: number
}

/** The newest first. */
export function findEntries(
  db: Queryable,
  { since, action, limit }: EntryFilter,
): Promise<Entry[]> {
  return db.rows<Entry>(sql`
    select seq, at, actor, action, subjects, details,
      encode(prev_hash, 'hex') as "prevHash", encode(hash, 'hex') as hash
    from audit_log
    where (${since}::text is null or at >= ${since}) and (${action}::text is null or action = ${action})
    order by seq desc limit ${limit}`)
}

/** Which of these subjects have an entry of this action. */
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

/** False on a database that is older than its audit log. */
export async function hasLog(db: Queryable): Promise<boolean> {
  const [row] = await db.rows<{ exists: boolean }>(
    sql`select to_regclass('audit_log') is not null as "exists"`,
  )
  return row?.exists ?? false
}
