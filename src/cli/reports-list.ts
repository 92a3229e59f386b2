/** `assay reports list` and `export`: what accounts reported of agents' decisions, the newest first. */
import { wireReport } from '../agent-decisions/handlers.ts'
import {
  findReports,
  findReportsOf,
  type ReportPage,
  type ReportRow,
} from '../agent-decisions/store.ts'
import type { Config } from '../config/config.ts'
import { wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { withDatabase } from './context.ts'
import { interrupted, usageError } from './fail.ts'
import { accountNamed } from './names.ts'
import { done, type Outcome } from './output.ts'
import { openSink } from './sink.ts'

export interface ReportsFlags {
  account?: string
}

export function listReportsCommand(
  config: Config,
  flags: ReportsFlags & { limit: string },
): Promise<Outcome> {
  const limit = /^\d{1,6}$/.test(flags.limit) ? Number(flags.limit) : 0
  if (limit < 1) throw usageError('--limit takes a number from 1 to 999999.')
  return withDatabase(config, async (db) => {
    const read = await readerOf(db, flags)
    const rows = await read({ before: null, limit })
    const reports = rows.map(wireReport)
    return done({ ok: true, reports }, rows.length > 0 ? rows.map(lineOf) : ['No reports.'])
  })
}

const pageMax = 500
/** What accounts wrote of people is nobody else's to read. */
const ownerOnly = 0o600

/** One report a line, as the interface shows it, in bounded memory. */
export function exportReportsCommand(
  config: Config,
  flags: ReportsFlags & { out: string },
): Promise<Outcome> {
  return withDatabase(
    config,
    async (db, signal) => {
      const read = await readerOf(db, flags)
      const sink = await openSink(flags.out, ownerOnly)
      let exported = 0
      let rows: ReportRow[] = []
      try {
        do {
          if (signal.aborted) throw interrupted()
          rows = await read({ before: rows.at(-1)?.id ?? null, limit: pageMax })
          await sink.write(rows.map((row) => `${JSON.stringify(wireReport(row))}\n`).join(''))
          exported += rows.length
        } while (rows.length === pageMax)
      } finally {
        await sink.close()
      }
      const report = { ok: true, exported, out: flags.out }
      return { exitCode: 0, report, lines: [`${exported} reports exported.`], linesTo: 'stderr' }
    },
    { watchesSignal: true },
  )
}

async function readerOf(
  db: Db,
  { account }: ReportsFlags,
): Promise<(page: ReportPage) => Promise<ReportRow[]>> {
  if (account === undefined) return (page) => findReports(db, page)
  const { id } = await accountNamed(db, account)
  return (page) => findReportsOf(db, id, page)
}

/** Without what its account wrote in words: `--json` has it. */
function lineOf({ id, userId, subject, decision, outcome, createdAt }: ReportRow): string {
  const about = subject.kind === 'candidate' ? `@${subject.username}` : subject.scoreId
  return `${wireTime(createdAt)}  ${id}  account ${userId}  ${about}  ${decision}  ${outcome}`
}
