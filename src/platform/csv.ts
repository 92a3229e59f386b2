/** Pure: writes CSV (RFC 4180). */

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
