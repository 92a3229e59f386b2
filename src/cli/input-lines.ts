/**
 * Opens the files and standard input of commands, and writes the rejected lines of a bulk input to
 * their own file, each with its number and reason.
 */
import { createReadStream, statSync, unlinkSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import type { Fault } from '../platform/json/shape-fault.ts'
import type { Line, LineBatch } from '../platform/line-batches.ts'
import { Failure, note, usageError } from './output.ts'
import { type OutputFile, openOutput } from './output-file.ts'

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

const textShownMax = 1_000

export function renderRejectedLine(
  { number, bytes, isTooLong }: Line,
  { field, reason }: Fault,
  hidesText = false,
): string {
  if (hidesText) return `${JSON.stringify({ line: number, field, reason })}\n`
  const whole = Buffer.from(bytes).toString('utf8')
  const text = isTooLong ? whole.slice(0, textShownMax) : whole
  return `${JSON.stringify({ line: number, field, reason, text })}\n`
}

/** Returns null if neither the input nor the errors file has a name. */
export function chooseErrorsFile({
  from,
  errors,
}: {
  from: string
  errors?: string
}): string | null {
  return errors ?? (from === '-' ? null : `${from}.errors.ndjson`)
}

/**
 * Opens the errors file. Without one, rejected lines are messages. The file is opened before any
 * line is read, so that a wrong path fails early; an empty file is deleted in the end.
 */
export async function openErrorsFile(file: string | null): Promise<OutputFile> {
  if (file === null)
    return { write: async (text) => note(text.trimEnd()), [Symbol.asyncDispose]: async () => {} }
  const sink = await openOutput(file)
  let isEmpty = true
  return {
    write(text) {
      isEmpty = false
      return sink.write(text)
    },
    async [Symbol.asyncDispose]() {
      await sink[Symbol.asyncDispose]()
      if (isEmpty && statSync(file, { throwIfNoEntry: false })?.isFile()) unlinkSync(file)
    },
  }
}

/** Throws if two options name the same file, because opening an output empties it. */
export function requireDifferentFiles(files: Record<string, string | null>): void {
  const identities = Object.values(files)
    .filter((file) => file !== null && file !== '-')
    .map((file, i) => identifyFile(`${file}`, i))
  if (new Set(identities).size < identities.length)
    throw usageError(`${formatList(Object.keys(files))} must be different files.`)
}

/**
 * Returns the same text for two names or links of one file. Devices such as /dev/null cannot be
 * emptied, so they may be named twice.
 */
function identifyFile(file: string, i: number): string {
  const info = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (info === undefined) return resolve(file)
  return info.isFile() ? `${info.dev}:${info.ino}` : `${i}`
}

function formatList(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
