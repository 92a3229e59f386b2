/**
 * Bulk input: lines that are checked one by one and applied in batches. The command line reads a
 * file through a declaration, the operator API the body of a request.
 *
 * Each batch is one transaction. If a request breaks off, repeating all of it is right: a line that
 * was applied before changes nothing.
 */
import type { TSchema } from 'typebox'
import type { ActionName } from '../audit/actions.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { nameRequest } from '../platform/db/name-request.ts'
import type { LinesBody } from '../platform/http/contract.ts'
import { type Refusal, refuse } from '../platform/http/errors.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { csvRecordEnds, type LineEndFinder } from '../platform/parse-csv.ts'
import { CsvHeaderError, csvRecordParser } from '../platform/parse-csv-record.ts'
import type { Done, Who } from './operation.ts'
import { type OperationCaller, type Performer, recordEntries, whyForbidden } from './perform.ts'
import { rollingBack } from './rolling-back.ts'

export type Refused = { refused: Fault }

/** What the lines of one input share. */
export interface IngestCall<Services> {
  by: string
  /** Names the input that the batches belong to. UUID. */
  importId: string
  services: Services
}

type LineAnswer<Result> = { result: Result } | Refused

/** A batch of any ingest: its answers and the entries of the audit log. */
export type Applied<Result, Name extends ActionName> = Pick<
  Done<readonly LineAnswer<Result>[], Name>,
  'output' | 'entries'
>

export interface Ingest<
  Services,
  Item extends object,
  Result extends string,
  Name extends ActionName = ActionName,
> {
  /** The operation id in words, such as `workers import`. */
  name: string
  http: `POST /${string}`
  summary: string
  who: Who
  /** The row of the audit log. A batch has one entry, if it changed something. */
  audit: Name
  /** The schema of a line. */
  line: TSchema
  lineBytesMax: number
  /** Lines in a transaction. */
  batchMax: number
  /** The results of accepted lines, in the order of the summary. */
  results: readonly Result[]
  /** A line of the example in the document. */
  example: object
  /** Leaves the text of rejected lines out of an errors file, because it may be private. */
  hidesText?: true
  /** Checks one line by itself. */
  read(value: unknown, now: Date): Item | Refused
  /**
   * Names everything that an item may change, or null if that is unknown. Batches that share no key
   * may be applied at the same time; without this function they are applied one after the other.
   */
  keysOf?(item: Item): readonly string[] | null
  /** Applies a batch. Its output is an answer for each item, in order. */
  apply(
    tx: Tx,
    items: readonly Item[],
    call: IngestCall<Services> & { now: Date },
  ): Promise<Applied<Result, Name>>
}

/** An ingest of any types, as the doors see it. */
export interface AnyIngest<Services>
  extends Omit<Ingest<Services, object, string>, 'read' | 'keysOf' | 'apply'> {
  read(value: unknown, now: Date): object
  keysOf?: (item: never) => readonly string[] | null
  apply: (
    tx: Tx,
    items: never,
    call: IngestCall<Services> & { now: Date },
  ) => Promise<Applied<string, ActionName>>
}

export interface BatchContext {
  db: Db
  clock: Clock
  /** Named in the audit log. */
  actor: string
  /** The HTTP request that brings the lines, if one does. */
  requestId?: string | undefined
}

/**
 * Applies a batch in one transaction and writes its audit entry there, so after a kill the audit
 * log shows exactly what was applied.
 */
export function applyBatch<Services, Item extends object, Result extends string>(
  { db, clock, actor, requestId }: BatchContext,
  { apply, audit }: Pick<Ingest<Services, Item, Result>, 'apply' | 'audit'>,
  items: readonly Item[],
  call: IngestCall<Services>,
): Promise<readonly LineAnswer<Result>[]> {
  return db.transaction(async (tx) => {
    if (requestId !== undefined) await nameRequest(tx, requestId)
    const now = clock()
    const applied = await apply(tx, items, { ...call, now })
    await recordEntries(tx, audit, applied, { actor, now })
    return applied.output
  })
}

/** Lines of one request. */
const linesMax = 10_000
/** Rejected lines that an answer names; the others are counted. */
const namedMax = 1_000

export interface RejectedLine extends Fault {
  /** Counted from 1. */
  line: number
}

export interface IngestAnswer {
  lines: number
  /** Lines of each result, and the rejected ones. */
  counts: Record<string, number>
  rejectedLines: RejectedLine[]
}

