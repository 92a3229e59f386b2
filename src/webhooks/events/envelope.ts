/**
 * Pure: an event in the bytes that are sent. They are made once, when the event is written, and are
 * the same at every attempt to every endpoint: the canonical JSON of RFC 8785 in UTF-8. That is
 * `{"createdAt":…,"data":{…},"id":…,"schemaVersion":…,"type":…}` without white space, with the
 * members of `data` in alphabetical order.
 */
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { wireTime } from '../../platform/clock.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { EventType } from './event-types.ts'
import type { Envelope } from './schema.ts'

export interface EnvelopeContent {
  id: string
  type: EventType
  data: object
}

/** Returns the text whose UTF-8 bytes are signed and sent. `at` is truncated to the second. */
export function envelopeText({ id, type, data }: EnvelopeContent, at: Date): string {
  const envelope: Envelope = {
    schemaVersion: schemaVersion('webhook_event'),
    id,
    type,
    createdAt: wireTime(at),
    data,
  }
  return canonicalJson(envelope)
}

/** Random bytes of one id. */
export const eventIdRandomBytes = 10

/**
 * Returns `evt_` and a version 7 UUID (RFC 9562) in hex: the time in milliseconds, then 74 random
 * bits. Receivers treat the id as opaque.
 */
export function eventId(at: Date, random: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at.getTime(), 0, 6)
  bytes.set(random.subarray(0, eventIdRandomBytes), 6)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return `evt_${bytes.toString('hex')}`
}
