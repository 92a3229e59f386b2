/** Pure: results as text for a terminal. A table has a header line, and the same columns in CSV. */
import { csvLine } from '../platform/csv.ts'
import { type Cell, textOf } from '../platform/render-fields.ts'
import { done, type Outcome } from './output.ts'

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
