/** Pure: writes and reads CSV (RFC 4180). */

/**
 * Returns one record without its line end. Spreadsheets run a cell that begins with `=`, `+`, `-`
 * or `@` as a formula, so such a text gets an apostrophe in front. A number stays a number.
 */
export function csvLine(cells: readonly string[]): string {
  return cells.map(csvCell).join(',')
}

function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text)
  const safe = isFormula ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/**
 * Parses a whole text. Lines end with LF or CR LF, and a byte order mark is ignored. Returns the
 * number of the first malformed line in place of the records. The fault quotes no cell, because a
 * cell may hold data about a person.
 */
export function parseCsv(text: string): { records: string[][] } | { faultyLine: number } {
  const records: string[][] = []
  let record: string[] = []
  let line = 1
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  cell.lastIndex = text.startsWith('\uFEFF') ? 1 : 0
  while (cell.lastIndex < text.length || record.length > 0) {
    const found = cell.exec(text)
    if (found === null) return { faultyLine: line }
    const [whole, quoted, plain = '', end] = found
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += whole.split('\n').length - 1
    if (end === ',') continue
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  return { records }
}
