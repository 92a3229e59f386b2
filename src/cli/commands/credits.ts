/** `assay credits`: the credits of accounts, and the ledger that records them. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { type Archived, archiveFault, archiveMonth } from '../../credits/archive.ts'
import { readArchiveFile } from '../../credits/archive-file.ts'
import { type Archive, findArchivedSumsOf, findArchives } from '../../credits/archive-store.ts'
import { auditBooks, resumeAccounts } from '../../credits/audit-books.ts'
import { type Entry, enterCredits } from '../../credits/credits.ts'
import { monthOf } from '../../credits/months.ts'
import { findCreditAccount, findUsage, type UsageRow } from '../../credits/store.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/http/errors.ts'
import { accountArgument, parseCredits, parseDay, parseMonth, textUpTo } from '../args.ts'
import { act, command } from '../command.ts'
import { askYes } from '../confirm.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { accountNamed } from '../names.ts'
import { done, note, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

const reasonOption = ['--reason <text>', 'kept in the ledger', textUpTo(500)] as const
const referenceOption = [
  '--reference <name>',
  'your own name for it, such as an invoice number: each is entered once; default: a new name',
  textUpTo(150),
] as const
const yesOption = [
  '--yes',
  'enter it also if an equal entry was made in the last ten minutes',
] as const

export function declareCommand(credits: Command): void {
  command(
    credits,
    'grant',
    'Give credits to an account',
    "assay credits grant 'Example Ltd' 1000 --reason 'first order' --reference INV-2026-017",
  )
    .argument(...accountArgument)
    .argument('<credits>', 'a whole number', parseCredits)
    .requiredOption(...reasonOption)
    .option(...referenceOption)
    .option(...yesOption)
    .action(act(grant))

  command(
    credits,
    'adjust',
    'Correct the credits of an account, up or down',
    "assay credits adjust 'Example Ltd' --credits -20 --reason 'granted twice'",
  )
    .argument(...accountArgument)
    .requiredOption('--credits <n>', 'how many more; below 0 how many fewer', parseCredits)
    .requiredOption(...reasonOption)
    .option(...referenceOption)
    .option(...yesOption)
    .action(act(adjust))

  command(credits, 'show', 'Show the balance of an account', "assay credits show 'Example Ltd'")
    .argument(...accountArgument)
    .action(act(show))

  command(
    credits,
    'usage',
    'Show the credits that an account spent, by day, meter and operation',
    "assay credits usage 'Example Ltd' --since 2026-05-01 --until 2026-06-01 --csv",
  )
    .argument(...accountArgument)
    .option('--since <day>', 'in UTC; default: 30 days before the end', parseDay)
    .option('--until <day>', 'in UTC, not included; default: now', parseDay)
    .option('--csv', 'CSV for a spreadsheet')
    .action(act(showUsage))

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

interface EntryFlags {
  reason: string
  reference?: string
  yes?: boolean
}

function grant(named: string, credits: number, flags: EntryFlags): Promise<Outcome> {
  if (credits < 1)
    throw usageError('Grant at least 1 credit. To take credits away, use `assay credits adjust`.')
  return enter(named, { kind: 'grant', delta: credits }, flags)
}

function adjust(named: string, flags: EntryFlags & { credits: number }): Promise<Outcome> {
  if (flags.credits === 0) throw usageError('--credits is 0, which changes nothing.')
  return enter(named, { kind: 'adjustment', delta: flags.credits }, flags)
}

function enter(
  named: string,
  { kind, delta }: Pick<Entry, 'kind' | 'delta'>,
  { reason, reference: given, yes = false }: EntryFlags,
): Promise<Outcome> {
  return withContext(async (context) => {
    const { id: accountId, name } = await accountNamed(context.db, named)
    const reference = given ?? randomUUID()
    if (given === undefined)
      note(
        `The reference is ${reference}. If you do not see a result, repeat the command with --reference ${reference}: it is entered once.`,
      )
    const entry = { accountId, kind, delta, reason, reference }
    // A name of the operator's own says that this is another entry.
    const first = await enterCredits(context, { ...entry, isFirst: given === undefined && !yes })
    const entered =
      first.outcome === 'equal entry' && (await isWantedAgain(first, { name, delta }))
        ? await enterCredits(context, entry)
        : first
    if (entered.outcome === 'equal entry') throw failure('Nothing was changed.')
    if (entered.outcome === 'too little')
      throw failure(
        `${name} has ${counted(entered.balance, 'credit')}, and a balance never goes below zero. Nothing was changed.`,
      )
    if (entered.outcome === 'entered before')
      throw failure(`The reference ${reference} was entered before. Nothing was changed.`)
    if (entered.outcome === 'reference used')
      throw failure(`The reference ${reference} belongs to another entry. Nothing was changed.`)
    const { balance } = entered
    return done({ account: accountId, delta, balance, reference }, [
      `${name}: ${delta > 0 ? '+' : ''}${delta}, now ${counted(balance, 'credit')}`,
    ])
  })
}

/** Throws if there is no terminal to ask on. */
async function isWantedAgain(
  { at, reference }: { at: Date; reference: string },
  { name, delta }: { name: string; delta: number },
): Promise<boolean> {
  const made = `${name} got ${delta > 0 ? '+' : ''}${delta} credits at ${wireTime(at)}, under the reference ${reference}.`
  const isWanted = await askYes(`${made}\nType yes to enter the same again: `)
  if (isWanted === null)
    throw failure(
      `${made} Nothing was changed. To enter the same again, repeat the command with --yes or with a --reference of your own.`,
    )
  return isWanted
}

