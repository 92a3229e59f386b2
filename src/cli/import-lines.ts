/**
 * What every import shares: NDJSON or CSV in, a batch a transaction, refused lines in a file of their own with number, field and reason. A run
 * that was cut off is run again: `apply` must change nothing for what is there already.
 */
import { addAbortSignal } from 'node:stream'
import type { TSchema } from 'typebox'
import type { ActionContext } from '../audit/action.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { type CommandContext, withContext } from './context.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { type LineSource, openLines } from './line-source.ts'
import type { Line, LineBatch } from './lines.ts'
import type { Outcome } from './output.ts'
import { overlap, type Steps } from './overlap.ts'
import { type Progress, showProgress } from './progress.ts'
import {
  closed,
  errorSink,
  errorsFileOf,
  refusalLine,
  refuseSameFile,
  tooLong,
} from './refusals.ts'
import type { Sink } from './sink.ts'

export interface ImportFlags {
  from: string
  /** ndjson or csv; by the name of the file unless given. */
  format?: string
  errors?: string
  dryRun?: boolean
}

type Refused = { refused: Fault }

export interface Import<Item, Result extends string> {
  /** Of a line: the columns that a CSV file may have. */
  shape: TSchema
  lineBytesMax: number
  /** Lines a transaction; 256 unless given. */
  batchMax?: number
  /** The error file tells a refused line by its number alone: it may hold what is private. */
  hidesText?: boolean
  /** Everything that can become of a line that is not refused, in the order in which it is told. */
  results: readonly Result[]
  /** Checks one line by itself. */
  read(value: unknown, now: Date): Item | Refused
  /**
   * What an item speaks of, if it can be said: batches that share none of it may be applied at the same time. Unless given, they are applied
   * one after the other.
   */
  concerns?(item: Item): readonly string[] | null
  /** Applies a batch in one transaction. Returns an answer for each item, in order. */
  apply(context: ActionContext, items: readonly Item[]): Promise<({ result: Result } | Refused)[]>
}

const usualBatchMax = 256

export async function importLines<Item extends object, Result extends string>(
  flags: ImportFlags,
  what: Import<Item, Result>,
): Promise<Outcome> {
  keepMemoryFlat()
  const errorsFile = errorsFileOf(flags)
  refuseSameFile({ '--from': flags.from, '--errors': errorsFile })
  const { lineBytesMax: bytesMax, batchMax = usualBatchMax, shape } = what
  const source = await openLines(flags, { bytesMax, batchMax, shape })
  return withContext(
    async (context) => {
      const { db, signal } = context
      addAbortSignal(signal, source.chunks)
      await using closing = new AsyncDisposableStack()
      const errors = closed(await errorSink(errorsFile), closing)
      const progress = showProgress(source.bytesTotal)
      closing.defer(() => progress.end())
      const startedAt = performance.now()
      const { dryRun = false } = flags
      const run = { ...context, db: dryRun ? rollingBack(db) : db, what, errors, progress }
      const tally = await readAll(run, source)
      return summary(tally, { dryRun, errorsFile, ms: performance.now() - startedAt })
    },
    { watchesSignal: true },
  )
}

interface Run<Item, Result extends string> extends CommandContext {
  what: Import<Item, Result>
  errors: Sink
  progress: Progress
}

interface Tally<Result extends string> {
  lines: number
  results: Record<Result, number>
  rejected: number
  interrupted: boolean
}

