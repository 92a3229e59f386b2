/**
 * Results as text for a terminal: a table, and the same columns in CSV. Also the progress of a long
 * command on standard error: a bar on a terminal, otherwise a line every five seconds.
 */
import cliProgress from 'cli-progress'
import { csvLine } from '../platform/csv.ts'
import { textOf } from '../platform/render-fields.ts'
import { type Columns, cellsOf, renderTable } from '../platform/render-table.ts'
import { done, note, type Outcome } from './output.ts'

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

export interface Progress extends Disposable {
  /** Call it after each batch. */
  update(lines: number, reached: number): void
}

const lineEveryMs = 5_000

/** `total` is the final value of `reached`, usually in bytes, or null if it is unknown. */
export function renderProgress(total: number | null, unit = 'lines'): Progress {
  const startedAt = performance.now()
  const speed = (lines: number): number =>
    Math.round((lines * 1_000) / Math.max(performance.now() - startedAt, 1))
  return process.stderr.isTTY && total !== null && total > 0
    ? renderBar(total, unit, speed)
    : renderLines(total, unit, speed)
}

function renderBar(total: number, unit: string, speed: (lines: number) => number): Progress {
  const shown = new cliProgress.SingleBar({
    stream: process.stderr,
    format: '[{bar}] {percentage} %  {lines} {unit}  {speed} {unit}/s  {eta_formatted} left',
    fps: 5,
    etaBuffer: 100,
    hideCursor: true,
    gracefulExit: false,
  })
  shown.start(total, 0, { lines: 0, speed: 0, unit })
  return {
    update: (lines, reached) => shown.update(reached, { lines, speed: speed(lines) }),
    [Symbol.dispose]: () => shown.stop(),
  }
}

function renderLines(
  total: number | null,
  unit: string,
  speed: (lines: number) => number,
): Progress {
  let printedAt = performance.now()
  return {
    update(lines, reached) {
      if (performance.now() - printedAt < lineEveryMs) return
      printedAt = performance.now()
      const share = total ? `${Math.floor((reached * 100) / total)} %, ` : ''
      note(`${share}${lines} ${unit}, ${speed(lines)} ${unit}/s`)
    },
    [Symbol.dispose]: () => {},
  }
}
