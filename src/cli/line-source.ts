/** The lines of an input and what each of them says, in NDJSON or CSV. */
import type { TSchema } from 'typebox'
import type { Fault } from '../platform/json/shape-fault.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { csvLineEnds } from './csv.ts'
import { csvReader, HeaderRefused } from './csv-columns.ts'
import { usageError } from './fail.ts'
import { type Input, type LineBatch, type LineLimits, lineBatches, openInput } from './lines.ts'
import { tooLong } from './refusals.ts'

export interface LineSource extends Input {
  /** In CSV without the header. */
  batches: AsyncIterable<LineBatch>
  valueOf(line: Uint8Array): { value: unknown } | { refused: Fault }
}

export interface SourceFlags {
  from: string
  /** ndjson or csv; by the name of the file unless given. */
  format?: string
}

/** `shape` is of a line: it says which columns a CSV file may have. */
type Limits = LineLimits & { shape: TSchema }

/** Throws `Failure` where there is no such file, or its header names what is no field. */
export async function openLines(flags: SourceFlags, limits: Limits): Promise<LineSource> {
  const format = formatOf(flags)
  const input = await openInput(flags.from)
  return format === 'csv' ? csvSource(input, limits) : ndjsonSource(input, limits)
}

const formats = ['ndjson', 'csv']

function formatOf({ from, format }: SourceFlags): string {
  const chosen = format ?? (from.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson')
  if (!formats.includes(chosen)) throw usageError(`--format is ${formats.join(' or ')}`)
  return chosen
}

function ndjsonSource(input: Input, limits: Limits): LineSource {
  return {
    ...input,
    batches: lineBatches(input.chunks, limits),
    valueOf(line) {
      const json = parseStrictJson(line)
      if (json.kind === 'value') return json
      return { refused: { field: null, reason: json.why.replace('The body', 'The line') } }
    },
  }
}

/** Reads the header: a column that is no field is told before anything else is done. */
async function csvSource(input: Input, limits: Limits): Promise<LineSource> {
  const lines = lineBatches(input.chunks, { ...limits, lineEnds: csvLineEnds() })
  const { value: first } = await lines.next()
  const [header, ...rest] = first?.lines ?? []
  try {
    if (header === undefined) throw new HeaderRefused('The file is empty: a header is needed.')
    if (header.isTooLong) throw new HeaderRefused(tooLong(limits.bytesMax).reason)
    const valueOf = csvReader(header.bytes, limits.shape)
    const { bytesRead = 0 } = first ?? {}
    return { ...input, batches: chained({ lines: rest, bytesRead }, lines), valueOf }
  } catch (error) {
    input.chunks.destroy()
    throw error instanceof HeaderRefused ? usageError(error.message, { cause: error }) : error
  }
}

async function* chained(first: LineBatch, rest: AsyncIterable<LineBatch>) {
  yield first
  yield* rest
}
