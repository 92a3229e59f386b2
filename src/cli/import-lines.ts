/**
 * Imports of files: NDJSON or CSV. Rejected lines go to their own file with number, field and
 * reason.
 */
import type { Command } from 'commander'
import { openServices, type Services } from '../main/operation-services.ts'
import { type AnyIngest, ingestLines, openLines, type Tally } from '../operations/ingest.ts'
import { rollingBack } from '../operations/rolling-back.ts'
import { counted } from '../platform/counted.ts'
import { byOption, formatOption } from './args.ts'
import { act, command } from './command.ts'
import { withContext } from './context.ts'
import {
  batchesUntil,
  chooseErrorsFile,
  openErrorsFile,
  openInput,
  renderRejectedLine,
  requireDifferentFiles,
} from './input-lines.ts'
import { type Outcome, usageError } from './output.ts'
import { renderProgress } from './render.ts'

export interface ImportFlags {
  from: string
  /** ndjson or csv; the file's extension decides if it is absent. */
  format?: string
  errors?: string
  dryRun?: boolean
}

/** Declares the command that reads a file through the declaration of a bulk input. */
export function declareIngest(
  noun: Command,
  ingest: AnyIngest<Services>,
  { summary, lines, note }: { summary: string; lines: string; note: string },
): void {
  const { name } = ingest
  const verb = name.slice(name.indexOf(' ') + 1)
  command(noun, verb, summary, `assay ${name} --from ${lines}.ndjson`)
    .requiredOption('--from <file>', `${lines}, one a line; - for standard input`)
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line against the database, and change nothing')
    .option(...byOption)
    .addHelpText('after', `\nAfter an interruption, run the command again. ${note}`)
    .action(act((flags: ImportFlags & { by: string }) => importLines(flags, ingest, flags)))
}

interface ImportCall {
  by?: string
  services?: Partial<Services>
}

/** Reads a file through the declaration of a bulk input. */
export async function importLines(
  flags: ImportFlags,
  ingest: AnyIngest<Services>,
  { by = '', services }: ImportCall,
): Promise<Outcome> {
  const errorsFile = chooseErrorsFile(flags)
  requireDifferentFiles({ '--from': flags.from, '--errors': errorsFile })
  const isCsv = isCsvFile(flags)
  const { chunks, bytesTotal } = await openInput(flags.from)
  const opened = await openLines(chunks, isCsv, ingest)
  if ('fault' in opened) {
    chunks.destroy()
    throw usageError(opened.fault)
  }
  return withContext(
    async (context) => {
      const { db, config, signal } = context
      await using errors = await openErrorsFile(errorsFile)
      using progress = renderProgress(bytesTotal)
      const startedAt = performance.now()
      const { dryRun = false } = flags
      const run = { ...context, db: dryRun ? rollingBack(db) : db }
      const call = { by, services: { ...openServices(config), ...services } }
      // After a signal, the current batch is committed and no other is begun.
      const batches = batchesUntil(signal, chunks, opened.batches)
      const tally = await ingestLines(
        run,
        ingest,
        call,
        { ...opened, batches },
        async (rejected, { tally: { lines }, bytesRead }) => {
          const texts = rejected.map(({ line, refused }) =>
            renderRejectedLine(line, refused, ingest.hidesText),
          )
          if (texts.length > 0) await errors.write(texts.join(''))
          progress.update(lines, bytesRead)
        },
      )
      if (!dryRun) await context.indexNewWorkers()
      const ms = performance.now() - startedAt
      return renderSummary(tally, { interrupted: signal.aborted, dryRun, errorsFile, ms })
    },
    { watchesSignal: true, defersIndex: true },
  )
}

const formats = ['ndjson', 'csv']

function isCsvFile({ from, format }: ImportFlags): boolean {
  const chosen = format ?? (from.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson')
  if (!formats.includes(chosen))
    throw usageError(`--format is ${chosen}. Use ${formats.join(' or ')}.`)
  return chosen === 'csv'
}

function renderSummary(
  { lines, results, rejected }: Tally,
  {
    interrupted,
    dryRun,
    errorsFile,
    ms,
  }: { interrupted: boolean; dryRun: boolean; errorsFile: string | null; ms: number },
): Outcome {
  const ok = rejected === 0 && !interrupted
  const linesPerSecond = Math.round((lines * 1_000) / Math.max(ms, 1))
  const counts = Object.entries({ ...results, rejected }).map(
    ([result, count]) => `${count} ${result}`,
  )
  const summary = [`${counted(lines, 'line')}: ${counts.join(', ')} (${linesPerSecond} lines/s)`]
  if (dryRun) summary.push('Dry run: nothing was changed.')
  // Without a rejected line there is no file.
  const errors = rejected > 0 ? errorsFile : null
  if (errors !== null) summary.push(`The rejected lines are in ${errors}.`)
  if (interrupted)
    summary.push('Interrupted. Run the command again: lines that were applied change nothing.')
  return {
    exitCode: ok ? 0 : 1,
    report: {
      ok,
      lines,
      ...results,
      rejected,
      interrupted,
      dryRun,
      linesPerSecond,
      errors,
    },
    lines: summary,
  }
}
