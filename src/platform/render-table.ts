/** Pure: rows as a table for a terminal, with a header line. */
import { type Cell, textOf } from './render-fields.ts'

/** Columns of a table in their order: a field of the row, or a pure function of it. */
export type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => Cell)>>

/** Columns that have the names of their fields. */
export function sameNames<const Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, name])) as { [N in Name]: N }
}

/** Returns the values of each column in a row. */
export function cellsOf<Row>(row: Row, columns: Columns<Row>): Cell[] {
  return Object.values(columns).map((column) =>
    typeof column === 'function' ? column(row) : (row[column] as Cell),
  )
}

/** Renders a header line and the rows. A column that holds only numbers is aligned to the right. */
export function renderTable<Row>(rows: readonly Row[], columns: Columns<Row>): string[] {
  const cells = rows.map((row) => cellsOf(row, columns))
  const rendered = Object.keys(columns).map((name, at) => {
    const values = cells.map((row) => row[at] ?? null)
    const isNumeric = values.every((value) => typeof value === 'number')
    const texts = [headerOf(name), ...values.map((value) => textOf(value) || '-')]
    const width = Math.max(...texts.map((text) => text.length))
    return texts.map((text) => (isNumeric ? text.padStart(width) : text.padEnd(width)))
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
