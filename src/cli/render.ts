/** Pure: results as text for a terminal. A table has a header line, and the same columns in CSV. */
import { wireTime } from '../platform/clock.ts'
import { csvLine } from '../platform/csv.ts'
import { done, type Outcome } from './output.ts'

type Cell = string | number | boolean | Date | null

/** The columns of a noun in their order: the name of each and its value in a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>

interface Listing<Row> {
  rows: readonly Row[]
  columns: Columns<Row>
  /** Shown instead of an empty table. */
  none: string
  /** Whether the output is CSV, for a spreadsheet. */
  csv?: boolean | undefined
}

/** Lists rows as a table or as CSV. `report` is the answer for `--json`. */
export function listed<Row>(
  report: Record<string, unknown>,
  { rows, columns, none, csv = false }: Listing<Row>,
): Outcome {
  if (csv) return done(report, renderCsv(rows, columns))
  return done(report, rows.length === 0 ? [none] : renderTable(rows, columns))
}

/** Renders a header line and the rows. A column that holds only numbers is aligned to the right. */
export function renderTable<Row>(rows: readonly Row[], columns: Columns<Row>): string[] {
  const rendered = Object.entries(columns).map(([name, valueOf]) => {
    const values = rows.map(valueOf)
    const isNumeric = values.every((value) => typeof value === 'number')
    const cells = [headerOf(name), ...values.map((value) => textOf(value) || '-')]
    const width = Math.max(...cells.map((cell) => cell.length))
    return cells.map((cell) => (isNumeric ? cell.padStart(width) : cell.padEnd(width)))
  })
  return [null, ...rows].map((_, i) =>
    rendered
      .map((cells) => cells[i])
      .join('  ')
      .trimEnd(),
  )
}

/** `lastUsed` becomes `LAST USED`. */
function headerOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase()
}

/** Renders CSV (RFC 4180) with the names of the columns as its header. */
function renderCsv<Row>(rows: readonly Row[], columns: Columns<Row>): string[] {
  const lines = rows.map((row) => Object.values(columns).map((valueOf) => textOf(valueOf(row))))
  return [Object.keys(columns), ...lines].map(csvLine)
}

/** Renders the fields of one thing, a line each, indented. */
export function renderFields(fields: Readonly<Record<string, Cell>>): string[] {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields).map(
    ([name, value]) => `  ${name.padEnd(width)}  ${textOf(value) || '-'}`,
  )
}

function textOf(value: Cell): string {
  if (value === null) return ''
  return oneLine(value instanceof Date ? wireTime(value) : String(value))
}

/**
 * Replaces line ends and control characters by spaces: the text of others must not steer a
 * terminal.
 */
export function oneLine(value: unknown): string {
  return String(value).replace(/[\p{C}\p{Z}]+/gu, ' ')
}
