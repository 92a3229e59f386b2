/**
 * Pure: finds the ends of CSV records (RFC 4180) in a stream and parses their fields. Only commas
 * separate fields, and a malformed record is never repaired.
 */

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
 * `behind`: after a quote within quotes, which ends the field or is the first of a doubled quote.
 */
type State = 'begin' | 'plain' | 'quoted' | 'behind'

/**
 * Returns a finder of record ends. A line feed within quotes belongs to its record. A quote opens a
 * field only at its beginning, so a stray quote makes only its own record invalid.
 */
export function csvRecordEnds(): LineEndFinder {
  let state: State = 'begin'
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
  for (let at = 0; ; at++) {
    const field = record[at] === '"' ? parseQuotedField(record, at) : parsePlainField(record, at)
    if ('fault' in field) return field
    fields.push(field.text)
    at = field.end
    if (at === record.length) return fields
  }
}

type Field = { text: string; end: number } | { fault: string }

function parsePlainField(record: string, start: number): Field {
  const next = record.indexOf(',', start)
  const end = next === -1 ? record.length : next
  const text = record.slice(start, end)
  if (text.includes('"'))
    return {
      fault: 'has a quote in a field without quotes: put the field in quotes, and double it',
    }
  return { text, end }
}

function parseQuotedField(record: string, start: number): Field {
  const parts: string[] = []
  for (let at = start + 1; ; ) {
    const end = record.indexOf('"', at)
    if (end === -1) return { fault: 'opens a quote that is never closed' }
    parts.push(record.slice(at, end))
    if (record[end + 1] === '"') {
      at = end + 2
      continue
    }
    const isEnd = end + 1 === record.length || record[end + 1] === ','
    if (!isEnd) return { fault: 'has text behind a closing quote: double a quote within quotes' }
    return { text: parts.join('"'), end: end + 1 }
  }
}

/** Removes the byte order mark that some programs put in front of UTF-8. */
export function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return isMarked ? bytes.subarray(3) : bytes
}
