/** What a command lists: a table for people, or CSV (`--csv`) for a spreadsheet. */
import { done, type Outcome } from './output.ts'

export interface Told {
  columns: readonly string[]
  rows: readonly string[][]
  flags: { csv?: boolean }
  /** In place of an empty table. */
  none: string
}

export function told(
  report: Record<string, unknown>,
  { columns, rows, flags, none }: Told,
): Outcome {
  const all = [columns, ...rows]
  if (flags.csv === true) return done({ ok: true, ...report }, all.map(csvLine))
  if (rows.length === 0) return done({ ok: true, ...report }, [none])
  const widths = columns.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  const lineOf = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return done({ ok: true, ...report }, all.map(lineOf))
}

/** No field of ours holds a comma, a quote or a line end: words, numbers, hex and times. */
function csvLine(fields: readonly string[]): string {
  return fields.join(',')
}
