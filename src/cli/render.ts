/** Pure: results as text for a terminal: a table, and the same columns in CSV. */
import { csvLine } from '../platform/csv.ts'
import { textOf } from '../platform/render-fields.ts'
import { type Columns, cellsOf, renderTable } from '../platform/render-table.ts'
import { done, type Outcome } from './output.ts'

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

/** Renders CSV (RFC 4180) with the names of the columns as its header. */
function renderCsv<Row>(rows: readonly Row[], columns: Columns<Row>): string[] {
  const lines = rows.map((row) => cellsOf(row, columns).map(textOf))
  return [Object.keys(columns), ...lines].map(csvLine)
}
