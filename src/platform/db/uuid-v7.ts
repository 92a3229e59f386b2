/** Pure: ids of our own making (RFC 9562 §5.7): they sort by the time of their making, so that an index grows at its end. */
import { randomUUID } from 'node:crypto'

/** Lowercase. 74 bits are random. */
export function uuidV7(now: Date): string {
  const ms = now.getTime().toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${randomUUID().slice(15)}`
}

/** No id that was made at `time` or later is below this one, and none that was made before is at or above it. */
export function uuidV7Floor(time: Date): string {
  const ms = time.getTime().toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-0000-0000-000000000000`
}
