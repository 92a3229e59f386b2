/** Reads lines from chunks. Memory is bounded by the longest line allowed, not by the input. */
import { csvRecordEnds, type LineEndFinder } from './csv.ts'
import type { Fault } from './json/shape-fault.ts'

export interface Line {
  /** The line of the input on which it begins, counted from 1. */
  number: number
  /** Without the line end. A line that is too long is cut off. */
  bytes: Uint8Array
  isTooLong: boolean
}

export interface LineBatch {
  lines: Line[]
  /** Bytes from the start of the input to the end of the batch. */
  bytesRead: number
}

export interface LineLimits {
  /** The longest line allowed. */
  bytesMax: number
  /** Lines in a batch. */
  batchMax: number
  /** Whether a line feed within quotes belongs to its line. */
  isCsv?: boolean
}

/** A batch of long lines ends early, so memory is bounded by this figure and one line more. */
const batchBytesMax = 4_194_304

export function lineTooLong(bytesMax: number): Fault {
  return { field: null, reason: `The line is longer than ${bytesMax} bytes.` }
}

/**
 * Yields batches of at most `batchMax` lines. Blank lines count for line numbers only. The header of
 * CSV is a batch of its own, because its reader waits for it.
 */
export async function* readLineBatches(
  chunks: Chunks,
  limits: LineLimits,
): AsyncGenerator<LineBatch, undefined> {
  let lines: Line[] = []
  let bytes = 0
  let bytesRead = 0
  let linesMax = limits.isCsv === true ? 1 : limits.batchMax
  for await (const line of readLines(chunks, limits)) {
    bytesRead = line.end
    bytes += line.bytes.length
    if (!line.isBlank) lines.push(line)
    if (lines.length < linesMax && bytes < batchBytesMax) continue
    yield { lines, bytesRead }
    linesMax = limits.batchMax
    lines = []
    bytes = 0
  }
  if (lines.length > 0) yield { lines, bytesRead }
}

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

const everyLineFeed: LineEndFinder = {
  next: (chunk, from) => chunk.indexOf(0x0a, from),
  takeLineFeeds: () => 0,
}

interface ReadLine extends Line {
  isBlank: boolean
  /** Offset in the input behind the line. */
  end: number
}

async function* readLines(
  chunks: Chunks,
  { bytesMax, isCsv = false }: LineLimits,
): AsyncGenerator<ReadLine> {
  const lineEndFinder = isCsv ? csvRecordEnds() : everyLineFeed
  let next = 1
  let offset = 0
  let parts: Uint8Array[] = []
  let partsBytes = 0

  function addPart(part: Uint8Array): void {
    // One byte above the limit shows that the line is too long; another may be half of the line
    // end.
    const wanted = bytesMax + 2 - partsBytes
    if (wanted <= 0 || part.length === 0) return
    parts.push(part.length > wanted ? part.subarray(0, wanted) : part)
    partsBytes += Math.min(part.length, wanted)
  }
  function takeLine(): ReadLine {
    const number = next
    next += 1 + lineEndFinder.takeLineFeeds()
    // A copy, because a part keeps its whole chunk in memory.
    const whole = Buffer.concat(parts)
    const bytes = whole.at(-1) === 0x0d ? whole.subarray(0, -1) : whole
    const isTooLong = bytes.length > bytesMax
    parts = []
    partsBytes = 0
    return { number, bytes, isTooLong, isBlank: bytes.length === 0, end: offset }
  }

  for await (const chunk of chunks) {
    let start = 0
    for (let at = lineEndFinder.next(chunk, 0); at !== -1; at = lineEndFinder.next(chunk, start)) {
      addPart(chunk.subarray(start, at))
      offset += at + 1 - start
      start = at + 1
      yield takeLine()
    }
    addPart(chunk.subarray(start))
    offset += chunk.length - start
  }
  if (partsBytes > 0) yield takeLine()
}
