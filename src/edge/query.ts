/**
 * Pure: parses the query into a closed value. Malformed text is rejected and never repaired
 * (decision D8).
 */

export type Query =
  | { kind: 'values'; values: Readonly<Record<string, string>> }
  | { kind: 'problem'; why: string }

/** The values of a target without a query. */
export const noValues: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const none: Query = { kind: 'values', values: noValues }

/** Parses `text`, the part after the first `?`, or the empty text. */
export function parseQuery(text: string): Query {
  if (text === '') return none
  const values: Record<string, string> = Object.create(null)
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (name === null || value === null)
      return { kind: 'problem', why: 'The query is not valid percent-encoded UTF-8.' }
    if (name.includes('\0') || value.includes('\0'))
      return { kind: 'problem', why: 'The query holds a NUL.' }
    if (name in values) return { kind: 'problem', why: 'A query parameter occurs more than once.' }
    values[name] = value
  }
  return { kind: 'values', values }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
