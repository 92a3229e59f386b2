/**
 * Comparison of this release's engine with the one before, by running both on the golden vectors.
 * It is never declared by hand.
 */
import { type PastEngine, previousEngine } from './engine.ts'
import { firstWrong, readGoldens } from './goldens.ts'

export interface EngineChange {
  /** Null for the first engine. */
  previousVersion: string | null
  /**
   * `none`: there is no engine before. `compatible`: the engine before also computes every golden
   * vector of this one correctly. `score_changing`: it does not.
   */
  change: 'none' | 'compatible' | 'score_changing'
}

/**
 * Runs the previous engine on the golden vectors of this release.
 * @throws EngineRefused if the previous engine cannot be run
 */
export async function engineChange(root?: string): Promise<EngineChange> {
  const previous: PastEngine | null = await previousEngine(root)
  if (previous === null) return { previousVersion: null, change: 'none' }
  const isSame = firstWrong(previous.score, readGoldens(root)) === null
  return {
    previousVersion: previous.version,
    change: isSame ? 'compatible' : 'score_changing',
  }
}
