/** Pure: the parameters of a list in pages. */
import { Type } from 'typebox'

/** Maximum of members in an answer: 1 to 100, default 20. */
export const limitParameter = Type.String({
  pattern: '^([1-9][0-9]?|100)$',
  default: '20',
  description: 'A whole number from 1 to 100; 20 unless given.',
  published: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
})

/**
 * The member after which a page begins. Opaque for callers, who take it from the Link header of the
 * page before.
 */
export const cursorParameter = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{21}[AQgw]$',
    description: 'From the Link header with rel="next" of the page before.',
  }),
)

export function cursorOf(uuid: string): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url')
}

/** Returns the UUID of a cursor that fits `cursorParameter`. */
export function uuidOfCursor(cursor: string): string {
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
