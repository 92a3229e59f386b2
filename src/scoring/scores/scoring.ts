/** Pure: the rules under which scores are computed and issued. */
import type { Issuer } from '../../credentials/issue.ts'
import { sha256, sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { SkillRecord } from '../../standard/schema.ts'
import type { SkillRule, Vocabulary } from '../core/evidence.ts'
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

type ScoredRecord = Pick<SkillRecord, 'id' | 'evidence_types' | 'decay_half_life_months'>

/**
 * Returns the rules by skill id, in order of id.
 * @throws RangeError for a weight of more than three decimals, which the check of the vocabulary
 * already rejects
 */
export function scoringVocabulary(records: readonly ScoredRecord[]): Vocabulary {
  const rules = records.map((record) => [record.id, ruleOf(record)] as const)
  return Object.fromEntries(rules.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function ruleOf({ id, evidence_types, decay_half_life_months }: ScoredRecord): SkillRule {
  const weights = evidence_types.map(({ type, weight }) => {
    const permille = Math.round(weight * 1_000)
    if (permille / 1_000 !== weight)
      throw new RangeError(`${id}: the weight ${weight} of ${type} is not in thousandths`)
    return [type, permille] as const
  })
  return { halfLifeMonths: decay_half_life_months, weightPermille: Object.fromEntries(weights) }
}
