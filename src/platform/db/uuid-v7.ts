/**
 * Makes UUIDs of version 7 (RFC 9562, section 5.7). Pure apart from randomness. They sort by
 * creation time, so an index grows at its end.
 */
import { randomUUID } from 'node:crypto'

/** Returns a lowercase id with 74 random bits. */
export function uuidV7(now: Date): string {
  const ms = now.getTime().toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${randomUUID().slice(15)}`
}

/** Returns the smallest id of `time`: every id made earlier is below it, and no other id is. */
export function uuidV7Floor(time: Date): string {
  const ms = time.getTime().toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-0000-0000-000000000000`
}
