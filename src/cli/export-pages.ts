/** Commands that write everything of a kind to a file, one object a line, in bounded memory. */
import { counted } from '../platform/counted.ts'
import { interrupted, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { openOutput } from './output-file.ts'

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
