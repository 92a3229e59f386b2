/** Pure: the rules under which scores are computed and issued. */
import type { Issuer } from '../../credentials/issue.ts'
import { sha256, sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { Vocabulary } from '../core/evidence.ts'
import type { Engine } from './engine.ts'
import type { IssueRule } from './issue-rule.ts'

/** Rules for all workers. They change with a release or a setting. */
export interface ScoringRules {
  engine: Engine
  vocabulary: Vocabulary
  /** The vocabulary as canonical JSON, and its SHA-256 as 64 lowercase hex characters. */
  vocabularyText: string
  vocabularySha256: string
  issueRule: IssueRule
  /** SHA-256 over all rules. A worker that was evaluated under other rules is due. */
  sha256: Buffer
}

/** Rules together with the issuer. The active signing key may change between two batches. */
export interface Scoring extends ScoringRules {
  issuer: Issuer
}

export function scoringRulesOf(
  engine: Engine,
  vocabulary: Vocabulary,
  issueRule: IssueRule,
): ScoringRules {
  const vocabularyText = canonicalJson(vocabulary)
  const vocabularySha256 = sha256Hex(vocabularyText)
  const { binarySha256 } = engine
  return {
    engine,
    vocabulary,
    vocabularyText,
    vocabularySha256,
    issueRule,
    sha256: sha256(canonicalJson({ binarySha256, vocabularySha256, issueRule })),
  }
}

/**
 * Returns the issue rule of the settings. A score is issued anew once three quarters of its
 * credential's validity have passed.
 */
export function issueRuleOf(settings: {
  scoreGroupsMin: number
  credentialValidityDays: number
}): IssueRule {
  return {
    groupsMin: settings.scoreGroupsMin,
    renewAfterDays: Math.ceil((settings.credentialValidityDays * 3) / 4),
  }
}
