/** Pure: values of the database in the closed shapes that are sent. */
import type { Static, TObject, TSchema } from 'typebox'
import { wireTime } from '../clock.ts'

/** A shape as the database has it: a text may be a time or bytes. */
export type Stored<Shape> = Shape extends string
  ? string extends Shape
    ? Shape | Date | Buffer
    : Shape
  : Shape extends readonly (infer Item)[]
    ? readonly Stored<Item>[]
    : Shape extends object
      ? { readonly [Name in keyof Shape]: Stored<Shape[Name]> }
      : Shape

/**
 * Returns the declared members of a value, in the order of the declaration: times as the wire
 * writes them, bytes in hex. An open object, and a union of two objects, are passed on as they are.
 */
export function wireObject<Schema extends TObject>(
  schema: Schema,
  value: Stored<Static<Schema>>,
): Static<Schema> {
  return wired(schema, value) as Static<Schema>
}

interface Structure {
  properties?: Readonly<Record<string, TSchema>>
  additionalProperties?: boolean
  items?: TSchema
  anyOf?: readonly TSchema[]
}

function wired(schema: TSchema, value: unknown): unknown {
  if (value instanceof Date) return wireTime(value)
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (value === null || typeof value !== 'object') return value
  const { properties, additionalProperties, items, anyOf } = schema as Structure
  if (anyOf !== undefined) {
    // Of an object or null. A union of several objects is passed on as it is.
    const [one, other] = anyOf.filter((part) => 'properties' in part || 'items' in part)
    return one === undefined || other !== undefined ? value : wired(one, value)
  }
  if (Array.isArray(value))
    return items === undefined ? value : value.map((item) => wired(items, item))
  if (properties === undefined || additionalProperties !== false) return value
  const members = Object.entries(properties).flatMap(([name, part]) => {
    const member: unknown = Reflect.get(value, name)
    return member === undefined ? [] : [[name, wired(part, member)]]
  })
  return Object.fromEntries(members)
}
