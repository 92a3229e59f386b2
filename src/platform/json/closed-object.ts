/** Pure: schemas of objects that forbid members that are not declared. */
import {
  type TArray,
  type TArrayOptions,
  type TObject,
  type TObjectOptions,
  type TProperties,
  Type,
} from 'typebox'

export function closedObject<Properties extends TProperties>(
  properties: Properties,
  options: TObjectOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** The schema of a list of such objects. */
export function listOf<Properties extends TProperties>(
  properties: Properties,
  options: TArrayOptions = {},
): TArray<TObject<Properties>> {
  return Type.Array(closedObject(properties), options)
}

/** Returns whether a value that was parsed from JSON is an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
