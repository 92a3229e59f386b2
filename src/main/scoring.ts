/** Opens what a change of scores needs: engine, vocabulary and active key. */
import type { Config } from '../config/config.ts'
import type { Issuer } from '../credentials/issue.ts'
import { originOf } from '../credentials/payload.ts'
import { activeSigner, type KeyFolder, openSigners, SignerMissing } from '../credentials/signers.ts'
import { KeyRefused } from '../credentials/signing-key.ts'
import type { Queryable } from '../platform/db/db.ts'
import { EngineRefused, loadEngine } from '../scoring/scores/engine.ts'
import { recalledEngines, refuseRecalled } from '../scoring/scores/recall-engine.ts'
import {
  issueRuleOf,
  type Scoring,
  type ScoringRules,
  scoringRulesOf,
} from '../scoring/scores/scoring.ts'
import { releasedVocabulary } from './released-vocabulary.ts'

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
