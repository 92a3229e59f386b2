/** Pure: the first thing that is wrong with a value, said for whoever wrote it. */
import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'

export interface Fault {
  /** Dotted, e.g. `skills.0.name`; null where it is the value as a whole. */
  field: string | null
  reason: string
}

/** Why `value` has not the shape; a field whose schema has a description that begins with "must" is told by it. */
export function firstFault(shape: Validator, value: unknown): Fault {
  const [first, ...others] = shape.Errors(value)
  if (first === undefined) return { field: null, reason: 'has not the expected shape' }
  // Of several forms any may be meant: not what one of them lacks is told, but all of them.
  const fault = others.find((one) => one.keyword === 'anyOf' && isWithin(first, one)) ?? first
  const path = fault.instancePath.split('/').slice(1)
  if (fault.keyword === 'boolean')
    return { field: path.join('.') || null, reason: 'is not a known field' }
  if (fault.keyword === 'required') {
    const missing = fault.params.requiredProperties[0]
    return { field: [...path, missing].join('.'), reason: 'is missing' }
  }
  return { field: path.join('.') || null, reason: formAt(shape.Type(), path) ?? fault.message }
}

type At = { instancePath: string }

function isWithin({ instancePath }: At, around: At): boolean {
  return `${instancePath}/`.startsWith(`${around.instancePath}/`)
}

/** The description of the schema at `path`, or of the nearest around it. */
function formAt(schema: TSchema, path: readonly string[]): string | null {
  let at: unknown = schema
  let form: string | null = null
  for (const part of path) {
    at = member(member(at, 'properties'), part) ?? member(at, 'items')
    const description = member(at, 'description')
    if (typeof description === 'string' && description.startsWith('must')) form = description
  }
  return form
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}
