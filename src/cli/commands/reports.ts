/**
 * `assay reports`: reports of agent decisions, and the accounts that may send them (decision D43).
 */
import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { openServices } from '../../main/operation-services.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { findReports, findReportsOf, type ReportPage, type ReportRow } from '../../reports/api.ts'
import { reportOperations } from '../../reports/operations.ts'
import { wireReport } from '../../reports/schema.ts'
import { accountOption } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { declareOperations, refusalFailure } from '../operation-command.ts'
import type { Outcome } from '../output.ts'
import { type ExportFlags, exportedPage, exportPages, outOption } from '../output-file.ts'

export function declareCommand(reports: Command): void {
  declareOperations(reports, reportOperations)

  command(
    reports,
    'export',
    'Write all reports, one a line, the newest first',
    'assay reports export --out reports.ndjson',
  )
    .option(...accountOption)
    .option(...outOption)
    .action(act(exportAll))
}

/** Writes one report a line, as the interface shows it. */
function exportAll({ account, ...flags }: ExportFlags & { account?: string }): Promise<Outcome> {
  return withContext(
    async ({ db, config, signal }) => {
      const read = await readerOf(db, config, account)
      return exportPages(flags, { signal, noun: 'report' }, async (before) => {
        const rows = await read({ before, limit: exportedPage })
        const isFull = rows.length === exportedPage
        return { rows: rows.map(wireReport), next: isFull ? (rows.at(-1)?.id ?? null) : null }
      })
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
