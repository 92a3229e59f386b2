/** Pure: rows as a table for a terminal, with a header line. */
import { type Cell, textOf } from './render-fields.ts'

/** The columns of a noun in their order: the name of each and its value in a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>

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
