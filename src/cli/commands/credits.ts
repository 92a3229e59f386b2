/** `assay credits`: the credits of accounts, and the ledger that records them. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { type Archive, findArchives } from '../../billing/api.ts'
import { sha256OfFile } from '../../billing/credits/archive.ts'
import { auditBooks } from '../../billing/credits/credits.ts'
import {
  creditOperations,
  creditsAdjust,
  creditsArchive,
  creditsGrant,
  creditsResume,
} from '../../billing/credits/operations.ts'
import type { Services } from '../../main/operation-services.ts'
import type { Operation } from '../../operations/operation.ts'
import type { OutputOf } from '../../operations/perform.ts'
import type { Texts } from '../../operations/text-input.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { parseMonth } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import {
  type CommonFlags,
  checkTexts,
  declareOperation,
  performHere,
  runOperation,
} from '../operation-command.ts'
import { askYes, done, Failure, failure, note, type Outcome, usageError } from '../output.ts'

export function declareCommand(credits: Command): void {
  for (const operation of creditOperations) {
    const isEntry = operation === creditsGrant || operation === creditsAdjust
    declareOperation(credits, operation, isEntry ? enter : runOperation)
  }

  command(
    credits,
    'audit',
    'Add up the ledger: ends with 1 if a balance differs from its entries, or a file from its archive',
    'assay credits audit --archive 2026-05.ndjson',
  )
    .option('--resume', 'charge suspended accounts again whose balance is right')
    .option('--archive <file...>', 'verify these files of archived months')
    .action(act(audit))

  command(
    credits,
    'archive',
    'Write the entries of a past month to a file, and delete them from the ledger',
    'assay credits archive 2026-05 --out 2026-05.ndjson',
  )
    .argument('<month>', 'in UTC, such as 2026-05', parseMonth)
    .requiredOption('--out <file>', 'a new file; keep it as long as you keep books')
    .action(act(archive))
}

/**
 * Enters credits. Without a reference of the operator's own, the entry has a name before it is made,
 * so that a command without a visible result can be repeated.
 */
async function enter(
  operation: Operation<Services>,
  texts: Texts,
  flags: CommonFlags,
): Promise<Outcome> {
  if (texts.reference !== undefined) return runOperation(operation, texts, flags)
  checkTexts(operation, texts)
  const reference = randomUUID()
  note(
    `The reference is ${reference}. If you do not see a result, repeat the command with --reference ${reference}: it is entered once.`,
  )
  try {
    return await runOperation(operation, texts, flags, reference)
  } catch (error) {
    const isEqual = error instanceof Failure && error.report.error === 'credit_entry_repeated'
    const isWanted = isEqual ? await askYes(`${error.message}\nType yes to enter it: `) : null
    if (isWanted === null) throw error
    if (!isWanted) throw failure('Nothing was changed.')
    return runOperation(operation, { ...texts, again: true }, flags, reference)
  }
}

interface AuditFlags {
  resume?: boolean
  archive?: string[]
}

function audit({ resume = false, archive: paths = [] }: AuditFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const { db, clock } = context
    const audited = await auditBooks(db, { now: clock(), fromStart: true })
    const { accounts, broken } = audited
    const resumed: string[] = []
    if (resume)
      await performHere(context, creditsResume, {
        input: {},
        flags: {},
        options: {
          onBatch: (batch) => {
            resumed.push(...(batch as OutputOf<typeof creditsResume>).accountIds)
          },
        },
      })
    const repaired = resume ? resumed : audited.repaired
    const archives = await findArchives(db)
    const files = await Promise.all(paths.map((path) => verifyFile(path, archives)))
    const verified = new Set(files.map(({ month }) => month))
    const months = archives.map((one) => archiveReport(one, verified.has(one.month)))
    const isSound = broken.length === 0 && files.every(({ fault }) => fault === null)
    const report = {
      accounts,
      broken: broken.map(({ accountId, balance, entered }) => ({ accountId, balance, entered })),
      [resume ? 'resumed' : 'repaired']: repaired,
      archives: months,
      files,
    }
    const again = resume ? 'is charged again' : 'adds up again: run `assay credits audit --resume`'
    const lines = [
      ...broken.map(
        ({ accountId, balance, entered }) =>
          `${accountId} is suspended: its balance is ${balance}, its entries add up to ${entered}`,
      ),
      ...repaired.map((id) => `${id} ${again}`),
      `accounts that add up: ${accounts - broken.length} of ${accounts}`,
      ...months.map(
        ({ month, entries, credits, isVerified }) =>
          `${month}  archived: ${counted(entries, 'entry', 'entries')}, ${counted(credits, 'credit')}, ${isVerified ? 'its file is verified' : 'verify its file with --archive'}`,
      ),
      ...files.flatMap(({ file, fault }) => (fault === null ? [] : [`${file}: ${fault}`])),
    ]
    return done(report, lines, isSound ? 0 : 1)
  })
}

function archiveReport(
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

interface VerifiedFile {
  file: string
  /** Null if the file is no archive. */
  month: string | null
  fault: string | null
}

async function verifyFile(file: string, archives: readonly Archive[]): Promise<VerifiedFile> {
  const sha256 = await sha256OfFile(file).catch((cause: unknown) => {
    throw usageError(`${file} cannot be read. Name a file that \`assay credits archive\` wrote.`, {
      cause,
    })
  })
  const month = archives.find(({ fileSha256 }) => fileSha256.equals(sha256))?.month ?? null
  const fault = month === null ? 'its SHA-256 is that of no archived month' : null
  return { file, month, fault }
}

async function archive(month: string, { out }: { out: string }): Promise<Outcome> {
  if (existsSync(out))
    throw usageError(
      `${out} exists already. Name a new file. If an archive command was interrupted, \`assay credits audit --archive ${out}\` tells whether the file is the archive of its month.`,
    )
  return withContext(async (context) => {
    await auditBooks(context.db, { now: context.clock(), fromStart: true })
    const input = { month, out }
    const archived = await performHere(context, creditsArchive, { input, flags: {} }).catch(
      (error: unknown) => {
        if (!(error instanceof UnavailableError)) throw error
        throw failure(
          `The ledger is busy: a charge, a backup or a report held it for too long. Remove ${out} if it exists and \`assay credits audit\` does not list ${month} as archived, then try again.`,
          { cause: error },
        )
      },
    )
    const { entries, credits, sha256 } = archived
    return done({ month, entries, credits, sha256, out }, [
      `${month} is archived: ${counted(entries, 'entry', 'entries')}, ${counted(credits, 'credit')}`,
      `${out}  sha256 ${sha256}`,
      'Keep a copy of this file elsewhere: the entries are no longer in the database.',
    ])
  })
}
