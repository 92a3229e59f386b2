/** Pure: converts the skill standard into the integers that the engine computes with. */
import type { SkillRecord } from '../../standard/schema.ts'
import type { SkillRule, Vocabulary } from '../core/evidence.ts'

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
