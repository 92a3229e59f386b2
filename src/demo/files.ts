/** The demo's files below the data directory; `made.json` is written last. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export function demoFolder(dataDir: string): string {
  return join(dataDir, 'demo')
}

export function credentialFile(dataDir: string, name: string): string {
  return join(demoFolder(dataDir), 'credentials', `${name}.json`)
}

/** Holds the API key of the demo's account. */
export function apiKeyFile(dataDir: string): string {
  return join(demoFolder(dataDir), 'api-key')
}

/** Says that all files were written, and for what. Missing or different: the files are made anew. */
export function madeFile(dataDir: string): string {
  return join(demoFolder(dataDir), 'made.json')
}

/** Whole or absent, never half written. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, text, { flush: true })
  await rename(`${file}.new`, file)
}

/** The text of a file, or null where there is none. */
export async function textOf(file: string): Promise<string | null> {
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
