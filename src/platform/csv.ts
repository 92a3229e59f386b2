/**
 * Pure: writes and reads CSV (RFC 4180). Only commas separate fields, and a malformed record is
 * never repaired.
 */

/**
 * Returns one record without its line end; null is an empty cell. Spreadsheets run a cell that
 * begins with `=`, `+`, `-` or `@` as a formula, so such a text gets an apostrophe in front. A
 * number stays a number.
 */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return cells
    .map((cell) => (typeof cell === 'string' && special.test(cell) ? csvText(cell) : cell))
    .join(',')
}

const special = /^[=+\-@\t]|[",\r\n]/

function csvText(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text)
  const safe = isFormula ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Finds line ends in the chunks of one input. Its caller passes the chunks in order. */
export interface LineEndFinder {
  /**
   * Returns the end of the line that holds `chunk[from]`, or -1 if it goes on in the next chunk.
   */
  next(chunk: Uint8Array, from: number): number
  /** Returns the number of line feeds within lines since the last call. */
  takeLineFeeds(): number
}

const lineFeed = 0x0a
const quote = 0x22
const comma = 0x2c

/**
 * Returns a finder of record ends. A line feed within quotes belongs to its record. A quote opens a
 * field only at its beginning, so a stray quote makes only its own record invalid.
 */
export function csvRecordEnds(): LineEndFinder {
  // `behind`: after a quote within quotes, which ends the field or is the first of a doubled quote.
  let state: 'begin' | 'plain' | 'quoted' | 'behind' = 'begin'
  let lineFeeds = 0
  return {
    next(chunk, from) {
      for (let at = from; at < chunk.length; at++) {
        const byte = chunk[at]
        if (state === 'quoted') {
          if (byte === quote) state = 'behind'
          else if (byte === lineFeed) lineFeeds++
        } else if (byte === lineFeed) {
          state = 'begin'
          return at
        } else if (byte === comma) state = 'begin'
        else if (byte !== quote) state = 'plain'
        else if (state !== 'plain') state = 'quoted'
      }
      return -1
    },
    takeLineFeeds() {
      const taken = lineFeeds
      lineFeeds = 0
      return taken
    },
  }
}

/** Parses the fields of one record, which has no line end. */
export function parseCsvFields(record: string): string[] | { fault: string } {
  const fields: string[] = []
  const field = /(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)/y
  for (;;) {
    const start = field.lastIndex
    const match = field.exec(record)
    if (match === null) return { fault: faultOf(record.slice(start)) }
    const [, quoted, plain = '', end] = match
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '') return fields
  }
}

function faultOf(rest: string): string {
  if (!rest.startsWith('"'))
    return 'has a quote in a field without quotes: put the field in quotes, and double it'
  return /^"[^"]*(?:""[^"]*)*"(?!")/.test(rest)
    ? 'has text behind a closing quote: double a quote within quotes'
    : 'opens a quote that is never closed'
}
