/** The scoring engine as this process found it when it started: what scores, what readiness says, and what is published of it. */
import type { EngineFacts, LoadedEngine } from '../discovery/engine-facts.ts'
import type { Db } from '../platform/db/db.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import {
  type Engine,
  type EngineFault,
  EngineRefused,
  loadEngine,
  releasedEngine,
} from '../scores/engine.ts'
import { type EngineChange, engineChange } from '../scores/engine-change.ts'
import { recalledEngines } from '../scores/recall-engine.ts'

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

/** The engine as it stands now: the operator may recall it while the process runs. */
export interface EngineWatch {
  /** As readiness tells it. A recall is the same on every node and no reason to send traffic elsewhere: everything else is answered. */
  state(): string | { degraded: string }
  facts(): EngineFacts
  /** Looks whether it was recalled. */
  job: Job
}

export function watchEngine({ engine, state, facts }: EngineHere, db: Db, log: Log): EngineWatch {
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
