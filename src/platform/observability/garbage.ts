/** Asking the engine to collect its garbage now. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is garbage is gone when it returns, some tens of milliseconds later; else it is kept for as long as the engine pleases. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
}
