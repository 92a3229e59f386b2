/**
 * Pure: explains a score to the worker and the operator. The parts of the items sum exactly: the
 * mass parts of a skill, divided by 2^20 and rounded down once, are its mass, and its pulls sum to
 * `rest`.
 */
import { decayOf, halfLivesMax, halvesInDays, undecayed } from './decay.ts'
import {
  type DropReason,
  dayMax,
  type Evidence,
  type ScoreInput,
  type SkillRule,
} from './evidence.ts'
import { sortInPlace } from './order.ts'
import { parameters } from './parameters.ts'
import {
  type Assessed,
  assess,
  ladder,
  type ScoreResult,
  type Skill,
  type SkillScore,
  skillOf,
  skillScoreOf,
  walk,
} from './score.ts'

export interface ItemExplanation {
  id: string
  skillId: string
  /**
   * The reason why the item does not count, or null if it counts. If it does not count, `weight`,
   * `share`, `mass` and `pull` are 0, and so is `effect` if the worker has a score.
   */
  reason: DropReason | null
  /** Weight of the type × assurance, in millionths of an item. */
  weight: number
  /** Remaining part of 2^20 at its age. */
  share: number
  /** Its part of the mass of the skill, times 2^20. */
  mass: number
  /** Its pull at the score of the skill, times 2^20: above 0 it pulls up. 0 without a score. */
  pull: number
  /**
   * The score of the worker minus the score without the item. Null if one of the two does not
   * exist, and in a skill of more than `effectsMax` items.
   */
  effect: number | null
  /** Days until its mass is at most half; null without decay, and if it does not count. */
  halvesInDays: number | null
}

export interface SkillExplanation {
  skillId: string
  /** Sum of all pulls at the score: less than one point of pull, because scores are whole. */
  rest: number
  /** First day on which the skill has no score without new evidence, or null. */
  endsOnDay: number | null
  /**
   * The addition that raises `low` most: an item of this type at the score of the skill, observed
   * today, from a new group of full assurance. Null if no single item gives the skill a score.
   */
  raise: { type: string; value: number; low: number; workerScore: number } | null
}

export interface Explanation {
  result: ScoreResult
  /** Sorted by id. */
  items: ItemExplanation[]
  /** In the order of the result. */
  skills: SkillExplanation[]
}

/** Each effect needs the score of its skill once more, so their time grows with the square. */
const effectsMax = 1_000

/**
 * A brief explanation has no effects of items and no additions that raise `low`. It takes a fifth of
 * the time: 100 ms in place of 458 for 10,000 items.
 * @throws RangeError as `score` does
 */
export function explain(input: ScoreInput, isBrief = false): Explanation {
  const assessed: Assessed[] = []
  const result = assess(input, assessed)
  const items: ItemExplanation[] = []
  const explained = new Map<string, SkillExplanation>()
  const uncounted = result.score === null ? null : 0
  for (const { skillId, own, rule, skill, skillScore, reasons } of assessed) {
    if (rule === undefined)
      for (const { id } of own)
        items.push({ ...nothing, id, skillId, reason: 'unknown_skill', effect: uncounted })
    for (const [id, reason] of reasons)
      items.push({ ...nothing, id, skillId, reason, effect: uncounted })
    if (rule === undefined || skill === undefined || skillScore === undefined) continue
    const { asOfDay } = input
    const given = { own, rule, skillScore, skill, reasons, result, asOfDay, isBrief }
    explained.set(skillId, explainSkill(given, items))
  }
  sortInPlace(items, (a, b) => (a.id < b.id ? -1 : 1))
  const skills = result.skills.flatMap(({ skillId }) => explained.get(skillId) ?? [])
  return { result, items, skills }
}

const nothing = { weight: 0, share: 0, mass: 0, pull: 0, halvesInDays: null }

interface Given {
  own: Evidence[]
  rule: SkillRule
  skill: Skill
  skillScore: SkillScore
  reasons: ReadonlyMap<string, DropReason>
  result: ScoreResult
  asOfDay: number
  isBrief: boolean
}

