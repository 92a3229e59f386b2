/** Parses the lines of an input as NDJSON or CSV. */
import type { TSchema } from 'typebox'
import type { Fault } from '../platform/json/shape-fault.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { csvRecordEnds } from '../platform/parse-csv.ts'
import { CsvHeaderError, csvRecordParser } from '../platform/parse-csv-record.ts'
import { usageError } from './fail.ts'
import {
  type Input,
  type LineBatch,
  type LineLimits,
  openInput,
  readLineBatches,
} from './input-lines.ts'
import { lineTooLong } from './rejected-lines.ts'

export interface ParsedInput extends Input {
  /** In CSV, the header is left out. */
  batches: AsyncIterable<LineBatch>
  parseLine(line: Uint8Array): { value: unknown } | { refused: Fault }
}

export interface InputFlags {
  from: string
  /** ndjson or csv; the file's extension decides if it is absent. */
  format?: string
}

/** `shape` is the schema of a line. It decides which columns a CSV file may have. */
type Limits = LineLimits & { shape: TSchema }

/** Throws `Failure` if there is no such file, or if its header names an unknown field. */
export async function openParsedInput(flags: InputFlags, limits: Limits): Promise<ParsedInput> {
  const format = chooseFormat(flags)
  const input = await openInput(flags.from)
  return format === 'csv' ? openCsv(input, limits) : openNdjson(input, limits)
}

const formats = ['ndjson', 'csv']

function chooseFormat({ from, format }: InputFlags): string {
  const chosen = format ?? (from.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson')
  if (!formats.includes(chosen)) throw usageError(`--format is ${formats.join(' or ')}`)
  return chosen
}

function openNdjson(input: Input, limits: Limits): ParsedInput {
  return {
    ...input,
    batches: readLineBatches(input.chunks, limits),
    parseLine(line) {
      const json = parseStrictJson(line)
      if (json.kind === 'value') return json
      return { refused: { field: null, reason: json.why.replace('The body', 'The line') } }
    },
  }
}

/** Reads the header first, so that an unknown column is reported before any line is applied. */
async function openCsv(input: Input, limits: Limits): Promise<ParsedInput> {
  const lines = readLineBatches(input.chunks, { ...limits, lineEndFinder: csvRecordEnds() })
  const { value: first } = await lines.next()
  const [header, ...rest] = first?.lines ?? []
  try {
    if (header === undefined) throw new CsvHeaderError('The file is empty: a header is needed.')
    if (header.isTooLong) throw new CsvHeaderError(lineTooLong(limits.bytesMax).reason)
    const valueOf = csvRecordParser(header.bytes, limits.shape)
    const { bytesRead = 0 } = first ?? {}
    return { ...input, batches: chained({ lines: rest, bytesRead }, lines), parseLine: valueOf }
  } catch (error) {
    input.chunks.destroy()
    throw error instanceof CsvHeaderError ? usageError(error.message, { cause: error }) : error
  }
}

async function* chained(first: LineBatch, rest: AsyncIterable<LineBatch>) {
  yield first
  yield* rest
}
