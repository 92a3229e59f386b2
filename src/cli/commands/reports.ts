/**
 * `assay reports`: reports of agent decisions, and the accounts that may send them (decision D43).
 */
import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { openServices } from '../../main/operation-services.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { findReports, findReportsOf, type ReportPage, type ReportRow } from '../../reports/api.ts'
import { reportOperations } from '../../reports/operations.ts'
import { wireReport } from '../../reports/schema.ts'
import { accountOption } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { interrupted } from '../fail.ts'
import { declareOperations, refusalFailure } from '../operation-command.ts'
import { done, type Outcome } from '../output.ts'
import { openOutput } from '../output-file.ts'

export function declareCommand(reports: Command): void {
  declareOperations(reports, reportOperations)

  command(
    reports,
    'export',
    'Write all reports, one a line, the newest first',
    'assay reports export --out reports.ndjson',
  )
    .option(...accountOption)
    .option('--out <file>', 'a file that only you can read; - is standard output', '-')
    .action(act(exportAll))
}

const pageMax = 500
const ownerOnly = 0o600

/** Writes one report a line, as the interface shows it, in bounded memory. */
function exportAll({ account, out }: { account?: string; out: string }): Promise<Outcome> {
  return withContext(
    async ({ db, config, signal }) => {
      const read = await readerOf(db, config, account)
      const sink = await openOutput(out, ownerOnly)
      let exported = 0
      let rows: ReportRow[] = []
      try {
        do {
          if (signal.aborted)
            throw interrupted(`${out} holds only the newest ${counted(exported, 'report')}.`)
          rows = await read({ before: rows.at(-1)?.id ?? null, limit: pageMax })
          await sink.write(rows.map((row) => `${JSON.stringify(wireReport(row))}\n`).join(''))
          exported += rows.length
        } while (rows.length === pageMax)
      } finally {
        await sink.close()
      }
      const lines = [`You have exported ${counted(exported, 'report')}.`]
      return { ...done({ exported, out }, lines), linesTo: 'stderr' }
    },
    { watchesSignal: true },
  )
}

async function readerOf(
  db: Queryable,
  config: Config,
  account: string | undefined,
): Promise<(page: ReportPage) => Promise<ReportRow[]>> {
  if (account === undefined) return (page) => findReports(db, page)
  const named = await openServices(config).accounts.named(db, account)
  if ('refusal' in named) throw refusalFailure(named)
  return (page) => findReportsOf(db, named.id, page)
}
