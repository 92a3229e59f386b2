/** Pure: what scores are computed and issued by. */
import { sha256, sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Issuer } from '../score-credentials/issue.ts'
import type { Vocabulary } from '../scoring-core/evidence.ts'
import type { Engine } from './engine.ts'
import type { IssueRule } from './issue-rule.ts'

/** The same for every worker, until the next release or a change of the settings. */
export interface ScoringRules {
  engine: Engine
  vocabulary: Vocabulary
  /** The vocabulary as canonical JSON, and its SHA-256 as 64 lowercase hex characters. */
  vocabularyText: string
  vocabularySha256: string
  issueRule: IssueRule
  /** Over all of it: a worker who was evaluated under other rules is due. */
  sha256: Buffer
}

/** Rules, and who issues what is computed under them: the active key may change between two batches. */
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

/** The settings that bear on it. A score whose credential has used up three quarters of its validity is issued anew. */
export function issueRuleOf(settings: {
  scoreEvidenceMin: number
  scoreGroupsMin: number
  credentialValidityDays: number
}): IssueRule {
  return {
    evidenceMin: settings.scoreEvidenceMin,
    groupsMin: settings.scoreGroupsMin,
    renewAfterDays: Math.ceil((settings.credentialValidityDays * 3) / 4),
  }
}
