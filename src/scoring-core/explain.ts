/**
 * Pure: why a score is what it is, for the candidate and the operator alone. The parts of the items that are used sum exactly to the
 * totals of their skill, and those give the skill's score.
 */
import { halvesInDays } from './decay.ts'
import {
  type Considered,
  consider,
  consideredBySkill,
  type DropReason,
  dropReasonOf,
  type Evidence,
  ruleOf,
  type ScoreInput,
  type SkillEvidence,
  type SkillRule,
} from './evidence.ts'
import { ladderFloor } from './ladder.ts'
import { estimateOf, type ScoreResult, score, weigh } from './score.ts'
import { ranksMax, type Totals } from './source-discount.ts'

export interface ItemExplanation {
  id: string
  skillId: string
  /** The reason why the item does not count, or null. */
  reason: DropReason | null
  /** Weight × assurance, in millionths; 0 if the item was dropped, except for `duplicate`. */
  base: number
  /** Remaining part of 2^20 at its age. This and the next fields are 0 for a dropped item. */
  decay: number
  /** Place in its group and type, heaviest first, from 1. */
  rank: number
  /** Share of the skill's N, in millionths. */
  mass: number
  /** Its part of the skill's A: mass × value. */
  weighted: number
  /** The whole score with the item minus the score without it, where a duplicate replaces it. */
  effect: number
  /** Days until its mass is at most half; null without decay, and for a dropped item. */
  halvesInDays: number | null
}

export interface SkillExplanation {
  skillId: string
  /** N and A. */
  mass: number
  weighted: number
  /**
   * The new evidence that raises `low` most: the same level today, in the heaviest type of
   * evidence, from a new source of full assurance. `low` is the resulting value.
   */
  raise: { type: string; value: number; low: number }
}

export interface Explanation {
  result: ScoreResult
  /** Sorted by id. */
  items: ItemExplanation[]
  /** In the order of the result. */
  skills: SkillExplanation[]
}

/** @throws RangeError as `score` does */
export function explain(input: ScoreInput): Explanation {
  const result = score(input)
  const items = droppedAtOnce(input)
  const bySkill = consideredBySkill(input)
  const skills: SkillExplanation[] = []
  for (const { skillId } of result.skills) {
    const considered = bySkill.get(skillId)
    if (considered === undefined) continue
    const skill = skillOf(considered, input.asOfDay)
    const others = result.skills.filter((other) => other.skillId !== skillId)
    const elsewhere = others.map((other) => other.score)
    for (const group of skill.groups.values())
      for (const item of group.items)
        items.push(explained(item, { skill, group, elsewhere, whole: result.score }))
    skills.push({ skillId, ...skill.totals, raise: raiseOf(skill.rule, skill.totals) })
  }
  items.sort(itemOrder)
  return { result, items, skills }
}

/** All items of a skill from one group: neither duplicates nor discounts cross groups, so that each is a sum of its own. */
interface Group extends SkillEvidence {
  totals: Totals
  hasDuplicates: boolean
}

interface Skill {
  rule: SkillRule
  asOfDay: number
  groups: Map<string, Group>
  totals: Totals
}

function skillOf({ rule, items }: SkillEvidence, asOfDay: number): Skill {
  const groups = new Map<string, Group>()
  for (const one of items) {
    const group = groups.get(one.item.group)
    if (group !== undefined) group.items.push(one)
    else groups.set(one.item.group, { rule, items: [one], totals: nothing, hasDuplicates: false })
  }
  const totals = { weighted: 0, mass: 0 }
  for (const group of groups.values()) {
    const weighed = weigh(group, asOfDay)
    group.totals = weighed.totals
    group.hasDuplicates = weighed.kept.length < group.items.length
    totals.weighted += weighed.totals.weighted
    totals.mass += weighed.totals.mass
  }
  return { rule, asOfDay, groups, totals }
}

const nothing: Totals = { weighted: 0, mass: 0 }

interface Surroundings {
  skill: Skill
  group: Group
  /** The scores of the other skills. */
  elsewhere: readonly number[]
  /** The whole score. */
  whole: number
}

function explained(considered: Considered, around: Surroundings): ItemExplanation {
  const { item, base, decay, rank, mass } = considered
  const { id, skillId } = item
  if (rank === 0) return { ...untouched, id, skillId, reason: 'duplicate', base }
  // Whoever stands behind a place that counts for nothing counts for nothing one place further up: a crowd needs no weighing again.
  const isLost = rank > ranksMax + 1 && !around.group.hasDuplicates
  const effect = isLost ? 0 : around.whole - wholeWithout(considered, around)
  const weighted = mass * item.value
  const halves = mass === 0 ? null : halvesInDays(around.skill.rule.halfLifeMonths)
  return {
    id,
    skillId,
    reason: null,
    base,
    decay,
    rank,
    mass,
    weighted,
    effect,
    halvesInDays: halves,
  }
}

const untouched = {
  base: 0,
  decay: 0,
  rank: 0,
  mass: 0,
  weighted: 0,
  effect: 0,
  halvesInDays: null,
}

/** The whole score as if the item had never been there: its group alone is weighed again. */
function wholeWithout(left: Considered, { skill, group, elsewhere }: Surroundings): number {
  const rest: Considered[] = []
  for (const other of group.items) if (other !== left) rest.push(consider(other.item, skill.rule))
  if (rest.length === 0 && skill.groups.size === 1) return ladderFloor(elsewhere)
  const again = weigh({ rule: skill.rule, items: rest }, skill.asOfDay).totals
  const { totals } = skill
  const { score } = estimateOf({
    weighted: totals.weighted - group.totals.weighted + again.weighted,
    mass: totals.mass - group.totals.mass + again.mass,
  })
  return ladderFloor([...elsewhere, score])
}

function droppedAtOnce({ evidence, vocabulary, asOfDay }: ScoreInput): ItemExplanation[] {
  const dropped: ItemExplanation[] = []
  for (const item of evidence) {
    const reason = dropReasonOf(item, ruleOf(vocabulary, item.skillId), asOfDay)
    if (reason !== null) dropped.push(explainDropped(item, reason))
  }
  return dropped
}

function explainDropped({ id, skillId }: Evidence, reason: DropReason): ItemExplanation {
  return { ...untouched, id, skillId, reason }
}

/** Any result at least as good as `low` raises it the more, the heavier it is: so the heaviest type does most. */
function raiseOf({ weightPermille }: SkillRule, totals: Totals): SkillExplanation['raise'] {
  let type = ''
  let weight = -1
  for (const [name, permille] of Object.entries(weightPermille)) {
    if (permille < weight || (permille === weight && name > type)) continue
    type = name
    weight = permille
  }
  const { score: value } = estimateOf(totals)
  const mass = weight * 1_000
  const more = { weighted: totals.weighted + mass * value, mass: totals.mass + mass }
  return { type, value, low: estimateOf(more).low }
}

/** Total over what is told, so that the order of the evidence never shows, even where an id stands twice. */
function itemOrder(a: ItemExplanation, b: ItemExplanation): number {
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.skillId !== b.skillId) return a.skillId < b.skillId ? -1 : 1
  const reasonA = a.reason ?? ''
  const reasonB = b.reason ?? ''
  if (reasonA !== reasonB) return reasonA < reasonB ? -1 : 1
  return (
    b.base - a.base ||
    b.decay - a.decay ||
    a.rank - b.rank ||
    b.mass - a.mass ||
    b.weighted - a.weighted ||
    b.effect - a.effect
  )
}
