/** Pure: the schema of an object that forbids members that are not declared. */
import { type TObject, type TObjectOptions, type TProperties, Type } from 'typebox'

export function closedObject<Properties extends TProperties>(
  properties: Properties,
  options: TObjectOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, additionalProperties: false })
}
