/** For commands that run as long as their input is. */
import { setFlagsFromString } from 'node:v8'

/**
 * A long run leaves much garbage behind, and the engine gives it a hundred megabytes before it looks. So what is young keeps the room that it
 * begins with; what soon is no longer young fills the room of the old, which is looked through each time it has doubled and not when it is four
 * times as large. Call before the work.
 */
export function keepMemoryFlat(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
