/**
 * Pure: arrays as the database reads them, of texts in which nothing needs an escape. The driver escapes each element by itself, which costs
 * a statement of hundreds of ids more than everything else that is done to send it.
 */

const token = /^[\w:-]*$/
const hexBytes = /^[\da-f]*$/

/** Of ids, whole numbers and names made of letters, digits, `_`, `:` and `-`. Throws for anything else. */
export function tokenArray(values: readonly (string | number)[]): string {
  for (const value of values)
    if (!token.test(`${value}`)) throw new TypeError('a value that needs an escape in an array')
  return values.length === 0 ? '{}' : `{"${values.join('","')}"}`
}

/** Of bytes, given as lowercase hex. Throws for anything else. */
export function bytesArray(hex: readonly string[]): string {
  for (const bytes of hex) if (!hexBytes.test(bytes)) throw new TypeError('bytes that are not hex')
  return hex.length === 0 ? '{}' : `{"\\\\x${hex.join('","\\\\x')}"}`
}
