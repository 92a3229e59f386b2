/** Loads the scoring engine at the start, and reports its state to readiness and discovery. */
import type { EngineFacts, LoadedEngine } from '../discovery/engine-facts.ts'
import type { Db } from '../platform/db/db.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import {
  type Engine,
  type EngineChange,
  type EngineFault,
  EngineRefused,
  engineChange,
  loadEngine,
  releasedEngine,
} from '../scoring/scores/engine.ts'
import { recalledEngines } from '../scoring/scores/recall-engine.ts'

export interface OpenedEngine {
  /** Null if the engine was refused: then no score is computed. */
  engine: Engine | null
  /** The state that the readiness check reports. */
  state: 'ok' | EngineFault
  facts: EngineFacts
}

export async function openEngine(log: Log): Promise<OpenedEngine> {
  try {
    const engine = await loadEngine()
    const loaded = loadedOf(engine, await findEngineChange(log))
    return { engine, state: 'ok', facts: { ...releasedEngine, state: 'ok', loaded } }
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error
    log.error('the scoring engine is refused: no score is computed', error)
    const state = error.fault
    return { engine: null, state, facts: { ...releasedEngine, state, loaded: null } }
  }
}

/** Follows the state of the engine, which the operator may recall while the process runs. */
export interface EngineWatch {
  /**
   * Returns the state for readiness. A recalled engine degrades the node but leaves it ready: the
   * recall holds on every node, and all requests that need no scoring are answered.
   */
  state(): string | { degraded: string }
  facts(): EngineFacts
  /** Checks for a recall. */
  job: Job
}

export function watchEngine({ engine, state, facts }: OpenedEngine, db: Db, log: Log): EngineWatch {
  let isRecalled = false
  return {
    state: () => (isRecalled ? { degraded: 'recalled' } : state),
    facts: () => (isRecalled ? { ...facts, state: 'recalled' } : facts),
    job: {
      name: 'look for a recall of the engine',
      everyMs: 5_000,
      async run() {
        if (engine === null || isRecalled) return
        isRecalled = (await recalledEngines(db)).has(engine.binarySha256)
        if (isRecalled) log.error('the scoring engine was recalled: no score is computed', null)
      },
    },
  }
}

type FoundChange = EngineChange | { previousVersion: null; change: null }

/** Returns nulls if the previous engine is refused: replays need it, present scores do not. */
async function findEngineChange(log: Log): Promise<FoundChange> {
  try {
    return await engineChange()
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error
    log.error('the engine of an earlier release is refused: its scores cannot be replayed', error)
    return { previousVersion: null, change: null }
  }
}

function loadedOf(engine: Engine, change: FoundChange): LoadedEngine {
  const { path, size, binarySha256, goldenSha256, tableSha256, parameters } = engine
  return { path, size, binarySha256, goldenSha256, tableSha256, parameters, ...change }
}
