/**
 * Pure: parsing of a line against a closed schema. A refusal never repeats the value of a field.
 */
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Fault, firstFault } from '../../platform/json/shape-fault.ts'

export interface Refused {
  refused: Fault
}

/** Returns a parser that neither fills in nor repairs a value (decision D8). */
export function valueReader<Shape extends TSchema>(
  schema: Shape,
): (value: unknown) => Static<Shape> | Refused {
  const shape = Compile(schema)
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return refused(null, 'The line is not a JSON object.')
    return shape.Check(value) ? value : { refused: firstFault(shape, value) }
  }
}

export function refused(field: string | null, reason: string): Refused {
  return { refused: { field, reason } }
}
