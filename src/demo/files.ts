/** The demo's files in the data directory. `made.json` is written last. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Environment } from '../edge/http/callers.ts'

const isClone = existsSync(join(import.meta.dirname, '../../package-lock.json'))

/** The command as the reader of the demo calls it: npm puts that of a package on the PATH. */
export const command = isClone ? 'bin/assay' : 'assay'

export function demoFolder(dataDir: string): string {
  return join(dataDir, 'demo')
}

export function credentialFile(dataDir: string, name: string): string {
  return join(demoFolder(dataDir), 'credentials', `${name}.json`)
}

/** Holds an API key of the demo's account: `api-key`, or `test-key` for the sandbox. */
export function keyFile(dataDir: string, environment: Environment): string {
  return join(demoFolder(dataDir), environment === 'live' ? 'api-key' : 'test-key')
}

/** Records that all files were written, and for which address. If it differs, all are rewritten. */
export function completionFile(dataDir: string): string {
  return join(demoFolder(dataDir), 'made.json')
}

/** Writes through a temporary file, so that a crash never leaves a half-written file. */
export async function writeFileAtomically(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, text, { flush: true })
  await rename(`${file}.new`, file)
}

/** Returns the text of a file, or null if the file does not exist. */
export async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

export function removeFile(file: string): Promise<void> {
  return rm(file, { force: true })
}
