/** Fields of which wire shapes of webhooks consist. Everything sent is closed. */
import { type TSchema, Type } from 'typebox'

/** Lowercase, so that each id has one form. */
const hex64 = { pattern: '^[0-9a-f]{64}$' }

export function uuid(description: string) {
  const pattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
  return Type.String({ format: 'uuid', pattern, description })
}

export function digest(description: string) {
  return Type.String({ ...hex64, description })
}

/** UTC in seconds without a fraction, as `wireTime` makes it. */
export function time(description: string) {
  const pattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$'
  return Type.String({ format: 'date-time', pattern, description })
}

/** A score, from 0 to 1000. */
export function points(description: string) {
  return Type.Integer({ minimum: 0, maximum: 1000, description })
}

export function count(description: string) {
  return Type.Integer({ minimum: 0, maximum: 1_000_000, description })
}

export function flag(description: string) {
  return Type.Boolean({ description })
}

export function oneOf<const Value extends string>(values: readonly Value[], description: string) {
  return Type.Enum([...values], { type: 'string', description })
}

/** Allows null. The field takes the description of `schema`, which also explains the null. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

/** The id of an event. */
export function eventIdField(description: string) {
  return Type.String({ maxLength: 64, description })
}
