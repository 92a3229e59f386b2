/**
 * Opens what a change of scores needs: engine, vocabulary and active key. Reports the state of the
 * engine to readiness and discovery.
 */
import type { Config } from '../config/config.ts'
import type { Issuer } from '../credentials/issue.ts'
import { originOf } from '../credentials/payload.ts'
import { activeSigner, type KeyFolder, openSigners, SignerMissing } from '../credentials/signers.ts'
import { KeyRefused } from '../credentials/signing-key.ts'
import type { EngineFacts, LoadedEngine } from '../discovery/engine-facts.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
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
import { recalledEngines, refuseRecalled } from '../scoring/scores/recall-engine.ts'
import {
  issueRuleOf,
  type Scoring,
  type ScoringRules,
  scoringRulesOf,
  scoringVocabulary,
} from '../scoring/scores/scoring.ts'
import { loadReleasedVocabulary } from '../standard/releases.ts'
import { type SkillNames, skillNames } from '../workers/candidates/skill-names.ts'

/** No score can be computed or issued on this machine. The message is a sentence. */
export class ScoringUnavailable extends Error {
  override readonly name = 'ScoringUnavailable'
}

/**
 * Returns a function that gives the scoring of each transaction, because a key may be rotated
 * during a long run. Both throw `ScoringUnavailable`.
 */
export async function openScoring(config: Config): Promise<(db: Queryable) => Promise<Scoring>> {
  const rules = await openRules(config)
  const issuerNow = await openIssuer(config)
  return async (db) => {
    const recalled = await recalledEngines(db)
    await explainRefusal(async () => refuseRecalled(rules.engine, recalled))
    return { ...rules, issuer: await issuerNow(db) }
  }
}

/** Returns a function that gives the issuer of each transaction, in the way of `openScoring`. */
export async function openIssuer(config: Config): Promise<(db: Queryable) => Promise<Issuer>> {
  const signers = await openKeyFolder(config)
  return (db) =>
    explainRefusal(async () => ({
      origin: originOf(config.publicUrl),
      signer: await activeSigner(db, signers),
      validityDays: config.credentialValidityDays,
      supersedeRevokes: config.supersedeRevokes,
    }))
}

export function openKeyFolder({ signingKeysDir }: Config): Promise<KeyFolder> {
  return explainRefusal(() => openSigners(signingKeysDir))
}

/** Returns the rules of this release and these settings. */
export async function openRules(config: Config): Promise<ScoringRules> {
  const engine = await explainRefusal(() => loadEngine())
  return scoringRulesOf(engine, releasedVocabulary(), issueRuleOf(config))
}

async function explainRefusal<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof EngineRefused)
      throw new ScoringUnavailable(`Scores cannot be computed: ${cause.message}.`, { cause })
    if (cause instanceof SignerMissing || cause instanceof KeyRefused)
      throw new ScoringUnavailable(cause.message.replace(/\.?$/, '.'), { cause })
    throw cause
  }
}

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

export function releasedVocabulary(): ReturnType<typeof scoringVocabulary> {
  return scoringVocabulary(loadReleasedVocabulary().records)
}

export function releasedSkillNames(): SkillNames {
  return skillNames(loadReleasedVocabulary().records)
}
