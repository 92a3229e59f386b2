/** Opens what a command needs to compute and issue scores: engine, vocabulary and active key. */
import type { Config } from '../config/config.ts'
import type { Queryable } from '../platform/db/db.ts'
import { originOf } from '../score-credentials/payload.ts'
import { activeSigner, openSigners, SignerMissing } from '../score-credentials/signers.ts'
import { KeyRefused } from '../score-credentials/signing-key.ts'
import { type Engine, EngineRefused, loadEngine } from '../scores/engine.ts'
import { recalledEngines, refuseRecalled } from '../scores/recall-engine.ts'
import { issueRuleOf, type Scoring, scoringRulesOf } from '../scores/scoring.ts'
import type { CommandContext } from './context.ts'
import { Failure, failure } from './fail.ts'
import { note } from './output.ts'
import { releasedVocabulary } from './released-vocabulary.ts'

/**
 * Returns a function that gives the scoring of each transaction, because a key may be rotated
 * during a long run. It throws if the engine was recalled, or if no key can sign here.
 */
export async function openScoring(config: Config): Promise<(db: Queryable) => Promise<Scoring>> {
  const rules = scoringRulesOf(await releasedEngine(), releasedVocabulary(), issueRuleOf(config))
  const signers = await openSigners(config.signingKeysDir)
  return async (db) => {
    const recalled = await recalledEngines(db)
    await explainRefusal(async () => refuseRecalled(rules.engine, recalled))
    return {
      ...rules,
      issuer: {
        origin: originOf(config.publicUrl),
        signer: await activeSigner(db, signers),
        validityDays: config.credentialValidityDays,
        supersedeRevokes: config.supersedeRevokes,
      },
    }
  }
}

/** Returns null and prints the reason if no score can be computed or issued on this machine. */
export async function scoringIfAny(context: CommandContext): Promise<Scoring | null> {
  return scoringOr(context, (reason) => {
    note(`${reason} The scores are left to the next recomputation.`)
    return null
  })
}

/**
 * Returns the scoring of one transaction. If no score can be computed or issued on this machine,
 * returns the result of `instead`, which gets the reason as a sentence.
 */
export async function scoringOr<Instead>(
  { config, db }: CommandContext,
  instead: (reason: string, cause: Error) => Instead,
): Promise<Scoring | Instead> {
  try {
    const scoringNow = await openScoring(config)
    return await scoringNow(db)
  } catch (error) {
    const isExpected =
      error instanceof Failure || error instanceof SignerMissing || error instanceof KeyRefused
    if (!isExpected) throw error
    return instead(error.message.replace(/\.?$/, '.'), error)
  }
}

/** Returns the engine of this release. */
export function releasedEngine(): Promise<Engine> {
  return explainRefusal(() => loadEngine())
}

async function explainRefusal<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof EngineRefused)
      throw failure(`Scores cannot be computed: ${error.message}.`, { cause: error })
    throw error
  }
}
