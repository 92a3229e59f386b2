/**
 * The loop of every import: reads NDJSON or CSV, applies each batch in one transaction, and writes
 * rejected lines to their own file with number, field and reason. The operator repeats a run that
 * was cut off, so `apply` must change nothing for lines that it has applied before.
 */
import { addAbortSignal } from 'node:stream'
import type { Command } from 'commander'
import { openServices, type Services } from '../app/operations.ts'
import { applyBatch, type Ingest, type IngestCall, type Refused } from '../operations/ingest.ts'
import { rollingBack } from '../operations/rolling-back.ts'
import { counted } from '../platform/counted.ts'
import { byOption, formatOption } from './args.ts'
import { type BatchSteps, runBatches } from './batch-pipeline.ts'
import { act, command } from './command.ts'
import { type CommandContext, withContext } from './context.ts'
import type { Line, LineBatch } from './input-lines.ts'
import type { Outcome } from './output.ts'
import type { OutputFile } from './output-file.ts'
import { openParsedInput, type ParsedInput } from './parse-input.ts'
import {
  chooseErrorsFile,
  closeWith,
  lineTooLong,
  openErrorsFile,
  renderRejectedLine,
  requireDifferentFiles,
} from './rejected-lines.ts'
import { type Progress, renderProgress } from './render-progress.ts'

export interface ImportFlags {
  from: string
  /** ndjson or csv; the file's extension decides if it is absent. */
  format?: string
  errors?: string
  dryRun?: boolean
}

/** Declares the command that reads a file through the declaration of a bulk input. */
export function declareIngest<Item extends object, Result extends string>(
  noun: Command,
  ingest: Ingest<Services, Item, Result>,
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
  /** Names the import that the batches belong to. UUID. */
  importId?: string
  services?: Partial<Services>
  /** Is called after the last batch, also after a signal, but not after a failure. */
  end?(context: CommandContext): Promise<void>
}

/** Reads a file through the declaration of a bulk input. */
export async function importLines<Item extends object, Result extends string>(
  flags: ImportFlags,
  ingest: Ingest<Services, Item, Result>,
  { by = '', importId = '', services, end }: ImportCall,
): Promise<Outcome> {
  const errorsFile = chooseErrorsFile(flags)
  requireDifferentFiles({ '--from': flags.from, '--errors': errorsFile })
  const { lineBytesMax: bytesMax, batchMax, line: shape } = ingest
  const source = await openParsedInput(flags, { bytesMax, batchMax, shape })
  return withContext(
    async (context) => {
      const { db, config, signal } = context
      addAbortSignal(signal, source.chunks)
      await using closing = new AsyncDisposableStack()
      const errors = closeWith(await openErrorsFile(errorsFile), closing)
      const progress = renderProgress(source.bytesTotal)
      closing.defer(() => progress.end())
      const startedAt = performance.now()
      const { dryRun = false } = flags
      const run = {
        ...context,
        db: dryRun ? rollingBack(db) : db,
        ingest,
        call: { by, importId, services: { ...openServices(config), ...services } },
        errors,
        progress,
      }
      const tally = await readAll(run, source)
      await end?.(run)
      return renderSummary(tally, { dryRun, errorsFile, ms: performance.now() - startedAt })
    },
    { watchesSignal: true },
  )
}

interface Run<Item extends object, Result extends string> extends CommandContext {
  ingest: Ingest<Services, Item, Result>
  call: IngestCall<Services>
  errors: OutputFile
  progress: Progress
}

interface Tally<Result extends string> {
  lines: number
  results: Record<Result, number>
  rejected: number
  interrupted: boolean
}

/** After a signal, the current batches are committed and no other is begun. */
async function readAll<Item extends object, Result extends string>(
  run: Run<Item, Result>,
  source: ParsedInput,
): Promise<Tally<Result>> {
  const { ingest, call, signal } = run
  const results = Object.fromEntries(ingest.results.map((result) => [result, 0]))
  const tally: Tally<string> = { lines: 0, results, rejected: 0, interrupted: false }
  try {
    const steps: BatchSteps<ReadBatch<Item>, readonly ({ result: Result } | Refused)[]> = {
      keysOf: ({ items }) => collectKeys(ingest, items),
      apply: ({ items, now }) => applyBatch({ ...run, clock: () => now }, ingest, items, call),
      report: (batch, answers) => reportBatch(run, batch, { answers, tally }),
    }
    await runBatches(readBatches(run, source), steps, signal)
  } catch (error) {
    // The signal closes the input.
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
  tally.interrupted = signal.aborted
  return tally
}

interface ReadBatch<Item> extends LineBatch {
  read: (Item | Refused)[]
  /** The accepted lines of `read`. */
  items: Item[]
  now: Date
}

async function* readBatches<Item extends object, Result extends string>(
  { ingest }: Run<Item, Result>,
  { batches, parseLine }: ParsedInput,
): AsyncGenerator<ReadBatch<Item>> {
  for await (const batch of batches) {
    const now = new Date()
    const read = batch.lines.map((line) => readLine(ingest, parseLine, { line, now }))
    const items = read.filter((one): one is Item => !('refused' in one))
    yield { ...batch, read, items, now }
  }
}

function collectKeys<Item extends object, Result extends string>(
  ingest: Ingest<Services, Item, Result>,
  items: readonly Item[],
): ReadonlySet<string> | null {
  const all = new Set<string>()
  for (const item of items) {
    const keys = ingest.keysOf?.(item) ?? null
    if (keys === null) return null
    for (const one of keys) all.add(one)
  }
  return all
}

async function reportBatch<Item extends object, Result extends string>(
  { ingest, errors, progress }: Run<Item, Result>,
  batch: ReadBatch<Item>,
  { answers, tally }: { answers: readonly ({ result: Result } | Refused)[]; tally: Tally<string> },
): Promise<void> {
  const applied = answers.values()
  let rejected = ''
  for (const [i, one] of batch.read.entries()) {
    const answer = isRefused(one) ? one : (applied.next().value as { result: string } | Refused)
    tally.lines++
    if (isRefused(answer)) {
      tally.rejected++
      rejected += renderRejectedLine(batch.lines[i] as Line, answer.refused, ingest.hidesText)
    } else tally.results[answer.result] = (tally.results[answer.result] ?? 0) + 1
  }
  if (rejected !== '') await errors.write(rejected)
  progress.update(tally.lines, batch.bytesRead)
}

function isRefused(answer: object): answer is Refused {
  return 'refused' in answer
}

function readLine<Item extends object, Result extends string>(
  { lineBytesMax, read }: Ingest<Services, Item, Result>,
  parseLine: ParsedInput['parseLine'],
  { line: { bytes, isTooLong }, now }: { line: Line; now: Date },
): Item | Refused {
  if (isTooLong) return { refused: lineTooLong(lineBytesMax) }
  const parsed = parseLine(bytes)
  return 'refused' in parsed ? parsed : read(parsed.value, now)
}

function renderSummary(
  { lines, results, rejected, interrupted }: Tally<string>,
  { dryRun, errorsFile, ms }: { dryRun: boolean; errorsFile: string | null; ms: number },
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
