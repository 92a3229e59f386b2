/**
 * Pure: a CSV record as the value that a line of JSON would be. The header names the same fields, nested ones by a dotted path
 * (`terms.version`, `skills.0.name`); an empty cell is a field left out. What a cell holds is not repaired: ` 5` is no number.
 */

import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import { counted } from '../platform/counted.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { csvFields, withoutMark } from './csv.ts'

export type CsvValue = { value: unknown } | { refused: Fault }

/** The header names no such fields; the message says what it may name. */
export class HeaderRefused extends Error {
  override readonly name = 'HeaderRefused'
}

interface Column {
  path: readonly string[]
  cell: (text: string) => unknown
}

/** Reads the records below this header. Throws `HeaderRefused`. */
export function csvReader(header: Uint8Array, schema: TSchema): (record: Uint8Array) => CsvValue {
  const columns = columnsOf(header, schema)
  return (record) => {
    const fields = fieldsOf(record)
    if ('wrong' in fields) return { refused: { field: null, reason: `The line ${fields.wrong}.` } }
    if (fields.length !== columns.length) {
      const reason = `The line has ${counted(fields.length, 'field')}, the header ${columns.length}.`
      return { refused: { field: null, reason } }
    }
    const value: Json = {}
    for (const [i, { path, cell }] of columns.entries())
      if (fields[i] !== '') set(value, path, cell(fields[i] as string))
    return { value }
  }
}

function fieldsOf(bytes: Uint8Array): string[] | { wrong: string } {
  if (!isUtf8(bytes)) return { wrong: 'is not valid UTF-8' }
  if (bytes.includes(0)) return { wrong: 'holds a NUL' }
  return csvFields(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
}

function columnsOf(header: Uint8Array, schema: TSchema): Column[] {
  const names = fieldsOf(withoutMark(header))
  if ('wrong' in names) throw new HeaderRefused(`The header ${names.wrong}.`)
  return names.map((name, i) => {
    const column = columnOf(name, schema)
    if (column === null) throw new HeaderRefused(notKnown(name, schema))
    if (names.indexOf(name) < i) throw new HeaderRefused(`The header names ${name} twice.`)
    return column
  })
}

function notKnown(name: string, schema: TSchema): string {
  const hint = /[;\t]/.test(name) ? ' Separate the columns by commas.' : ''
  const known = pathsOf(schema).join(', ')
  return `${JSON.stringify(name)} in the header is no field; there are ${known}.${hint}`
}

/** Of the schema as JSON: what is looked for in it, and nothing else. */
interface Shape {
  type?: string
  properties?: Record<string, Shape>
  items?: Shape
  maxItems?: number
}

function columnOf(name: string, schema: TSchema): Column | null {
  const path = name.split('.')
  let at: Shape | undefined = schema
  for (const part of path) {
    at = partOf(at, part)
    if (at === undefined) return null
  }
  if (at.properties !== undefined || at.items !== undefined) return null
  return { path, cell: cells[at.type ?? ''] ?? ((text) => text) }
}

function partOf({ properties, items, maxItems = 0 }: Shape, part: string): Shape | undefined {
  if (properties !== undefined && Object.hasOwn(properties, part)) return properties[part]
  const isPlace = /^(0|[1-9]\d{0,3})$/.test(part) && Number(part) < maxItems
  return isPlace ? items : undefined
}

/** Exactly as JSON writes them; any other text stays text, and is refused as such. */
const cells: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (/^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
}

/** Every column there can be, `0` standing for the places of a list. */
function pathsOf({ properties, items }: Shape, path = ''): string[] {
  if (items !== undefined) return pathsOf(items, `${path}.0`)
  if (properties === undefined) return [path.slice(1)]
  return Object.entries(properties).flatMap(([name, shape]) => pathsOf(shape, `${path}.${name}`))
}

type Json = Record<string, unknown>

/** A place of a list that is left out below another is null, which no list allows. */
function set(value: Json, path: readonly string[], cell: unknown): void {
  let at = value
  for (const [i, part] of path.entries()) {
    if (Array.isArray(at)) while (at.length < Number(part)) at.push(null)
    const next = path[i + 1]
    if (next === undefined) at[part] = cell
    else at = (at[part] ??= /^\d/.test(next) ? [] : {}) as Json
  }
}
