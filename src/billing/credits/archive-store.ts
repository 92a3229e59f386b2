/**
 * All SQL of credit_archives, of credit_archived_sums and of the months of credit_entries.
 *
 * Locks: `makeCreditMonth` and `dropCreditMonth` may block every charge until their transaction
 * ends. They therefore wait for a lock no longer than a charge may wait.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { firstDay, referencesOf } from './months.ts'

/**
 * Creates the partition of a month and moves up to `movedMax` (null: all) earlier entries into it.
 * Returns false if no partition was made.
 */
export async function makeCreditMonth(
  tx: Tx,
  month: string,
  movedMax: number | null,
): Promise<boolean> {
  await waitBriefly(tx)
  const [row] = await tx.rows<{ isMade: boolean }>(
    sql`select make_credit_month(${firstDay(month)}, ${movedMax}) as "isMade"`,
  )
  return row?.isMade ?? false
}

/** Returns the months of the entries in the default partition, earliest first. */
export async function findMonthsByDefault(db: Queryable): Promise<string[]> {
  const rows = await db.rows<{ month: string }>(sql`
    select distinct left(reference, 7) as month from credit_entries_default
    where reference >= '1' and reference < ':' and reference ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2]):'
    order by 1`)
  return rows.map(({ month }) => month)
}

/**
 * Blocks new entries of this month until the transaction ends. Returns false if the month has no
 * partition.
 */
export async function lockCreditMonth(tx: Tx, month: string): Promise<boolean> {
  const [row] = await tx.rows<{ isThere: boolean }>(
    sql`select lock_credit_month(${firstDay(month)}) as "isThere"`,
  )
  return row?.isThere ?? false
}

export async function dropCreditMonth(tx: Tx, month: string): Promise<void> {
  await waitBriefly(tx)
  await tx.run(sql`select drop_credit_month(${firstDay(month)})`)
}

async function waitBriefly(tx: Tx): Promise<void> {
  await tx.run(sql`select set_config('lock_timeout', '200ms', true)`)
}

export interface ArchivedEntry {
  accountId: string
  seq: number
  kind: 'charge' | 'void'
  delta: number
  reference: string
  keyId: string
  meter: string
  operation: string
  /** UTC, with microseconds. */
  at: string
}

/**
 * Returns entries of a month in the order of their references, starting behind `after`. The empty
 * text comes before every reference.
 */
export function findEntriesOfMonth(
  tx: Tx,
  month: string,
  { after, limit }: { after: string; limit: number },
): Promise<ArchivedEntry[]> {
  const { first, end } = referencesOf(month)
  return tx.rows<ArchivedEntry>(sql`
    select account_id as "accountId", seq, kind, delta, reference, key_id as "keyId", meter, operation,
      to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from credit_entries
    where reference >= ${first} and reference < ${end} and reference > ${after}
    order by reference limit ${limit}`)
}

export interface Archive {
  month: string
  entries: number
  /** Sum of the entries in credits. */
  delta: number
  fileSha256: Buffer
  archivedAt: Date
}

/** Inserts the archive with the sums of the month's entries, and returns it. */
export async function insertArchive(
  tx: Tx,
  archive: Omit<Archive, 'entries' | 'delta'>,
): Promise<Archive> {
  const { month, fileSha256, archivedAt } = archive
  const { first, end } = referencesOf(month)
  const [sums] = await tx.rows<Pick<Archive, 'entries' | 'delta'>>(sql`
    insert into credit_archives (month, entries, delta, file_sha256, archived_at)
    select ${firstDay(month)}, count(*), sum(delta), ${fileSha256}, ${archivedAt}
    from credit_entries where reference >= ${first} and reference < ${end}
    returning entries, delta`)
  return { ...archive, ...(sums as Pick<Archive, 'entries' | 'delta'>) }
}

/** Returns the archives, earliest month first. */
export function findArchives(db: Queryable): Promise<Archive[]> {
  return db.rows<Archive>(sql`
    select to_char(month, 'YYYY-MM') as month, entries, delta, file_sha256 as "fileSha256",
      archived_at as "archivedAt"
    from credit_archives order by credit_archives.month`)
}

/** Inserts the sums of the month's entries for each account, and returns the accounts. */
export async function insertArchivedSums(tx: Tx, month: string): Promise<string[]> {
  const { first, end } = referencesOf(month)
  const rows = await tx.rows<{ id: string }>(sql`
    insert into credit_archived_sums (month, account_id, entries, delta)
    select ${firstDay(month)}, account_id, count(*), sum(delta)
    from credit_entries where reference >= ${first} and reference < ${end} group by account_id
    returning account_id as id`)
  return rows.map(({ id }) => id)
}

/** Returns the sums of one account from one month to another, both included. */
export function findArchivedSumsOf(
  db: Queryable,
  accountId: string,
  { from, to }: { from: string; to: string },
): Promise<{ month: string; entries: number; delta: number }[]> {
  return db.rows(sql`
    select to_char(month, 'YYYY-MM') as month, entries, delta from credit_archived_sums
    where account_id = ${accountId} and month between ${firstDay(from)} and ${firstDay(to)}
    order by credit_archived_sums.month`)
}

/**
 * Returns an account whose last sound audit ends before its last entry of the month, or undefined.
 */
export async function findUnaudited(tx: Tx, month: string): Promise<string | undefined> {
  const { first, end } = referencesOf(month)
  const [row] = await tx.rows<{ id: string }>(sql`
    select e.account_id as id
    from (select account_id, max(seq) as seq from credit_entries where reference >= ${first} and reference < ${end}
      group by account_id) e
    left join credit_audits a using (account_id)
    where a.through_seq is null or a.through_seq < e.seq
    order by 1 limit 1`)
  return row?.id
}
