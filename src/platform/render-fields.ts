/** Pure: the fields of one thing as lines of text. */
import { wireTime } from './clock.ts'

export type Cell = string | number | boolean | Date | null | readonly string[]

/** Renders the fields of one thing, a line each, indented. */
export function renderFields(fields: Readonly<Record<string, Cell>>): string[] {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields).map(
    ([name, value]) => `  ${name.padEnd(width)}  ${textOf(value) || '-'}`,
  )
}

export function textOf(value: Cell): string {
  if (value === null) return ''
  if (Array.isArray(value)) return oneLine(value.join(', '))
  return oneLine(value instanceof Date ? wireTime(value) : String(value))
}

/**
 * Replaces line ends and control characters by spaces: the text of others must not steer a
 * terminal.
 */
export function oneLine(value: unknown): string {
  return String(value).replace(/[\p{C}\p{Z}]+/gu, ' ')
}
