/**
 * Writes lines to a file or to standard output, no faster than its reader takes them. So a command
 * writes everything of a kind, one object a line, in bounded memory.
 */
import { open } from 'node:fs/promises'
import { counted } from '../platform/counted.ts'
import { done, failure, interrupted, type Outcome, usageError } from './output.ts'

/** Disposed, when a file is on the disk. */
export interface OutputFile extends AsyncDisposable {
  /** Resolves when the operating system has taken the text. */
  write(text: string): Promise<void>
}

/** Opens and empties a file, or standard output for `-`. A new file gets `mode`. */
export function openOutput(path: string, mode = 0o666): Promise<OutputFile> {
  return path === '-' ? Promise.resolve(standardOutput()) : openFile(path, mode)
}

async function openFile(path: string, mode: number): Promise<OutputFile> {
  const file = await open(path, 'w', mode).catch((error: unknown) => {
    throw usageError(`${path} cannot be written (${describeError(error)})`, { cause: error })
  })
  return {
    write: (text) => file.writeFile(text).catch(failWrite(path)),
    [Symbol.asyncDispose]: async () => {
      // A pipe or a terminal named as a file cannot be synced.
      await file.sync().catch(() => undefined)
      await file.close()
    },
  }
}

function standardOutput(): OutputFile {
  return {
    write: (text) =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
      }).catch(failWrite('Standard output')),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/**
 * For `catch`. The lines were applied although they were not written, so the message says how to go
 * on.
 */
function failWrite(place: string): (error: unknown) => never {
  return (error) => {
    throw failure(
      `${place} did not take everything (${describeError(error)}). Make room or name another file, and run the same command again: a line with an id takes effect once.`,
      { cause: error },
    )
  }
}

function describeError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const descriptions: Record<string, string> = {
    ENOSPC: 'no space is left',
    EPIPE: 'its reader went away',
    EACCES: 'this user may not',
    ENOENT: 'there is no such folder',
    EISDIR: 'it is a folder',
  }
  return descriptions[code] ?? (code === '' ? 'unknown reason' : code)
}

export const outOption = [
  '--out <file>',
  'a file that only you can read; - is standard output',
  '-',
] as const

export interface ExportFlags {
  out: string
  json?: boolean
}

interface Page {
  rows: readonly unknown[]
  /** Null at the end. */
  next: string | null
}

const ownerOnly = 0o600
export const exportedPage = 500

/** `readPage` returns the rows after `after`, the latest first. */
export async function exportPages(
  { out, json = false }: ExportFlags,
  { signal, noun }: { signal: AbortSignal; noun: string },
  readPage: (after: string | null) => Promise<Page>,
): Promise<Outcome> {
  if (json && out === '-')
    throw usageError('With --json, standard output carries the report. Name a file with --out.')
  await using sink = await openOutput(out, ownerOnly)
  let exported = 0
  let after: string | null = null
  do {
    if (signal.aborted)
      throw interrupted(`${out} holds only the latest ${counted(exported, noun)}.`)
    const { rows, next } = await readPage(after)
    await sink.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    exported += rows.length
    after = next
  } while (after !== null)
  const lines = [`You have exported ${counted(exported, noun)}.`]
  return { ...done({ exported, out }, lines), linesTo: 'stderr' }
}
