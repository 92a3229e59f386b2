/** Writes lines to a file or to standard output, no faster than its reader takes them. */
import { open } from 'node:fs/promises'
import { failure, usageError } from './fail.ts'

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
