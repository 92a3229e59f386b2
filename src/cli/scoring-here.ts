/** What scores are computed and issued by on this machine: the engine of this release, its vocabulary, and the active key. */
import type { Config } from '../config/config.ts'
import type { Queryable } from '../platform/db/db.ts'
import { originOf } from '../score-credentials/payload.ts'
import { openSigners } from '../score-credentials/signers.ts'
import { KeyRefused } from '../score-credentials/signing-key.ts'
import { type Engine, EngineRefused, loadEngine } from '../scores/engine.ts'
import { recalledEngines, refuseRecalled } from '../scores/recall-engine.ts'
import { issueRuleOf, type Scoring, scoringRulesOf } from '../scores/scoring.ts'
import { Failure, failure } from './fail.ts'
import { activeSigner } from './issue-batch.ts'
import { note } from './output.ts'
import { releasedVocabulary } from './released-vocabulary.ts'

/** A function that tells it for each transaction anew: a key may be rotated during a long run. Throws `Failure`. */
export async function openScoring(config: Config): Promise<(db: Queryable) => Promise<Scoring>> {
  const rules = scoringRulesOf(
    await releasedEngineHere(),
    releasedVocabulary(),
    issueRuleOf(config),
  )
  const keysFolder = config.signingKeysDir
  const signers = await openSigners(keysFolder)
  return async (db) => {
    const recalled = await recalledEngines(db)
    await orCommandError(async () => refuseRecalled(rules.engine, recalled))
    return {
      ...rules,
      issuer: {
        origin: originOf(config.publicUrl),
        signer: await activeSigner(db, { signers, keysFolder }),
        validityDays: config.credentialValidityDays,
        supersedeRevokes: config.supersedeRevokes,
      },
    }
  }
}

/** Null, and a note why, where scores can be neither computed nor issued here: for what must not wait for it. */
export async function scoringIfAny(config: Config, db: Queryable): Promise<Scoring | null> {
  try {
    const scoringNow = await openScoring(config)
    return await scoringNow(db)
  } catch (error) {
    if (!(error instanceof Failure || error instanceof KeyRefused)) throw error
    note(`${error.message.replace(/\.?$/, '.')} Scores are left to the next recomputation.`)
    return null
  }
}

/** The engine of this release. Throws `Failure` where it is refused. */
export function releasedEngineHere(): Promise<Engine> {
  return orCommandError(() => loadEngine())
}

async function orCommandError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof EngineRefused)
      throw failure(`Scores cannot be computed: ${error.message}.`, { cause: error })
    throw error
  }
}
