/** The scoring engine as this process found it when it started: what scores, what readiness says, and what is published of it. */
import type { EngineFacts, LoadedEngine } from './discovery/engine-facts.ts'
import type { Log } from './platform/log.ts'
import {
  type Engine,
  type EngineFault,
  EngineRefused,
  loadEngine,
  releasedEngine,
} from './scores/engine.ts'
import { type EngineChange, engineChange } from './scores/engine-change.ts'

export interface EngineHere {
  /** Null where it is refused: then no score is computed. */
  engine: Engine | null
  /** Readiness names it. */
  state: 'ok' | EngineFault
  facts: EngineFacts
}

/** `root` is the folder that holds `engines/` and `vectors/`; this project's unless given. */
export async function engineHere(log: Log, root?: string): Promise<EngineHere> {
  try {
    const engine = await loadEngine(root)
    const loaded = loadedOf(engine, await changeHere(log, root))
    return { engine, state: 'ok', facts: { ...releasedEngine, state: 'ok', loaded } }
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error
    log.error('the scoring engine is refused: no score is computed', error)
    const state = error.fault
    return { engine: null, state, facts: { ...releasedEngine, state, loaded: null } }
  }
}

type ChangeHere = EngineChange | { previousVersion: null; change: null }

/** An earlier engine that is not sound cannot replay what it scored; today's scores do not need it. */
async function changeHere(log: Log, root?: string): Promise<ChangeHere> {
  try {
    return await engineChange(root)
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error
    log.error('the engine of an earlier release is refused: its scores cannot be replayed', error)
    return { previousVersion: null, change: null }
  }
}

function loadedOf(engine: Engine, change: ChangeHere): LoadedEngine {
  const { path, size, binarySha256, goldenSha256, tableSha256, parameters } = engine
  const { scorePrior, intervalPrior, scorePriorValue, ladder } = parameters
  return {
    path,
    size,
    binarySha256,
    goldenSha256,
    tableSha256,
    scorePrior,
    intervalPrior,
    scorePriorValue,
    ladder,
    ...change,
  }
}
