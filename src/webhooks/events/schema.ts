/** Wire shapes of webhook events (spec §2.9), and the fields their data is made of. Everything sent is closed. */
import { type Static, type TSchema, Type } from 'typebox'
import { schemaVersion } from '../../platform/http/identifiers.ts'

export const closed = { additionalProperties: false }

/** One form for each id: lowercase. */
const hex64 = { pattern: '^[0-9a-f]{64}$' }

export function uuid(description: string) {
  const pattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
  return Type.String({ format: 'uuid', pattern, description })
}

export function digest(description: string) {
  return Type.String({ ...hex64, description })
}

/** UTC, seconds, no fraction: what `wireTime` makes. */
export function time(description: string) {
  const pattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$'
  return Type.String({ format: 'date-time', pattern, description })
}

/** On the scale of spec §1. */
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

export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

/** The envelope around the data of one type. */
export function envelopeOf<Data extends TSchema>(type: string, title: string, data: Data) {
  return Type.Object(
    {
      schemaVersion: Type.Literal(schemaVersion('webhook_event')),
      id: Type.String({ description: 'Opaque; the same at every delivery of this event.' }),
      type: Type.Literal(type),
      createdAt: time('When it happened.'),
      data,
    },
    { title, ...closed },
  )
}

export type Envelope = Omit<Static<ReturnType<typeof envelopeOf>>, 'data'> & { data: object }
