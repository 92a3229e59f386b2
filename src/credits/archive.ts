/**
 * Archives a month: its entries go to a file, what they add up to stays, for each account, and their partition is dropped.
 *
 * Tables: reads `credit_audits`; writes `credit_archives` and `credit_archived_sums`; drops the partition of `credit_entries`.
 * Crash: before the commit nothing has changed but the file, which can be removed; after it the file is on the disk, under its name.
 */
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { type ReadArchive, writeArchiveFile } from './archive-file.ts'
import {
  type Archive,
  type ArchivedEntry,
  dropCreditMonth,
  findArchivedSums,
  findArchives,
  findEntriesOfMonth,
  findMonthsByDefault,
  findUnaudited,
  insertArchive,
  insertArchivedSums,
  lockCreditMonth,
  makeCreditMonth,
} from './archive-store.ts'
import { monthOf, monthsFrom, settledFrom } from './months.ts'

/** The jobs process may be away for so long before entries go to the default partition. */
const monthsAhead = 3
/** Moving more entries of a month that goes on would hold up its charges for too long; they stay where they are until it is archived. */
const movedMax = 10_000

/** Makes the partitions of this month and the next ones, and of months whose entries had none. Returns those that were made. */
export async function makeCreditMonths(db: Db, now: Date): Promise<string[]> {
  const months = new Set([
    ...monthsFrom(monthOf(now), monthsAhead + 1),
    ...(await findMonthsByDefault(db)),
  ])
  const made: string[] = []
  for (const month of months)
    if (await db.transaction((tx) => makeCreditMonth(tx, month, movedMax))) made.push(month)
  return made
}

export type Archived =
  | { outcome: 'archived'; archive: Archive }
  | { outcome: 'too early'; from: Date }
  | { outcome: 'archived before' }
  | { outcome: 'empty' }
  /** An entry of this account has not been found whole. */
  | { outcome: 'not audited'; accountId: string }

export interface Archiving {
  month: string
  /** Where nothing is yet. The file is whole and on the disk before the transaction commits. */
  path: string
  now: Date
  /** Called before the entries leave the books: from then on nobody enters anything until the transaction ends. */
  record(archive: Archive): Promise<unknown>
}

/** Only entries that an audit has found whole leave the books. */
export async function archiveMonth(
  tx: Tx,
  { month, path, now, record }: Archiving,
): Promise<Archived> {
  const from = settledFrom(month)
  if (now < from) return { outcome: 'too early', from }
  if ((await findArchives(tx)).some((archive) => archive.month === month))
    return { outcome: 'archived before' }
  await makeCreditMonth(tx, month, null)
  await lockCreditMonth(tx, month)
  const [any] = await findEntriesOfMonth(tx, month, { after: '', limit: 1 })
  if (any === undefined) return { outcome: 'empty' }
  const { sums, sha256: fileSha256 } = await writeArchiveFile(path, month, pagesOf(tx, month))
  const accounts = [...sums.accounts.values()]
  const [unaudited] = await findUnaudited(tx, accounts)
  if (unaudited !== undefined) return { outcome: 'not audited', accountId: unaudited }
  const { entries, delta } = sums
  const archive = { month, entries, delta, fileSha256, archivedAt: now }
  await insertArchive(tx, archive)
  await insertArchivedSums(tx, month, accounts)
  await record(archive)
  await dropCreditMonth(tx, month)
  return { outcome: 'archived', archive }
}

const pageRows = 5_000

async function* pagesOf(tx: Tx, month: string): AsyncGenerator<ArchivedEntry[]> {
  for (let after = ''; ; ) {
    const page = await findEntriesOfMonth(tx, month, { after, limit: pageRows })
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last.reference
  }
}

/** Returns why a file is not the one that was written when its month was archived, or its month's sums are not as they were; or null. */
export async function archiveFault(
  db: Queryable,
  read: ReadArchive,
  archives: readonly Archive[],
): Promise<string | null> {
  const archive = archives.find(({ month }) => month === read.month)
  if (archive === undefined) return `${read.month} is not archived`
  if (!archive.fileSha256.equals(read.sha256)) return 'its SHA-256 is not the recorded one'
  const isSame = archive.entries === read.sums.entries && archive.delta === read.sums.delta
  return isSame && (await hasSums(db, read)) ? null : 'it does not add up to the recorded sums'
}

const firstId = '00000000-0000-0000-0000-000000000000'

async function hasSums(db: Queryable, { month, sums }: ReadArchive): Promise<boolean> {
  let found = 0
  for (let after = firstId; ; ) {
    const page = await findArchivedSums(db, month, { after, limit: pageRows })
    for (const { accountId, entries, delta } of page) {
      const sum = sums.accounts.get(accountId)
      if (sum?.entries !== entries || sum.delta !== delta) return false
    }
    found += page.length
    const last = page.at(-1)
    if (last === undefined) return found === sums.accounts.size
    after = last.accountId
  }
}
