/** Where lines are written, at the pace at which they are taken. */
import { open } from 'node:fs/promises'
import { CommandError, UsageError } from './run.ts'

export interface Sink {
  /** Resolves when the text is handed over. */
  write(text: string): Promise<void>
  /** A file is on the disk then. */
  close(): Promise<void>
}

/** A file, made new, or standard output for `-`. */
export function openSink(path: string): Promise<Sink> {
  return path === '-' ? Promise.resolve(standardOutput()) : openFile(path)
}

async function openFile(path: string): Promise<Sink> {
  const file = await open(path, 'w').catch((error: unknown) => {
    throw new UsageError(`${path} cannot be written`, { cause: error })
  })
  return {
    write: async (text) => {
      await file.writeFile(text)
    },
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
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => {
          if (!error) return resolve()
          const told = 'Standard output was closed before everything was written to it.'
          reject(new CommandError(told, { cause: error }))
        })
      }),
    close: () => Promise.resolve(),
  }
}
