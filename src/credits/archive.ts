/**
 * Archives a month: writes its entries to a file, keeps their sums for each account, and drops
 * their partition.
 *
 * Tables: reads `credit_audits`; writes `credit_archives`, `credit_archived_sums` and the usage;
 * drops the partition of `credit_entries`.
 *
 * Crash: before the commit only the file exists, and it can be removed. After the commit the file
 * is on disk under its name.
 */
import { rm } from 'node:fs/promises'
import { wireTime } from '../platform/clock.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/http/errors.ts'
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
import { rollUpUsage } from './usage-store.ts'

/** The jobs process may be down for this many months before entries go to the default partition. */
const monthsAhead = 3
/**
 * Moving more entries of a current month would block its charges too long. They stay in the default
 * partition until the month is archived.
 */
const movedMax = 10_000

/**
 * Creates the missing partitions of this month, of the next months, and of months with entries in
 * the default partition. Returns the months of the new partitions.
 */
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

/**
 * Archives a month into a new file at `path`. Only entries covered by a sound audit leave the
 * ledger. The file is on disk before the transaction commits. If the month is not audited, the file
 * is removed again.
 */
export async function archiveMonth(
  tx: Tx,
  { month, path, now }: { month: string; path: string; now: Date },
): Promise<Archive | Refusal<'credit_month_state'>> {
  const from = settledFrom(month)
  if (now < from)
    return refused(
      `${month} can be archived from ${wireTime(from)} on: until then, entries may be added.`,
    )
  if ((await findArchives(tx)).some((archive) => archive.month === month))
    return refused(`${month} is archived already. \`assay credits audit\` shows it.`)
  await makeCreditMonth(tx, month, null)
  await lockCreditMonth(tx, month)
  const [any] = await findEntriesOfMonth(tx, month, { after: '', limit: 1 })
  if (any === undefined) return refused(`${month} has no charges to archive.`)
  const { sums, sha256: fileSha256 } = await writeArchiveFile(path, month, pagesOf(tx, month))
  const accounts = [...sums.accounts.values()]
  const [unaudited] = await findUnaudited(tx, accounts)
  if (unaudited !== undefined) {
    await rm(path)
    return refused(
      `The balance of the account ${unaudited} differs from its entries, so ${month} stays. Run \`assay credits audit\`.`,
    )
  }
  const { entries, delta } = sums
  const archive = { month, entries, delta, fileSha256, archivedAt: now }
  await insertArchive(tx, archive)
  await insertArchivedSums(tx, month, accounts)
  // The usage of the month stays.
  for (const { accountId } of accounts) await rollUpUsage(tx, accountId)
  await dropCreditMonth(tx, month)
  return archive
}

function refused(message: string): Refusal<'credit_month_state'> {
  return refuse('credit_month_state', { message })
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

/** Returns why a file differs from the recorded archive of its month, or null if it does not. */
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
