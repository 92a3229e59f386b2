/** Pure: the first fault of a value against a schema, worded for its author. */
import type { TProperties, TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { counted } from '../counted.ts'

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
  return { field: path.join('.') || null, reason: formAt(shape.Type(), path) ?? plainReason(fault) }
}

/** Returns the body in the type of its schema, or its first fault in words for the caller. */
export function parseBody<Body>(
  shape: Validator<TProperties, TSchema, Body>,
  body: unknown,
): { body: Body } | { fault: string } {
  if (shape.Check(body)) return { body }
  const { field, reason } = firstFault(shape, body)
  return { fault: `${field ?? 'The body'} ${reason}.` }
}

const typeNames: Readonly<Record<string, string>> = {
  object: 'a JSON object',
  array: 'a list',
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
}

/** Translates an error of the JSON Schema validator to plain words. */
function plainReason({
  keyword,
  params,
  message,
}: {
  keyword: string
  params: object
  message: string
}): string {
  const limit = Number(member(params, 'limit'))
  switch (keyword) {
    case 'type': {
      const type = member(params, 'type')
      const name = typeof type === 'string' ? typeNames[type] : undefined
      return name === undefined ? message : `must be ${name}`
    }
    case 'minItems':
      return `must have at least ${counted(limit, 'item')}`
    case 'maxItems':
      return `must have at most ${counted(limit, 'item')}`
    case 'minLength':
      return `must have at least ${counted(limit, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(limit, 'character')}`
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case 'enum':
      return `must be one of ${[member(params, 'allowedValues')].flat().join(', ')}`
    case 'uniqueItems':
      return 'must not name an item twice'
    default:
      return message
  }
}

type At = { instancePath: string }

function isWithin({ instancePath }: At, around: At): boolean {
  return `${instancePath}/`.startsWith(`${around.instancePath}/`)
}

/**
 * Returns the description of the schema at `path`, or of the nearest one around it. Null for one of
 * several words: the list around it says how many, and not which.
 */
function formAt(schema: TSchema, path: readonly string[]): string | null {
  let at: unknown = schema
  let form: string | null = null
  for (const part of path) {
    at = member(member(at, 'properties'), part) ?? member(at, 'items')
    const description = member(at, 'description')
    if (typeof description === 'string' && description.startsWith('must')) form = description
    else if (member(at, 'enum') !== undefined) form = null
  }
  return form
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}
