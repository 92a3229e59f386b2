/** Collects garbage now. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns after a full collection, which takes some tens of milliseconds. Without it V8 may keep
 * garbage for as long as it likes.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
}
