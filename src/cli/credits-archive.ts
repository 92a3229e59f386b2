/** `assay credits archive`: the entries of a month that is over go to a file, and what they add up to stays. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { type Archived, archiveMonth } from '../credits/archive.ts'
import type { Archive } from '../credits/archive-store.ts'
import { auditBooks } from '../credits/audit-books.ts'
import { isMonth } from '../credits/months.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { withDatabase } from './context.ts'
import { failure, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'

export function archiveCreditsCommand(
  config: Config,
  month: string,
  { out }: { out: string },
): Promise<Outcome> {
  if (!isMonth(month)) throw usageError('The month is one such as 2026-05.')
  if (existsSync(out))
    throw usageError(
      `${out} is there already. Name a new file. If an archive command was interrupted, \`assay credits audit --archive ${out}\` tells whether the file is the archive of its month.`,
    )
  return withDatabase(config, async (db) => {
    const archived = await archive(db, month, out)
    if (archived.outcome !== 'archived') {
      if (archived.outcome === 'not audited') await rm(out)
      throw failure(reasonOf(archived, month))
    }
    const { entries, delta, fileSha256 } = archived.archive
    const sha256 = fileSha256.toString('hex')
    return done({ ok: true, month, entries, credits: -delta, sha256, out }, [
      `${month} is archived: ${entries} entries, ${-delta} credits`,
      `${out}  sha256 ${sha256}`,
      'Keep a copy of this file elsewhere: the entries are no longer in the database.',
    ])
  })
}

async function archive(db: Db, month: string, path: string): Promise<Archived> {
  const now = systemClock()
  await auditBooks(db, { now, fromStart: true })
  const record = (tx: Tx) => (archive: Archive) => {
    const { entries, fileSha256 } = archive
    const details = { month, entries, sha256: fileSha256.toString('hex') }
    const entry = { action: 'credits.archived', subjects: [], details } as const
    return recordAction(tx, { actor: operator(), ...entry }, now)
  }
  try {
    return await db.transaction((tx) => archiveMonth(tx, { month, path, now, record: record(tx) }))
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    throw failure(
      `The books are busy: a charge, a backup or a report held them for too long. Remove ${path} if it is there and \`assay credits audit\` does not list ${month} as archived, then try again.`,
      { cause: error },
    )
  }
}

function reasonOf(archived: Exclude<Archived, { outcome: 'archived' }>, month: string): string {
  if (archived.outcome === 'too early')
    return `${month} can be archived from ${wireTime(archived.from)} on: until then entries of it may come.`
  if (archived.outcome === 'archived before')
    return `${month} is archived already: \`assay credits audit\` shows it.`
  if (archived.outcome === 'empty') return `Nothing was charged in ${month}.`
  return `The books of the account ${archived.accountId} do not add up, so the month stays. \`assay credits audit\` says more.`
}
