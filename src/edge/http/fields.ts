/** Fields of wire shapes that several modules have. */
import { Type } from 'typebox'
import { schemaVersion } from './identifiers.ts'

export const urlLengthMax = 2_048

/** Returns the constant member that names the form of an object. */
export function schemaVersionField<const Name extends string>(name: Name) {
  return Type.Literal(schemaVersion(name), { description: 'Names the form of this object.' })
}

export function text(maxLength: number, description: string) {
  return Type.String({ maxLength, description })
}

export function textOrNull(maxLength: number, description: string) {
  return Type.Union([Type.String({ maxLength }), Type.Null()], { description })
}

export function dateTime(description: string) {
  return Type.String({ format: 'date-time', description })
}

export function hex64(description: string) {
  return Type.String({ pattern: '^[0-9a-f]{64}$', description })
}

export function url(description: string) {
  return Type.String({ format: 'uri', maxLength: urlLengthMax, description })
}

/** How many: a whole number from 0. */
export function total(description: string) {
  return Type.Integer({ minimum: 0, description })
}

/** An object whose members are not fixed. JSON has at most so many members (decision D7). */
export function openObject(description: string) {
  return Type.Object({}, { additionalProperties: true, maxProperties: 10_000, description })
}

/** A UUID that a caller sends. Either case of it names the same thing. */
export function uuidParameter(description: string) {
  return Type.String({
    format: 'uuid',
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    description,
    oneSpelling: (id: string) => id.toLowerCase(),
  })
}

export const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
