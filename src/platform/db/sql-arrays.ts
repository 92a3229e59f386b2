/**
 * Writes PostgreSQL array literals of texts that need no escape. Pure. The driver escapes each
 * element separately, which for hundreds of ids costs more than the rest of sending the statement.
 */

const token = /^[\w:-]*$/
const hexBytes = /^[\da-f]*$/

/**
 * Writes an array of ids, whole numbers and names of letters, digits, `_`, `:` and `-`. Throws for
 * any other text.
 */
export function tokenArray(values: readonly (string | number)[]): string {
  for (const value of values)
    if (!token.test(`${value}`)) throw new TypeError('a value that needs an escape in an array')
  return values.length === 0 ? '{}' : `{"${values.join('","')}"}`
}

/** Writes a bytea array from lowercase hex. Throws for any other text. */
export function bytesArray(hex: readonly string[]): string {
  for (const bytes of hex) if (!hexBytes.test(bytes)) throw new TypeError('bytes that are not hex')
  return hex.length === 0 ? '{}' : `{"\\\\x${hex.join('","\\\\x')}"}`
}
