/** Pure: the first fault of a value against a schema, worded for its author. */
import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'

export interface Fault {
  /** Dotted path, e.g. `skills.0.name`, or null for the value as a whole. */
  field: string | null
  reason: string
}

/**
 * Returns the first fault of `value`. If the description of a field's schema begins with "must", it
 * is the message.
 */
export function firstFault(shape: Validator, value: unknown): Fault {
  const [first, ...others] = shape.Errors(value)
  if (first === undefined) return { field: null, reason: 'has not the expected shape' }
  // If a value may have one of several forms, the message describes all of them.
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

/** Returns the description of the schema at `path`, or of the nearest one around it. */
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
