/** `assay credits grant|adjust|show|usage|audit`: what accounts may spend, and what they have spent. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { auditBooks, type BooksAudited } from '../credits/audit-books.ts'
import { enterCredits } from '../credits/credits.ts'
import { findCreditAccount, findUsage, type UsageRow, updateSuspended } from '../credits/store.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { accountNamed } from './accounts.ts'
import { dayGiven } from './day-given.ts'
import { done, type Outcome } from './output.ts'
import { told } from './rows.ts'
import { CommandError, UsageError } from './run.ts'
import { withDatabase } from './with-database.ts'

export interface EntryFlags {
  reason: string
  reference?: string
}

export function grantCommand(
  config: Config,
  [named, credits]: readonly [string, string],
  flags: EntryFlags,
): Promise<Outcome> {
  const delta = wholeGiven(credits)
  if (delta < 1)
    throw new UsageError('A grant is at least 1 credit; `assay credits adjust` takes credits away.')
  return enter(config, { named, kind: 'grant', delta }, flags)
}

export function adjustCommand(
  config: Config,
  named: string,
  flags: EntryFlags & { credits: string },
): Promise<Outcome> {
  const delta = wholeGiven(flags.credits)
  if (delta === 0) throw new UsageError('An adjustment of 0 changes nothing.')
  return enter(config, { named, kind: 'adjustment', delta }, flags)
}

interface Wanted {
  named: string
  kind: 'grant' | 'adjustment'
  delta: number
}

function enter(
  config: Config,
  { named, kind, delta }: Wanted,
  flags: EntryFlags,
): Promise<Outcome> {
  const reason = textGiven('--reason', flags.reason, 500)
  const reference =
    flags.reference === undefined ? undefined : textGiven('--reference', flags.reference, 150)
  return withDatabase(config, async (db) => {
    const { id: accountId, name } = await accountNamed(db, named)
    const entered = await db.transaction(async (tx) => {
      const made = await enterCredits(tx, { accountId, kind, delta, reason, reference })
      if (made.outcome !== 'entered') return made
      const action = kind === 'grant' ? 'credits.granted' : 'credits.adjusted'
      const details = { credits: delta, balance: made.balance }
      const entry = { actor: operator(), action, subjects: [accountId], details } as const
      await recordAction(tx, entry, systemClock())
      return made
    })
    if (entered.outcome === 'too little')
      throw new CommandError(`${name} has ${entered.balance} credits: no balance goes below zero.`)
    if (entered.outcome === 'entered before')
      throw new CommandError('This reference was entered before. Nothing has changed.')
    if (entered.outcome === 'reference used')
      throw new CommandError('This reference belongs to another entry. Nothing has changed.')
    const { balance } = entered
    const sign = delta > 0 ? '+' : ''
    return done({ ok: true, account: accountId, delta, balance }, [
      `${name}: ${sign}${delta}, now ${balance} credits`,
    ])
  })
}

export function showCreditsCommand(config: Config, named: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const { id, name } = await accountNamed(db, named)
    const found = await findCreditAccount(db, id)
    const balance = found?.balance ?? 0
    const suspended = found !== undefined && found.suspendedAt !== null
    const told = suspended ? ', suspended: `assay credits audit` says why' : ''
    return done({ ok: true, account: id, balance, suspended }, [
      `${name}: ${balance} credits${told}`,
    ])
  })
}

export interface UsageFlags {
  since?: string
  until?: string
  csv?: boolean
}

export function usageCommand(config: Config, named: string, flags: UsageFlags): Promise<Outcome> {
  const until = flags.until === undefined ? systemClock() : dayGiven('--until', flags.until)
  const since =
    flags.since === undefined
      ? new Date(until.getTime() - 30 * 86_400_000)
      : dayGiven('--since', flags.since)
  if (since > until) throw new UsageError('The time begins after its end: --until, or now.')
  return withDatabase(config, async (db) => {
    const { id: account } = await accountNamed(db, named)
    const usage = await findUsage(db, { accountId: account, since, until })
    const credits = usage.reduce((sum, row) => sum + row.credits, 0)
    const rows = usage.map(usageFields)
    const none = 'Nothing was charged.'
    const outcome = told({ account, usage, credits }, { columns: usageColumns, rows, flags, none })
    return flags.csv === true || rows.length === 0
      ? outcome
      : { ...outcome, lines: [...outcome.lines, `${credits} credits in all`] }
  })
}

const usageColumns = ['day', 'meter', 'operation', 'calls', 'givenBack', 'credits']

function usageFields({ day, meter, operation, calls, voided, credits }: UsageRow): string[] {
  return [day, meter, operation, `${calls}`, `${voided}`, `${credits}`]
}

/** Every entry of every account is added up again. Ends with 1 where books do not add up. */
export function auditCreditsCommand(config: Config, flags: { resume?: boolean }): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const audited = await auditBooks(db, { now: systemClock(), fromStart: true })
    const { accounts, broken, wholeAgain } = audited
    if (flags.resume) await resume(db, audited)
    const report = {
      ok: broken.length === 0,
      accounts,
      broken: broken.map(({ accountId, balance, entered }) => ({ accountId, balance, entered })),
      [flags.resume ? 'resumed' : 'wholeAgain']: wholeAgain,
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
      ],
      broken.length === 0 ? 0 : 1,
    )
  })
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

function wholeGiven(text: string): number {
  if (!/^[+-]?\d{1,12}$/.test(text))
    throw new UsageError('Credits are a whole number of twelve digits at most.')
  return Number(text)
}

function textGiven(name: string, text: string, max: number): string {
  if (text.trim() === '' || text.length > max || /\p{C}/u.test(text))
    throw new UsageError(`${name} has 1 to ${max} characters and no control characters.`)
  return text.trim()
}
