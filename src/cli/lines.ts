/** Reading files of lines, however large: memory is bounded by the longest line allowed, not by the file. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { Failure, usageError } from './fail.ts'

export interface Line {
  /** Of the file's lines, the one it begins on; the first is 1. */
  number: number
  /** Without the line end; of a line that is too long, its beginning. */
  bytes: Uint8Array
  isTooLong: boolean
}

export interface LineBatch {
  lines: Line[]
  /** How far into the input the batch reaches. */
  bytesRead: number
}

export interface LineLimits {
  /** Of a line. */
  bytesMax: number
  /** Of a batch, in lines. */
  batchMax: number
  /** Where a line ends; at every line feed unless given. */
  lineEnds?: LineEnds
}

/** Finds line ends in the chunks of one input, which it is given in order. */
export interface LineEnds {
  /** Where the line that holds `chunk[from]` ends; -1 where it goes on in the next chunk. */
  next(chunk: Uint8Array, from: number): number
  /** How many line feeds it has passed over since it was asked last: they are part of a line. */
  takePassed(): number
}

/** A batch is given away early where its lines are long: memory is bounded by this and one line more. */
const batchBytesMax = 4_194_304

/** Batches of at most `batchMax` lines. Blank lines are counted and left out. */
export async function* lineBatches(
  chunks: AsyncIterable<Uint8Array>,
  limits: LineLimits,
): AsyncGenerator<LineBatch, undefined> {
  let lines: Line[] = []
  let bytes = 0
  let bytesRead = 0
  for await (const line of linesOf(chunks, limits)) {
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

const everyLineFeed: LineEnds = {
  next: (chunk, from) => chunk.indexOf(newline, from),
  takePassed: () => 0,
}

interface ReadLine extends Line {
  isBlank: boolean
  /** Offset behind the line. */
  end: number
}

async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  { bytesMax, lineEnds = everyLineFeed }: LineLimits,
): AsyncGenerator<ReadLine> {
  let next = 1
  let offset = 0
  let held: Uint8Array[] = []
  let heldBytes = 0

  function hold(part: Uint8Array): void {
    // One byte more than allowed is enough to know that it is too long, and another may be half of the line end.
    const wanted = bytesMax + 2 - heldBytes
    if (wanted <= 0 || part.length === 0) return
    held.push(part.length > wanted ? part.subarray(0, wanted) : part)
    heldBytes += Math.min(part.length, wanted)
  }
  function take(): ReadLine {
    const number = next
    next += 1 + lineEnds.takePassed()
    const whole = held.length === 1 ? (held[0] as Uint8Array) : Buffer.concat(held)
    const bytes = whole.at(-1) === 0x0d ? whole.subarray(0, -1) : whole
    const isTooLong = bytes.length > bytesMax
    held = []
    heldBytes = 0
    return { number, bytes, isTooLong, isBlank: bytes.length === 0, end: offset }
  }

  for await (const chunk of chunks) {
    let start = 0
    for (let at = lineEnds.next(chunk, 0); at !== -1; at = lineEnds.next(chunk, start)) {
      hold(chunk.subarray(start, at))
      offset += at + 1 - start
      start = at + 1
      yield take()
    }
    hold(chunk.subarray(start))
    offset += chunk.length - start
  }
  if (heldBytes > 0) yield take()
}

export interface Input {
  chunks: Readable
  /** Null where it cannot be known. */
  bytesTotal: number | null
}

/** A file, or standard input for `-`. Throws `Failure` where there is no such file. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') return { chunks: process.stdin, bytesTotal: null }
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw usageError(`${path} is a folder`)
    return { chunks: createReadStream(path), bytesTotal: found.isFile() ? found.size : null }
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** The whole of a small file. Throws `Failure` where there is none, or it is larger than `bytesMax`. */
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
    throw unreadable(path, error)
  }
  return Buffer.concat(parts)
}

function unreadable(path: string, error: unknown): Error {
  if (error instanceof Failure) return error
  const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
  const told = why === 'ENOENT' ? 'there is no such file' : `it cannot be read (${why})`
  return usageError(`${path}: ${told}`, { cause: error })
}