interface Body extends LinesBody {
  importId: string
  isDryRun: boolean
}

/** Applies the lines of a body. */
export async function performIngest<Services>(
  { db, clock, services }: Performer<Services>,
  ingest: AnyIngest<Services>,
  caller: OperationCaller,
  { importId, isDryRun, ...body }: Body,
): Promise<IngestAnswer | Refusal> {
  const forbidden = whyForbidden(ingest.who, caller)
  if (forbidden !== null) return refuse(forbidden)
  const opened = openLines(body, ingest)
  if ('refusal' in opened) return opened
  const { lines, parse } = opened
  if (lines.length > linesMax)
    return refuse('payload_too_large', {
      message: `The body has ${lines.length} lines. Send at most ${linesMax} in a request.`,
    })
  const typed = ingest as unknown as Ingest<Services, object, string>
  const { actor, requestId } = caller
  const context = { db: isDryRun ? rollingBack(db) : db, actor, clock, requestId }
  const call = { by: caller.by, importId, services }
  const counts = Object.fromEntries([...ingest.results, 'rejected'].map((name) => [name, 0]))
  const rejectedLines: RejectedLine[] = []
  for (let from = 0; from < lines.length; from += ingest.batchMax) {
    const batch = lines.slice(from, from + ingest.batchMax)
    const checked = batch.map((line) => {
      const parsed = parse(line)
      return 'refused' in parsed ? parsed : typed.read(parsed.value, clock())
    })
    const items = checked.filter((one) => !('refused' in one))
    const applied = (
      items.length === 0 ? [] : await applyBatch(context, typed, items, call)
    ).values()
    for (const [i, one] of checked.entries()) {
      const answer = 'refused' in one ? (one as Refused) : applied.next().value
      if (answer === undefined) throw new Error(`${ingest.name}: a line got no answer`)
      const result = 'refused' in answer ? 'rejected' : answer.result
      counts[result] = (counts[result] ?? 0) + 1
      if ('refused' in answer && rejectedLines.length < namedMax)
        rejectedLines.push({ line: batch[i]?.number ?? 0, ...answer.refused })
    }
  }
  return { lines: lines.length, counts, rejectedLines }
}

interface Line {
  number: number
  bytes: Buffer
}

type Parsed = { value: unknown } | Refused

interface OpenedLines {
  lines: Line[]
  parse(line: Line): Parsed
}

/** Refused if the body is CSV and its header names no field. */
function openLines(
  { bytes, isCsv }: LinesBody,
  { line: shape, lineBytesMax }: { line: TSchema; lineBytesMax: number },
): OpenedLines | Refusal {
  const lines = linesOf(bytes, isCsv ? csvRecordEnds() : everyLineFeed)
  const parse = isCsv ? csvParser(lines.shift(), shape) : parseJson
  if (typeof parse !== 'function') return parse
  return {
    lines,
    parse: (line) =>
      line.bytes.length > lineBytesMax
        ? { refused: { field: null, reason: `The line is longer than ${lineBytesMax} bytes.` } }
        : parse(line.bytes),
  }
}

function csvParser(header: Line | undefined, shape: TSchema) {
  if (header === undefined)
    return refuse('invalid_field', { message: 'The body is empty: a header line is needed.' })
  try {
    return csvRecordParser(header.bytes, shape)
  } catch (error) {
    if (!(error instanceof CsvHeaderError)) throw error
    return refuse('invalid_field', { message: error.message })
  }
}

function parseJson(bytes: Uint8Array): Parsed {
  const json = parseStrictJson(bytes)
  return json.kind === 'value'
    ? json
    : { refused: { field: null, reason: json.why.replace('The body', 'The line') } }
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

const everyLineFeed: LineEndFinder = {
  next: (chunk, from) => chunk.indexOf(lineFeed, from),
  takeLineFeeds: () => 0,
}

/** Returns the lines that are not blank. Blank lines count for line numbers only. */
function linesOf(bytes: Buffer, ends: LineEndFinder): Line[] {
  const lines: Line[] = []
  for (let from = 0, number = 1; from < bytes.length; ) {
    const feed = ends.next(bytes, from)
    const end = feed === -1 ? bytes.length : feed
    const line = bytes.subarray(from, bytes[end - 1] === carriageReturn ? end - 1 : end)
    if (/\S/.test(line.toString('latin1', 0, 1_024))) lines.push({ number, bytes: line })
    number += 1 + ends.takeLineFeeds()
    from = end + 1
  }
  return lines
}
