/** Pure: CSV (RFC 4180): where a record ends in a stream, and the fields of one. Commas alone separate, and nothing is repaired. */
import type { LineEnds } from './lines.ts'

const lineFeed = 0x0a
const quote = 0x22
const comma = 0x2c

/** At the begin of a field, within a plain one, within quotes, or behind a quote that ended them or is half of two. */
type Place = 'begin' | 'plain' | 'quoted' | 'behind'

/** A line feed within quotes is part of its record. A quote opens at the begin of a field alone: one that strayed costs its record. */
export function csvLineEnds(): LineEnds {
  let place: Place = 'begin'
  let passed = 0
  return {
    next(chunk, from) {
      for (let at = from; at < chunk.length; at++) {
        const byte = chunk[at]
        if (place === 'quoted') {
          if (byte === quote) place = 'behind'
          else if (byte === lineFeed) passed++
        } else if (byte === lineFeed) {
          place = 'begin'
          return at
        } else if (byte === comma) place = 'begin'
        else if (byte !== quote) place = 'plain'
        else if (place !== 'plain') place = 'quoted'
      }
      return -1
    },
    takePassed() {
      const taken = passed
      passed = 0
      return taken
    },
  }
}

/** The fields of one record without its line end, or what is wrong with it. */
export function csvFields(record: string): string[] | { wrong: string } {
  const fields: string[] = []
  for (let at = 0; ; at++) {
    const field = record[at] === '"' ? quotedField(record, at) : plainField(record, at)
    if ('wrong' in field) return field
    fields.push(field.text)
    at = field.end
    if (at === record.length) return fields
  }
}

type Field = { text: string; end: number } | { wrong: string }

function plainField(record: string, start: number): Field {
  const next = record.indexOf(',', start)
  const end = next === -1 ? record.length : next
  const text = record.slice(start, end)
  if (text.includes('"'))
    return {
      wrong: 'has a quote in a field without quotes: put the field in quotes, and double it',
    }
  return { text, end }
}

function quotedField(record: string, start: number): Field {
  const parts: string[] = []
  for (let at = start + 1; ; ) {
    const end = record.indexOf('"', at)
    if (end === -1) return { wrong: 'opens a quote that is never closed' }
    parts.push(record.slice(at, end))
    if (record[end + 1] === '"') {
      at = end + 2
      continue
    }
    const isEnd = end + 1 === record.length || record[end + 1] === ','
    if (!isEnd) return { wrong: 'has text behind a closing quote: double a quote within quotes' }
    return { text: parts.join('"'), end: end + 1 }
  }
}

/** Without the byte order mark that some programs put in front of UTF-8. */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return isMarked ? bytes.subarray(3) : bytes
}
