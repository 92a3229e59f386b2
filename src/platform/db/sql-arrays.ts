/** Writes PostgreSQL array literals. Pure. */

const hexBytes = /^[\da-f]*$/

/** Writes a bytea array from lowercase hex. Throws for any other text. */
export function bytesArray(hex: readonly string[]): string {
  for (const bytes of hex) if (!hexBytes.test(bytes)) throw new TypeError('bytes that are not hex')
  return hex.length === 0 ? '{}' : `{"\\\\x${hex.join('","\\\\x')}"}`
}
