/**
 * Pure: parses a CSV record into the value that a line of JSON would hold. The header names the
 * same fields, nested ones by a dotted path (`terms.version`, `skills.0.name`). An empty cell is an
 * absent field. Cells are not repaired: ` 5` is not a number.
 */
import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import { counted } from './counted.ts'
import { parseCsvFields } from './csv.ts'
import type { Fault } from './json/shape-fault.ts'

export type ParsedRecord = { value: unknown } | { refused: Fault }

interface Column {
  path: readonly string[]
  parseCell: (text: string) => unknown
}

/**
 * Returns a parser of the records below this header. If the header names an unknown field, the
 * fault lists the known ones.
 */
export function csvRecordParser(
  header: Uint8Array,
  schema: TSchema,
): ((record: Uint8Array) => ParsedRecord) | { fault: string } {
  const columns = parseHeader(header, schema)
  if ('fault' in columns) return columns
  return (record) => {
    const fields = parseFields(record)
    if ('fault' in fields) return { refused: { field: null, reason: `The line ${fields.fault}.` } }
    if (fields.length !== columns.length) {
      const reason = `The line has ${counted(fields.length, 'field')}, the header ${columns.length}.`
      return { refused: { field: null, reason } }
    }
    const value: Json = {}
    for (const [i, { path, parseCell: cell }] of columns.entries())
      if (fields[i] !== '') setAt(value, path, cell(fields[i] as string))
    return { value }
  }
}

function parseFields(bytes: Uint8Array): string[] | { fault: string } {
  if (!isUtf8(bytes)) return { fault: 'is not valid UTF-8' }
  if (bytes.includes(0)) return { fault: 'holds a NUL' }
  return parseCsvFields(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
}

function parseHeader(header: Uint8Array, schema: TSchema): Column[] | { fault: string } {
  const names = parseFields(withoutByteOrderMark(header))
  if ('fault' in names) return { fault: `The header ${names.fault}.` }
  const columns: Column[] = []
  for (const [i, name] of names.entries()) {
    const column = findColumn(name, schema)
    if (column === null) return { fault: unknownColumnMessage(name, schema) }
    if (names.indexOf(name) < i) return { fault: `The header names ${name} twice.` }
    columns.push(column)
  }
  return columns
}

/** Removes the byte order mark that some programs put in front of UTF-8. */
function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return isMarked ? bytes.subarray(3) : bytes
}

function unknownColumnMessage(name: string, schema: TSchema): string {
  const hint = /[;\t]/.test(name) ? ' Separate the columns by commas.' : ''
  const known = listPaths(schema).join(', ')
  return `${JSON.stringify(name)} in the header is no field; there are ${known}.${hint}`
}

/** The parts of a JSON Schema that this file reads. */
interface Shape {
  type?: string
  properties?: Record<string, Shape>
  items?: Shape
  maxItems?: number
}

function findColumn(name: string, schema: TSchema): Column | null {
  const path = name.split('.')
  let at: Shape | undefined = schema
  for (const part of path) {
    at = findPart(at, part)
    if (at === undefined) return null
  }
  if (at.properties !== undefined || at.items !== undefined) return null
  return { path, parseCell: cellParsers[at.type ?? ''] ?? ((text) => text) }
}

function findPart({ properties, items, maxItems = 0 }: Shape, part: string): Shape | undefined {
  if (properties !== undefined && Object.hasOwn(properties, part)) return properties[part]
  const isIndex = /^(0|[1-9]\d{0,3})$/.test(part) && Number(part) < maxItems
  return isIndex ? items : undefined
}

/**
 * Parses numbers and booleans as JSON writes them. Any other text stays text, and the schema
 * rejects it.
 */
const cellParsers: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (/^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
}

/** Lists all possible columns; `0` represents every index of a list. */
function listPaths({ properties, items }: Shape, path = ''): string[] {
  if (items !== undefined) return listPaths(items, `${path}.0`)
  if (properties === undefined) return [path.slice(1)]
  return Object.entries(properties).flatMap(([name, shape]) => listPaths(shape, `${path}.${name}`))
}

type Json = Record<string, unknown>

/** Sets `cell` at `path`. A skipped index of a list becomes null, which the schema rejects. */
function setAt(value: Json, path: readonly string[], cell: unknown): void {
  let at = value
  for (const [i, part] of path.entries()) {
    if (Array.isArray(at)) while (at.length < Number(part)) at.push(null)
    const next = path[i + 1]
    if (next === undefined) at[part] = cell
    else at = (at[part] ??= /^\d/.test(next) ? [] : {}) as Json
  }
}
