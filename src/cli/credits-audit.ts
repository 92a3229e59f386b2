/** `assay credits audit`: whether every balance is what its entries say, and whether files of archived months are those that were written. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { archiveFault } from '../credits/archive.ts'
import { readArchiveFile } from '../credits/archive-file.ts'
import { type Archive, findArchives } from '../credits/archive-store.ts'
import { auditBooks, type BooksAudited } from '../credits/audit-books.ts'
import { updateSuspended } from '../credits/store.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'

export interface AuditFlags {
  resume?: boolean
  archive?: string[]
}

/** Every entry of every account is added up again. Ends with 1 where books do not add up, or a file is not what it should be. */
export function auditCreditsCommand(config: Config, flags: AuditFlags): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const audited = await auditBooks(db, { now: systemClock(), fromStart: true })
    const { accounts, broken, wholeAgain } = audited
    if (flags.resume) await resume(db, audited)
    const archives = await findArchives(db)
    const files = await verifyFiles(db, flags.archive ?? [], archives)
    const verified = new Set(files.flatMap(({ month, fault }) => (fault === null ? [month] : [])))
    const months = archives.map((archive) => toldArchive(archive, verified.has(archive.month)))
    const isWhole = broken.length === 0 && files.every(({ fault }) => fault === null)
    const report = {
      ok: isWhole,
      accounts,
      broken: broken.map(({ accountId, balance, entered }) => ({ accountId, balance, entered })),
      [flags.resume ? 'resumed' : 'wholeAgain']: wholeAgain,
      archives: months,
      files,
    }
    const whole = flags.resume ? 'charged again' : 'whole again: `assay credits audit --resume`'
    return done(
      report,
      [
        ...broken.map(
          ({ accountId, balance, entered }) =>
            `${accountId}  the balance is ${balance}, its entries add up to ${entered}: suspended`,
        ),
        ...wholeAgain.map((id) => `${id}  ${whole}`),
        `${accounts - broken.length} of ${accounts} books add up`,
        ...months.map(
          ({ month, entries, credits, isVerified }) =>
            `${month}  archived: ${entries} entries, ${credits} credits${isVerified ? ', its file is verified' : '; verify its file with --archive'}`,
        ),
        ...files.flatMap(({ file, fault }) => (fault === null ? [] : [`${file}  ${fault}`])),
      ],
      isWhole ? 0 : 1,
    )
  })
}

function toldArchive(
  { month, entries, delta, fileSha256, archivedAt }: Archive,
  isVerified: boolean,
) {
  return {
    month,
    entries,
    credits: -delta,
    sha256: fileSha256.toString('hex'),
    archivedAt: wireTime(archivedAt),
    isVerified,
  }
}

interface FileVerified {
  file: string
  /** Null where the file is no archive. */
  month: string | null
  fault: string | null
}

async function verifyFiles(
  db: Queryable,
  files: readonly string[],
  archives: readonly Archive[],
): Promise<FileVerified[]> {
  const verified: FileVerified[] = []
  for (const file of files) {
    const read = await readArchiveFile(file).catch((error: unknown) => {
      throw usageError(`${file} cannot be read.`, { cause: error })
    })
    const fault =
      read === null ? 'is not an archived month' : await archiveFault(db, read, archives)
    verified.push({ file, month: read?.month ?? null, fault })
  }
  return verified
}

async function resume(db: Db, { wholeAgain }: BooksAudited): Promise<void> {
  if (wholeAgain.length === 0) return
  await db.transaction(async (tx) => {
    for (const id of wholeAgain) await updateSuspended(tx, id, null)
    const entry = {
      actor: operator(),
      action: 'credits.resumed',
      subjects: wholeAgain,
      details: {},
    } as const
    await recordAction(tx, entry, systemClock())
  })
}
