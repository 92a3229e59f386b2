/** Reading files of lines, however large: memory is bounded by the longest line allowed, not by the file. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { UsageError } from './run.ts'

export interface Line {
  /** The first is 1. */
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

/** Batches of at most `batchMax` lines. Blank lines are counted and left out. */
export async function* lineBatches(
  chunks: AsyncIterable<Uint8Array>,
  { bytesMax, batchMax }: { bytesMax: number; batchMax: number },
): AsyncGenerator<LineBatch> {
  let lines: Line[] = []
  let bytesRead = 0
  for await (const line of linesOf(chunks, bytesMax)) {
    bytesRead = line.end
    if (!line.isBlank) lines.push(line)
    if (lines.length < batchMax) continue
    yield { lines, bytesRead }
    lines = []
  }
  if (lines.length > 0) yield { lines, bytesRead }
}

const newline = 0x0a

interface ReadLine extends Line {
  isBlank: boolean
  /** Offset behind the line. */
  end: number
}

async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<ReadLine> {
  let number = 0
  let offset = 0
  let held: Uint8Array[] = []
  let heldBytes = 0

  function hold(part: Uint8Array): void {
    // One byte more than allowed is enough to know that it is too long.
    const wanted = bytesMax + 1 - heldBytes
    if (wanted <= 0 || part.length === 0) return
    held.push(part.length > wanted ? part.subarray(0, wanted) : part)
    heldBytes += Math.min(part.length, wanted)
  }
  function take(): ReadLine {
    number++
    const whole = held.length === 1 ? (held[0] as Uint8Array) : Buffer.concat(held)
    const isTooLong = whole.length > bytesMax
    const bytes = whole.at(-1) === 0x0d && !isTooLong ? whole.subarray(0, -1) : whole
    held = []
    heldBytes = 0
    return { number, bytes, isTooLong, isBlank: bytes.length === 0, end: offset }
  }

  for await (const chunk of chunks) {
    let start = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, start)) {
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

/** A file, or standard input for `-`. Throws `UsageError` where there is no such file. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') return { chunks: process.stdin, bytesTotal: null }
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw new UsageError(`${path} is a folder`)
    return { chunks: createReadStream(path), bytesTotal: found.isFile() ? found.size : null }
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** The whole of a small file. Throws `UsageError` where there is none, or it is larger than `bytesMax`. */
export async function readInput(path: string, bytesMax: number): Promise<Buffer> {
  const { chunks } = await openInput(path)
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new UsageError(`${path} is larger than ${bytesMax} bytes`)
      parts.push(chunk)
    }
  } catch (error) {
    throw unreadable(path, error)
  }
  return Buffer.concat(parts)
}

function unreadable(path: string, error: unknown): Error {
  if (error instanceof UsageError) return error
  const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
  const told = why === 'ENOENT' ? 'there is no such file' : `it cannot be read (${why})`
  return new UsageError(`${path}: ${told}`, { cause: error })
}
