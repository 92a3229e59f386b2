/**
 * Reads and writes the file of an archived month: one line that names the month, then one entry a
 * line, ordered by reference.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import type { ArchivedEntry, ArchivedSum } from './archive-store.ts'
import { isMonth } from './months.ts'

const title = 'assay credit entries'

export interface AccountSum extends ArchivedSum {
  /** The highest `seq` of the account's entries. */
  lastSeq: number
}

/** The sums of a month's entries. */
export interface MonthSums {
  entries: number
  delta: number
  accounts: Map<string, AccountSum>
}

/**
 * Writes the file whole or not at all: under a temporary name, synced to disk, then renamed. Only
 * its owner may read it. Returns the sums of its entries and the digest of its bytes.
 */
export async function writeArchiveFile(
  path: string,
  month: string,
  pages: AsyncIterable<readonly ArchivedEntry[]>,
): Promise<{ sums: MonthSums; sha256: Buffer }> {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  const hash = createHash('sha256')
  const sums = noSums()
  const write = async (text: string): Promise<void> => {
    hash.update(text)
    await file.writeFile(text)
  }
  try {
    await write(`${JSON.stringify({ file: title, version: 1, month })}\n`)
    for await (const page of pages) {
      for (const entry of page) add(sums, entry)
      await write(page.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
    }
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
  return { sums, sha256: hash.digest() }
}

export interface ReadArchive {
  month: string
  sha256: Buffer
  sums: MonthSums
}

/** Returns null if the file is not an archive of entries. */
export async function readArchiveFile(path: string): Promise<ReadArchive | null> {
  const hash = createHash('sha256')
  const sums = noSums()
  let month: string | null = null
  for await (const line of linesOf(path, (bytes) => hash.update(bytes))) {
    const value = parsed(line)
    if (month === null) {
      month = monthIn(value)
      if (month === null) return null
    } else {
      if (!isEntry(value)) return null
      add(sums, value)
    }
  }
  return month === null ? null : { month, sha256: hash.digest(), sums }
}

async function* linesOf(path: string, onBytes: (bytes: Buffer) => void): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let begun = ''
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    onBytes(bytes)
    const lines = (begun + decoder.write(bytes)).split('\n')
    begun = lines.pop() ?? ''
    yield* lines
  }
  if (begun !== '') yield begun
}

function noSums(): MonthSums {
  return { entries: 0, delta: 0, accounts: new Map() }
}

type Added = Pick<ArchivedEntry, 'accountId' | 'seq' | 'delta'>

function add(sums: MonthSums, { accountId, seq, delta }: Added): void {
  const before = sums.accounts.get(accountId) ?? { accountId, entries: 0, delta: 0, lastSeq: 0 }
  sums.entries++
  sums.delta += delta
  sums.accounts.set(accountId, {
    accountId,
    entries: before.entries + 1,
    delta: before.delta + delta,
    lastSeq: Math.max(before.lastSeq, seq),
  })
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function monthIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  const { file, version, month } = value as Record<string, unknown>
  const isKnown = file === title && version === 1 && typeof month === 'string' && isMonth(month)
  return isKnown ? month : null
}

function isEntry(value: unknown): value is Added {
  if (typeof value !== 'object' || value === null) return false
  const { accountId, seq, delta } = value as Record<string, unknown>
  return typeof accountId === 'string' && Number.isSafeInteger(seq) && Number.isSafeInteger(delta)
}
