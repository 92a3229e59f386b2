/**
 * Pure: algorithm HSC-1: from evidence to a score with its interval, for each skill and for the whole. Whole numbers only, nothing
 * imported from outside this room, no clock: the same evidence, vocabulary and day give the same bytes everywhere and for ever,
 * whatever order they come in.
 */
import { decayOf, undecayed } from './decay.ts'
import { withoutDuplicates } from './duplicates.ts'
import {
  type Considered,
  consideredBySkill,
  type ScoreInput,
  type SkillEvidence,
} from './evidence.ts'
import { ladderCeil, ladderFloor } from './ladder.ts'
import { sortInPlace } from './order.ts'
import { type Band, bandOf, type Level, levelOf, parameters, valueMax } from './parameters.ts'
import { discountBySource, type Totals } from './source-discount.ts'
import { ceilOf, floorOf } from './whole.ts'

/** Each from 0 to 1000, low ≤ score ≤ high: the range is what any prior of a stated weight could give, not a confidence interval. */
export interface Estimate {
  score: number
  low: number
  high: number
}

export interface SkillScore extends Estimate {
  skillId: string
  /** Weight of the skill's evidence, in millionths of an item. */
  mass: number
  level: Level
  verified: boolean
}

export interface ScoreResult extends Estimate {
  /** Number of counted items, without duplicates. */
  evidenceCount: number
  /** Number of independence groups among the counted items. */
  sourceCount: number
  /** Skills with counted items: highest score first, then by id. */
  skills: SkillScore[]
  band: Band
}

/** @throws RangeError on more than 10,000 items, and on numbers outside their ranges */
export function score(input: ScoreInput): ScoreResult {
  const skills: SkillScore[] = []
  const groups = new Set<string>()
  let evidenceCount = 0
  for (const [skillId, skill] of consideredBySkill(input)) {
    const { kept, totals } = weigh(skill, input.asOfDay)
    evidenceCount += kept.length
    for (const { item } of kept) groups.add(item.group)
    skills.push(skillScoreOf(skillId, kept, totals))
  }
  sortInPlace(skills, skillOrder)
  const whole = wholeOf(skills)
  return {
    ...whole,
    evidenceCount,
    sourceCount: groups.size,
    skills,
    band: bandOf(whole.score),
  }
}

/** The items that are no duplicates, weighed, and what they come to. */
export interface Weighed {
  kept: Considered[]
  totals: Totals
}

/** Steps 2, 4 and 5 over the items of one skill, or of one group of it: neither duplicates nor discounts cross groups. */
export function weigh({ rule, items }: SkillEvidence, asOfDay: number): Weighed {
  const kept = withoutDuplicates(items)
  for (const considered of kept) {
    const decay = decayOf(asOfDay - considered.item.observedDay, rule.halfLifeMonths)
    considered.decay = decay
    considered.decayed = floorOf(considered.base * decay, undecayed)
  }
  return { kept, totals: discountBySource(kept) }
}

/** Step 6. low ≤ score ≤ high holds because the interval's prior weighs no less than the score's. */
export function estimateOf({ weighted, mass }: Totals): Estimate {
  const { scorePrior, scorePriorValue, intervalPrior } = parameters
  return {
    score: floorOf(weighted + scorePrior * scorePriorValue, mass + scorePrior),
    low: floorOf(weighted, mass + intervalPrior),
    high: ceilOf(weighted + valueMax * intervalPrior, mass + intervalPrior),
  }
}

/** Step 7. */
function skillScoreOf(skillId: string, kept: readonly Considered[], totals: Totals): SkillScore {
  const { score, low, high } = estimateOf(totals)
  const verified = totals.mass >= parameters.verifiedMass && kept.some(isAssured)
  return { skillId, score, low, high, mass: totals.mass, level: levelOf(score), verified }
}

function isAssured({ item }: Considered): boolean {
  return item.assurance >= parameters.verifiedAssurance
}

function skillOrder(a: SkillScore, b: SkillScore): number {
  if (a.score !== b.score) return b.score - a.score
  return a.skillId < b.skillId ? -1 : 1
}

/** Step 8: scores, lows and highs each stand in an order of their own. */
function wholeOf(skills: readonly Estimate[]): Estimate {
  return {
    score: ladderFloor(skills.map(({ score }) => score)),
    low: ladderFloor(skills.map(({ low }) => low)),
    high: ladderCeil(skills.map(({ high }) => high)),
  }
}
