/** Pure: the items that count, by skill, for the reports on sources and reliability. */
import {
  type Evidence,
  itemsBySkill,
  ruleOf,
  type SkillRule,
  type Vocabulary,
} from '../../core/evidence.ts'
import { type SkillScore, skillOf, skillScoreOf } from '../../core/score.ts'

export interface ReportItem extends Evidence {
  /** The id of the source. Identified peers are persons, so they share the name of their kind. */
  sourceName: string
}

export interface CountedSkill {
  rule: SkillRule
  /** Newest first. Of one day, the lowest id first. */
  items: ReportItem[]
}

/** Returns the skills of one worker that have an item that counts. */
export function countedSkills(
  evidence: readonly ReportItem[],
  vocabulary: Vocabulary,
  asOfDay: number,
): CountedSkill[] {
  const byId = new Map(evidence.map((item) => [item.id, item]))
  const bySkill = itemsBySkill({ evidence, vocabulary, asOfDay })
  return [...bySkill].flatMap(([skillId, own]) => {
    const rule = ruleOf(vocabulary, skillId)
    if (rule === undefined) return []
    const counted = skillOf(own, rule, asOfDay).items
    const items = counted.flatMap(({ item }) => byId.get(item.id) ?? [])
    return items.length === 0 ? [] : { rule, items }
  })
}

/** Returns what the items of a skill give on a day. */
export function scoreItems(
  rule: SkillRule,
  items: readonly Evidence[],
  asOfDay: number,
): SkillScore {
  return skillScoreOf('', skillOf([...items], rule, asOfDay))
}
