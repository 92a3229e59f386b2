/** Reads files of lines. Memory is bounded by the longest line allowed, not by the file's size. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import type { LineEndFinder } from '../platform/parse-csv.ts'
import { Failure, usageError } from './fail.ts'

export interface Line {
  /** The line of the file on which it begins, counted from 1. */
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
  /** Finds line ends; by default each line feed is one. */
  lineEndFinder?: LineEndFinder
}

/** A batch of long lines ends early, so memory is bounded by this figure and one line more. */
const batchBytesMax = 4_194_304

/** Like `readLineBatches`, and ends at the signal, which closes the input. */
export async function* readLineBatchesUntil(
  signal: AbortSignal,
  chunks: Readable,
  limits: LineLimits,
): AsyncGenerator<LineBatch, undefined> {
  addAbortSignal(signal, chunks)
  try {
    for await (const batch of readLineBatches(chunks, limits)) {
      if (signal.aborted) return
      yield batch
    }
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
}

/** Yields batches of at most `batchMax` lines. Blank lines count for line numbers only. */
export async function* readLineBatches(
  chunks: AsyncIterable<Uint8Array>,
  limits: LineLimits,
): AsyncGenerator<LineBatch, undefined> {
  let lines: Line[] = []
  let bytes = 0
  let bytesRead = 0
  for await (const line of readLines(chunks, limits)) {
    bytesRead = line.end
    bytes += line.bytes.length
    if (!line.isBlank) lines.push(line)
    if (lines.length < limits.batchMax && bytes < batchBytesMax) continue
    yield { lines, bytesRead }
    lines = []
    bytes = 0
  }
  if (lines.length > 0) yield { lines, bytesRead }
}

const newline = 0x0a

const everyLineFeed: LineEndFinder = {
  next: (chunk, from) => chunk.indexOf(newline, from),
  takeLineFeeds: () => 0,
}

interface ReadLine extends Line {
  isBlank: boolean
  /** Offset in the input behind the line. */
  end: number
}

async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { bytesMax, lineEndFinder = everyLineFeed }: LineLimits,
): AsyncGenerator<ReadLine> {
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
    const whole = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts)
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

export interface Input {
  chunks: Readable
  /** Null if it is unknown. */
  bytesTotal: number | null
}

/** Opens a file, or standard input for `-`. Throws `Failure` if there is no such file. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') return { chunks: process.stdin, bytesTotal: null }
  try {
    const info = await stat(path)
    if (info.isDirectory()) throw usageError(`${path} is a folder`)
    return { chunks: createReadStream(path), bytesTotal: info.isFile() ? info.size : null }
  } catch (error) {
    throw inputFailure(path, error)
  }
}

/** Reads a small file. Throws `Failure` if there is none, or if it is larger than `bytesMax`. */
export async function readInput(path: string, bytesMax: number): Promise<Buffer> {
  const { chunks } = await openInput(path)
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > bytesMax) throw usageError(`${path} is larger than ${bytesMax} bytes`)
      parts.push(chunk)
    }
  } catch (error) {
    throw inputFailure(path, error)
  }
  return Buffer.concat(parts)
}

function inputFailure(path: string, error: unknown): Error {
  if (error instanceof Failure) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
  const problem = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`
  return usageError(`${path}: ${problem}`, { cause: error })
}
