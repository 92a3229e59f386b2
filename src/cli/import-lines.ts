/**
 * The loop of every import: reads NDJSON or CSV, applies each batch in one transaction, and writes
 * rejected lines to their own file with number, field and reason. The operator repeats a run that
 * was cut off, so `apply` must change nothing for lines that it has applied before.
 */
import { addAbortSignal } from 'node:stream'
import type { TSchema } from 'typebox'
import type { ActionContext } from '../audit/action.ts'
import { rollingBack } from '../operations/rolling-back.ts'
import { counted } from '../platform/counted.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { type BatchSteps, runBatches } from './batch-pipeline.ts'
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

type Refused = { refused: Fault }

export interface LineImport<Item, Result extends string> {
  /** The schema of a line. It decides which columns a CSV file may have. */
  shape: TSchema
  lineBytesMax: number
  /** Lines in a transaction, 256 by default. */
  batchMax?: number
  /** Leaves the text of rejected lines out of the errors file, because it may be private. */
  hidesText?: boolean
  /** The results of accepted lines, in the order of the summary. */
  results: readonly Result[]
  /** Checks one line by itself. */
  read(value: unknown, now: Date): Item | Refused
  /**
   * Names everything that an item may change, or null if that is unknown. Batches that share no key
   * may be applied at the same time; without this function they are applied one after the other.
   */
  keysOf?(item: Item): readonly string[] | null
  /** Applies a batch in one transaction. Returns an answer for each item, in order. */
  apply(context: ActionContext, items: readonly Item[]): Promise<({ result: Result } | Refused)[]>
  /** Is called after the last batch, also after a signal, but not after a failure. */
  end?(context: ActionContext): Promise<void>
}

const usualBatchMax = 256

export async function importLines<Item extends object, Result extends string>(
  flags: ImportFlags,
  importer: LineImport<Item, Result>,
): Promise<Outcome> {
  const errorsFile = chooseErrorsFile(flags)
  requireDifferentFiles({ '--from': flags.from, '--errors': errorsFile })
  const { lineBytesMax: bytesMax, batchMax = usualBatchMax, shape } = importer
  const source = await openParsedInput(flags, { bytesMax, batchMax, shape })
  return withContext(
    async (context) => {
      const { db, signal } = context
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
        importer,
        errors,
        progress,
      }
      const tally = await readAll(run, source)
      await importer.end?.(run)
      return renderSummary(tally, { dryRun, errorsFile, ms: performance.now() - startedAt })
    },
    { watchesSignal: true },
  )
}

interface Run<Item, Result extends string> extends CommandContext {
  importer: LineImport<Item, Result>
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
  const { importer, signal } = run
  const results = Object.fromEntries(importer.results.map((result) => [result, 0]))
  const tally: Tally<string> = { lines: 0, results, rejected: 0, interrupted: false }
  try {
    const steps: BatchSteps<ReadBatch<Item>, ({ result: Result } | Refused)[]> = {
      keysOf: ({ items }) => collectKeys(importer, items),
      apply: ({ items, now }) => importer.apply({ ...run, clock: () => now }, items),
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
  { importer }: Run<Item, Result>,
  { batches, parseLine }: ParsedInput,
): AsyncGenerator<ReadBatch<Item>> {
  for await (const batch of batches) {
    const now = new Date()
    const read = batch.lines.map((line) => readLine(importer, parseLine, { line, now }))
    const items = read.filter((one): one is Item => !('refused' in one))
    yield { ...batch, read, items, now }
  }
}

function collectKeys<Item, Result extends string>(
  importer: LineImport<Item, Result>,
  items: readonly Item[],
): ReadonlySet<string> | null {
  const all = new Set<string>()
  for (const item of items) {
    const keys = importer.keysOf?.(item) ?? null
    if (keys === null) return null
    for (const one of keys) all.add(one)
  }
  return all
}

async function reportBatch<Item extends object, Result extends string>(
  { importer, errors, progress }: Run<Item, Result>,
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
      rejected += renderRejectedLine(batch.lines[i] as Line, answer.refused, importer.hidesText)
    } else tally.results[answer.result] = (tally.results[answer.result] ?? 0) + 1
  }
  if (rejected !== '') await errors.write(rejected)
  progress.update(tally.lines, batch.bytesRead)
}

function isRefused(answer: object): answer is Refused {
  return 'refused' in answer
}

function readLine<Item, Result extends string>(
  { lineBytesMax, read }: LineImport<Item, Result>,
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
