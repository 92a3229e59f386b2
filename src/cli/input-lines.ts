/** Opens the files and standard input of commands. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import type { LineBatch } from '../platform/line-batches.ts'
import { Failure, usageError } from './fail.ts'

/** Yields the batches of `chunks` until the signal, which closes the input. */
export async function* batchesUntil(
  signal: AbortSignal,
  chunks: Readable,
  batches: AsyncIterable<LineBatch> | Iterable<LineBatch>,
): AsyncGenerator<LineBatch, undefined> {
  addAbortSignal(signal, chunks)
  try {
    for await (const batch of batches) {
      if (signal.aborted) return
      yield batch
    }
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
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