/** Adds the items that count to `items`. */
function explainSkill(given: Given, items: ItemExplanation[]): SkillExplanation {
  const { own, rule, skill, skillScore, isBrief } = given
  const { skillId, score: point } = skillScore
  const masses: number[] = []
  const pulls: number[] = []
  walk(skill, null, masses)
  const rest = point === null ? 0 : walk(skill, point, pulls)
  const halves = halvesInDays(rule.halfLifeMonths)
  for (const [at, { item, permille, share }] of skill.items.entries())
    items.push({
      id: item.id,
      skillId,
      reason: null,
      weight: permille * item.assurance,
      share,
      mass: masses[at] ?? 0,
      pull: pulls[at] ?? 0,
      effect: isBrief || own.length > effectsMax ? null : effectOf(item, given),
      halvesInDays: halves,
    })
  const endsOnDay = point === null || halves === null ? null : endOf(given, masses, halves)
  return { skillId, rest, endsOnDay, raise: isBrief ? null : raiseOf(given) }
}

function effectOf(item: Evidence, given: Given): number | null {
  const { own, result } = given
  const without = withSkill(
    given,
    own.filter((other) => other !== item),
  )
  const score = ladder(without, 'cautious')
  return result.score === null || score === null ? null : result.score - score
}

/** Returns the skills of the worker if this one had these items. */
function withSkill({ rule, skillScore, result, asOfDay }: Given, items: Evidence[]): SkillScore[] {
  const { skillId } = skillScore
  const others = result.skills.filter((other) => other !== skillScore)
  return [...others, skillScoreOf(skillId, skillOf(items, rule, asOfDay))]
}

/** Returns the first day on which the mass is below the minimum, or null if there is none. */
function endOf(given: Given, masses: readonly number[], halves: number): number | null {
  const { own, rule, skill, reasons, asOfDay } = given
  const least = parameters.massMin * undecayed
  const end = asOfDay + halves * (halfLivesMax + 1)
  let isThere: (day: number) => boolean
  if ([...reasons.values()].some((reason) => reason === 'future' || reason === 'duplicate')) {
    // Such an item may begin to count later.
    isThere = (day) => walk(skillOf(own, rule, day), null) >= least
  } else {
    // If only time passes, the items keep their bounded amounts, and their shares fade.
    const amounts = skill.items.map(({ share }, at) => (masses[at] ?? 0) / share)
    isThere = (day) => {
      let sum = 0
      for (let at = 0; at < amounts.length; at++) {
        const age = day - (skill.items[at]?.item.observedDay ?? 0)
        sum += (amounts[at] ?? 0) * decayOf(age, rule.halfLifeMonths)
      }
      return sum >= least
    }
  }
  const next = firstWithout(asOfDay, end, isThere)
  return next > dayMax ? null : next
}

/** Halves the days from `last`, which has it, to `next`, which has not. */
function firstWithout(last: number, next: number, isThere: (day: number) => boolean): number {
  while (next - last > 1) {
    const middle = (last + next) >> 1
    if (isThere(middle)) last = middle
    else next = middle
  }
  return next
}

function raiseOf(given: Given): SkillExplanation['raise'] {
  const { own, rule, skillScore, asOfDay } = given
  const { skillId, score: point } = skillScore
  const value = point ?? 500
  let raise: SkillExplanation['raise'] = null
  const types = Object.keys(rule.weightPermille)
  sortInPlace(types, (a, b) => (a < b ? -1 : 1))
  for (const type of types) {
    // The name is not that of any item, group or artefact that is stored.
    const added = { id: '\uffff', skillId, type, group: '\uffff', digest: '\uffff', value }
    const full = { ...added, assurance: 1_000, observedDay: asOfDay }
    const skills = withSkill(given, [...own, full])
    const low = skills.at(-1)?.low ?? null
    if (low === null || low <= (raise?.low ?? -1)) continue
    raise = { type, value, low, workerScore: ladder(skills, 'cautious') ?? 0 }
  }
  return raise
}
