/** What the engine of this release changed: found by running the one before it, never typed in. */
import { type PastEngine, previousEngine } from './engine.ts'
import { firstWrong, readGoldens } from './goldens.ts'

export interface EngineChange {
  /** Null where this is the first. */
  previousVersion: string | null
  /**
   * `none`: there was none before. `compatible`: the one before gets every golden vector of this one right as well. `score_changing`: it
   * does not.
   */
  change: 'none' | 'compatible' | 'score_changing'
}

/** @throws EngineRefused where the engine before this one cannot be run */
export async function engineChange(root?: string): Promise<EngineChange> {
  const previous: PastEngine | null = await previousEngine(root)
  if (previous === null) return { previousVersion: null, change: 'none' }
  const isSame = firstWrong(previous.score, readGoldens(root)) === null
  return {
    previousVersion: previous.version,
    change: isSame ? 'compatible' : 'score_changing',
  }
}
