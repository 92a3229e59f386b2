/** Where lines are written, at the pace at which they are taken. */
import { open } from 'node:fs/promises'
import { failure, usageError } from './fail.ts'

export interface Sink {
  /** Resolves when the text is handed over. */
  write(text: string): Promise<void>
  /** A file is on the disk then. */
  close(): Promise<void>
}

/** A file, made new and with `mode` where there was none, or standard output for `-`. */
export function openSink(path: string, mode = 0o666): Promise<Sink> {
  return path === '-' ? Promise.resolve(standardOutput()) : openFile(path, mode)
}

async function openFile(path: string, mode: number): Promise<Sink> {
  const file = await open(path, 'w', mode).catch((error: unknown) => {
    throw usageError(`${path} cannot be written (${reasonOf(error)})`, { cause: error })
  })
  return {
    write: (text) => file.writeFile(text).catch(notWritten(path)),
    close: async () => {
      // A pipe or a terminal named as a file cannot be synced.
      await file.sync().catch(() => undefined)
      await file.close()
    },
  }
}

function standardOutput(): Sink {
  return {
    write: (text) =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
      }).catch(notWritten('Standard output')),
    close: () => Promise.resolve(),
  }
}

/** For `catch`: what was not written has been done all the same, so the way on is said too. */
function notWritten(place: string): (error: unknown) => never {
  return (error) => {
    throw failure(
      `${place} did not take everything (${reasonOf(error)}). Make room or name another file, and run the same command again: a line with an id takes effect once.`,
      { cause: error },
    )
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const told: Record<string, string> = {
    ENOSPC: 'no space is left',
    EPIPE: 'its reader went away',
    EACCES: 'this user may not',
    ENOENT: 'there is no such folder',
    EISDIR: 'it is a folder',
  }
  return told[code] ?? (code === '' ? 'unknown reason' : code)
}
