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
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { wireTime } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import {
  type Archive,
  type ArchivedEntry,
  dropCreditMonth,
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
 * ledger. The file is on disk before the transaction commits.
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
  const unaudited = await findUnaudited(tx, month)
  if (unaudited !== undefined)
    return refused(
      `The balance of the account ${unaudited} differs from its entries, so ${month} stays. Run \`assay credits audit\`.`,
    )
  const fileSha256 = await writeArchiveFile(path, month, pagesOf(tx, month))
  const archive = await insertArchive(tx, { month, fileSha256, archivedAt: now })
  // The usage of the month stays.
  for (const accountId of await insertArchivedSums(tx, month)) await rollUpUsage(tx, accountId)
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

/**
 * Writes the file whole or not at all: under a temporary name, synced to disk, then renamed. Only
 * its owner may read it. Returns the SHA-256 of its bytes. The file of an archived month has one
 * line that names the month, then one entry a line, ordered by reference.
 */
async function writeArchiveFile(
  path: string,
  month: string,
  pages: AsyncIterable<readonly object[]>,
): Promise<Buffer> {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  const hash = createHash('sha256')
  const write = async (lines: readonly object[]): Promise<void> => {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    hash.update(text)
    await file.writeFile(text)
  }
  try {
    await write([{ file: 'assay credit entries', version: 1, month }])
    for await (const page of pages) await write(page)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
  return hash.digest()
}

export async function sha256OfFile(path: string): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) hash.update(bytes)
  return hash.digest()
}
