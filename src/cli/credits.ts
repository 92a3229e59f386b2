/** `assay credits grant|adjust|show|usage`: what accounts may spend, and what they have spent. */
import { operator } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { findArchivedSumsOf } from '../credits/archive-store.ts'
import { enterCredits } from '../credits/credits.ts'
import { monthOf } from '../credits/months.ts'
import { findCreditAccount, findUsage, type UsageRow } from '../credits/store.ts'
import { systemClock } from '../platform/clock.ts'
import { withDatabase } from './context.ts'
import { dayGiven } from './day-given.ts'
import { failure, usageError } from './fail.ts'
import { accountNamed } from './names.ts'
import { done, note, type Outcome } from './output.ts'
import { told } from './rows.ts'

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
    throw usageError('A grant is at least 1 credit; `assay credits adjust` takes credits away.')
  return enter(config, { named, kind: 'grant', delta }, flags)
}

export function adjustCommand(
  config: Config,
  named: string,
  flags: EntryFlags & { credits: string },
): Promise<Outcome> {
  const delta = wholeGiven(flags.credits)
  if (delta === 0) throw usageError('An adjustment of 0 changes nothing.')
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
    const context = { db, actor: operator(), clock: systemClock }
    const entered = await enterCredits(context, { accountId, kind, delta, reason, reference })
    if (entered.outcome === 'too little')
      throw failure(`${name} has ${entered.balance} credits: no balance goes below zero.`)
    if (entered.outcome === 'entered before')
      throw failure('This reference was entered before. Nothing has changed.')
    if (entered.outcome === 'reference used')
      throw failure('This reference belongs to another entry. Nothing has changed.')
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
  if (since > until) throw usageError('The time begins after its end: --until, or now.')
  return withDatabase(config, async (db) => {
    const { id: account } = await accountNamed(db, named)
    const usage = await findUsage(db, { accountId: account, since, until })
    const months = { from: monthOf(since), to: monthOf(new Date(until.getTime() - 1)) }
    const archived = (await findArchivedSumsOf(db, account, months)).map(
      ({ month, entries, delta }) => ({ month, entries, credits: -delta }),
    )
    const credits = usage.reduce((sum, row) => sum + row.credits, 0)
    const rows = usage.map(usageFields)
    const none = 'Nothing was charged.'
    const report = { account, usage, credits, archived }
    const outcome = told(report, { columns: usageColumns, rows, flags, none })
    const missing = archived.map(
      ({ month, credits }) =>
        `${month} is archived: ${credits} credits in the whole month, in its file and not in this list`,
    )
    if (flags.csv === true) for (const line of missing) note(line)
    if (flags.csv === true) return outcome
    const sum = rows.length === 0 ? [] : [`${credits} credits in all`]
    return { ...outcome, lines: [...outcome.lines, ...sum, ...missing] }
  })
}

const usageColumns = ['day', 'meter', 'operation', 'calls', 'givenBack', 'credits']

function usageFields({ day, meter, operation, calls, voided, credits }: UsageRow): string[] {
  return [day, meter, operation, `${calls}`, `${voided}`, `${credits}`]
}

function wholeGiven(text: string): number {
  if (!/^[+-]?\d{1,12}$/.test(text))
    throw usageError('Credits are a whole number of twelve digits at most.')
  return Number(text)
}

function textGiven(name: string, text: string, max: number): string {
  if (text.trim() === '' || text.length > max || /\p{C}/u.test(text))
    throw usageError(`${name} has 1 to ${max} characters and no control characters.`)
  return text.trim()
}