/** When the signal comes, what is in hand is committed, and nothing else is begun. */
async function readAll<Item extends object, Result extends string>(
  run: Run<Item, Result>,
  source: LineSource,
): Promise<Tally<Result>> {
  const { what, signal } = run
  const results = Object.fromEntries(what.results.map((result) => [result, 0]))
  const tally: Tally<string> = { lines: 0, results, rejected: 0, interrupted: false }
  try {
    const steps: Steps<ReadBatch<Item>, ({ result: Result } | Refused)[]> = {
      concerns: ({ items }) => concernsOf(what, items),
      apply: ({ items, now }) => what.apply({ ...run, clock: () => now }, items),
      tell: (batch, answers) => tell(run, batch, { answers, tally }),
    }
    await overlap(readBatches(run, source), steps, signal)
  } catch (error) {
    // The input was closed under us, on the operator's word.
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
  tally.interrupted = signal.aborted
  return tally
}

interface ReadBatch<Item> extends LineBatch {
  /** Of each line. */
  read: (Item | Refused)[]
  /** Those that were not refused. */
  items: Item[]
  now: Date
}

async function* readBatches<Item extends object, Result extends string>(
  { what }: Run<Item, Result>,
  { batches, valueOf }: LineSource,
): AsyncGenerator<ReadBatch<Item>> {
  for await (const batch of batches) {
    const now = new Date()
    const read = batch.lines.map((line) => readLine(what, valueOf, { line, now }))
    const items = read.filter((one): one is Item => !('refused' in one))
    yield { ...batch, read, items, now }
  }
}

function concernsOf<Item, Result extends string>(
  what: Import<Item, Result>,
  items: readonly Item[],
): ReadonlySet<string> | null {
  const all = new Set<string>()
  for (const item of items) {
    const concerns = what.concerns?.(item) ?? null
    if (concerns === null) return null
    for (const one of concerns) all.add(one)
  }
  return all
}

async function tell<Item extends object, Result extends string>(
  { what, errors, progress }: Run<Item, Result>,
  batch: ReadBatch<Item>,
  { answers, tally }: { answers: readonly ({ result: Result } | Refused)[]; tally: Tally<string> },
): Promise<void> {
  const applied = answers.values()
  let refusals = ''
  for (const [i, one] of batch.read.entries()) {
    const answer = isRefused(one) ? one : (applied.next().value as { result: string } | Refused)
    tally.lines++
    if (isRefused(answer)) {
      tally.rejected++
      refusals += refusalLine(batch.lines[i] as Line, answer.refused, what.hidesText)
    } else tally.results[answer.result] = (tally.results[answer.result] ?? 0) + 1
  }
  if (refusals !== '') await errors.write(refusals)
  progress.at(tally.lines, batch.bytesRead)
}

function isRefused(answer: object): answer is Refused {
  return 'refused' in answer
}

function readLine<Item, Result extends string>(
  { lineBytesMax, read }: Import<Item, Result>,
  valueOf: LineSource['valueOf'],
  { line: { bytes, isTooLong }, now }: { line: Line; now: Date },
): Item | Refused {
  if (isTooLong) return { refused: tooLong(lineBytesMax) }
  const found = valueOf(bytes)
  return 'refused' in found ? found : read(found.value, now)
}

/** The same database, whose transactions return their result and roll back. */
function rollingBack(db: Db): Db {
  return {
    ...db,
    async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
      const results: Result[] = []
      const rolledBack = new Error('dry run')
      try {
        await db.transaction(async (tx) => {
          results[0] = await work(tx)
          throw rolledBack
        })
      } catch (error) {
        if (error !== rolledBack) throw error
      }
      return results[0] as Result
    },
  }
}

function summary(
  { lines, results, rejected, interrupted }: Tally<string>,
  { dryRun, errorsFile, ms }: { dryRun: boolean; errorsFile: string | null; ms: number },
): Outcome {
  const ok = rejected === 0 && !interrupted
  const linesPerSecond = Math.round((lines * 1_000) / Math.max(ms, 1))
  const counts = Object.entries({ ...results, rejected }).map(
    ([result, count]) => `${count} ${result}`,
  )
  const told = [`${lines} lines: ${counts.join(', ')} (${linesPerSecond} lines/s)`]
  if (dryRun) told.push('Dry run: nothing was changed.')
  // Without a refused line there is no file.
  const errors = rejected > 0 ? errorsFile : null
  if (errors !== null) told.push(`The rejected lines are in ${errors}.`)
  if (interrupted)
    told.push('Interrupted. Run the command again: lines that were applied change nothing.')
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
    lines: told,
  }
}