function show(named: string): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const { id, name } = await accountNamed(db, named)
    const found = await findCreditAccount(db, id)
    const balance = found?.balance ?? 0
    const suspended = found !== undefined && found.suspendedAt !== null
    const state = suspended ? ', suspended: `assay credits audit` says why' : ''
    return done({ account: id, balance, suspended }, [
      `${name}: ${counted(balance, 'credit')}${state}`,
    ])
  })
}

interface UsageFlags {
  since?: Date
  until?: Date
  csv?: boolean
}

const usageColumns: Columns<UsageRow> = {
  day: ({ day }) => day,
  meter: ({ meter }) => meter,
  operation: ({ operation }) => operation,
  calls: ({ calls }) => calls,
  refunded: ({ refunded }) => refunded,
  credits: ({ credits }) => credits,
}

function showUsage(named: string, { csv = false, ...flags }: UsageFlags): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const until = flags.until ?? clock()
    const since = flags.since ?? new Date(until.getTime() - 30 * 86_400_000)
    if (since > until)
      throw usageError(
        `--since is ${wireTime(since)}, after its end ${wireTime(until)}. Use an earlier day.`,
      )
    const { id: account } = await accountNamed(db, named)
    const usage = await findUsage(db, { accountId: account, since, until })
    const months = { from: monthOf(since), to: monthOf(new Date(until.getTime() - 1)) }
    const archived = (await findArchivedSumsOf(db, account, months)).map(
      ({ month, entries, delta }) => ({ month, entries, credits: -delta }),
    )
    const credits = usage.reduce((sum, row) => sum + row.credits, 0)
    const none = 'Nothing was charged.'
    const rendered = { rows: usage, columns: usageColumns, none, csv }
    const outcome = listed({ account, usage, credits, archived }, rendered)
    const missing = archived.map(
      (one) =>
        `${one.month} is archived: ${counted(one.credits, 'credit')} in the whole month are in its file and not in this list`,
    )
    if (csv) for (const line of missing) note(line)
    if (csv) return outcome
    const sum = usage.length === 0 ? [] : [`${counted(credits, 'credit')} in all`]
    return { ...outcome, lines: [...outcome.lines, ...sum, ...missing] }
  })
}

interface AuditFlags {
  resume?: boolean
  archive?: string[]
}

function audit({ resume = false, archive: paths = [] }: AuditFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const { db, clock } = context
    const audited = await auditBooks(db, { now: clock(), fromStart: true })
    const { accounts, broken, repaired } = audited
    if (resume) await resumeAccounts(context, repaired)
    const archives = await findArchives(db)
    const files = await verifyFiles(db, paths, archives)
    const verified = new Set(files.flatMap(({ month, fault }) => (fault === null ? [month] : [])))
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

async function verifyFiles(
  db: Queryable,
  files: readonly string[],
  archives: readonly Archive[],
): Promise<VerifiedFile[]> {
  const verified: VerifiedFile[] = []
  for (const file of files) {
    const read = await readArchiveFile(file).catch((cause: unknown) => {
      throw usageError(
        `${file} cannot be read. Name a file that \`assay credits archive\` wrote.`,
        {
          cause,
        },
      )
    })
    const fault =
      read === null ? 'is not an archived month' : await archiveFault(db, read, archives)
    verified.push({ file, month: read?.month ?? null, fault })
  }
  return verified
}

async function archive(month: string, { out }: { out: string }): Promise<Outcome> {
  if (existsSync(out))
    throw usageError(
      `${out} exists already. Name a new file. If an archive command was interrupted, \`assay credits audit --archive ${out}\` tells whether the file is the archive of its month.`,
    )
  return withContext(async (context) => {
    await auditBooks(context.db, { now: context.clock(), fromStart: true })
    const archived = await archiveMonth(context, { month, path: out }).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error
      throw failure(
        `The ledger is busy: a charge, a backup or a report held it for too long. Remove ${out} if it exists and \`assay credits audit\` does not list ${month} as archived, then try again.`,
        { cause: error },
      )
    })
    if (archived.outcome !== 'archived') throw failure(reasonOf(archived, month))
    const { entries, delta, fileSha256 } = archived.archive
    const sha256 = fileSha256.toString('hex')
    return done({ month, entries, credits: -delta, sha256, out }, [
      `${month} is archived: ${counted(entries, 'entry', 'entries')}, ${counted(-delta, 'credit')}`,
      `${out}  sha256 ${sha256}`,
      'Keep a copy of this file elsewhere: the entries are no longer in the database.',
    ])
  })
}

function reasonOf(archived: Exclude<Archived, { outcome: 'archived' }>, month: string): string {
  if (archived.outcome === 'too early')
    return `${month} can be archived from ${wireTime(archived.from)} on: until then, entries may be added.`
  if (archived.outcome === 'archived before')
    return `${month} is archived already. \`assay credits audit\` shows it.`
  if (archived.outcome === 'empty') return `${month} has no charges to archive.`
  return `The balance of the account ${archived.accountId} differs from its entries, so ${month} stays. Run \`assay credits audit\`.`
}
