/** Pure: examples for the contract. */
import { sha256 } from '../../platform/crypto/bytes.ts'
import { envelopeText, eventId } from './envelope.ts'
import { type EventType, eventTypes } from './event-types.ts'

/** Returns the body of an event as it is sent, with the example of its type as data. */
export function exampleEnvelope(type: EventType): unknown {
  const at = new Date('2026-05-14T09:00:00Z')
  const id = eventId(at, sha256(type))
  return JSON.parse(envelopeText({ id, type, data: eventTypes[type].example }, at))
}
