/**
 * The file of an archived month: one line that names the month, then one entry a line, ordered by
 * reference.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes the file whole or not at all: under a temporary name, synced to disk, then renamed. Only
 * its owner may read it. Returns the SHA-256 of its bytes.
 */
export async function writeArchiveFile(
  path: string,
  month: string,
  pages: AsyncIterable<readonly object[]>,
): Promise<Buffer> {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  const hash = createHash('sha256')
  const write = async (lines: readonly object[]): Promise<void> => {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    hash.update(text)
    await file.writeFile(text)
  }
  try {
    await write([{ file: 'assay credit entries', version: 1, month }])
    for await (const page of pages) await write(page)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
  return hash.digest()
}

export async function sha256OfFile(path: string): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) hash.update(bytes)
  return hash.digest()
}
