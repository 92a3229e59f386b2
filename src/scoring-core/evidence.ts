/**
 * Pure: what the core is given, and which of it counts (HSC-1 steps 1 and 3). The shapes are closed: nothing about the person is among
 * them, no name, age, school, picture or place.
 */
import { evidenceMax, valueMax } from './parameters.ts'

export interface Evidence {
  id: string
  /** `hss:<slug>`. */
  skillId: string
  type: string
  /** The group of the source. Items of one group are not independent of each other. */
  group: string
  /** Assurance of the source, in permille. */
  assurance: number
  /** Value on the rubric's scale: novice from 0, intermediate 250, advanced 500, expert 750. */
  value: number
  /** Days since 1970-01-01, UTC. */
  observedDay: number
  /** Digest of the artefact. One artefact counts once for a skill and group. */
  digest: string
  /** True if the item is revoked, or excluded while it is disputed. */
  excluded?: boolean
}

export interface SkillRule {
  /** 0 means no decay. */
  halfLifeMonths: number
  /** Weight of each type, in permille. A type without a weight is no evidence of the skill. */
  weightPermille: Readonly<Record<string, number>>
}

/** By skill id. */
export type Vocabulary = Readonly<Record<string, SkillRule>>

export interface ScoreInput {
  evidence: readonly Evidence[]
  vocabulary: Vocabulary
  /** The day of the score, in days since 1970-01-01, UTC. */
  asOfDay: number
}

export type DropReason =
  | 'unknown_skill'
  | 'unknown_type'
  | 'future'
  | 'excluded'
  | 'assurance_zero'
  | 'duplicate'

/** An item on its way through the steps; the later fields are 0 until their step has set them. */
export interface Considered {
  readonly item: Evidence
  /** Weight before decay, in millionths: weight × assurance, both permille. */
  readonly base: number
  /** Remaining part of 2^20 at the item's age. */
  decay: number
  /** Base after decay, in millionths. */
  decayed: number
  /** Place in its group and type, heaviest first, from 1; 0 for a duplicate. */
  rank: number
  /** Final weight, in millionths. */
  mass: number
}

/** What may count for one skill. */
export interface SkillEvidence {
  rule: SkillRule
  items: Considered[]
}

/**
 * The items that may count, by skill; no skill without any.
 * @throws RangeError on numbers outside their ranges: whoever calls has checked the evidence long before.
 */
export function consideredBySkill({ evidence, vocabulary, asOfDay }: ScoreInput) {
  if (evidence.length > evidenceMax)
    throw new RangeError(`${evidence.length} items of evidence; at most ${evidenceMax} are scored`)
  whole('asOfDay', asOfDay, dayRange)
  const bySkill = new Map<string, SkillEvidence>()
  for (const item of evidence) {
    checkItem(item)
    // The vocabulary is asked once for a skill, not once for an item: that is a third of the time.
    const heard = bySkill.get(item.skillId)
    const rule = heard?.rule ?? ruleOf(vocabulary, item.skillId)
    if (rule === undefined || dropReasonOf(item, rule, asOfDay) !== null) continue
    const considered = consider(item, rule)
    if (heard === undefined) bySkill.set(item.skillId, { rule, items: [considered] })
    else heard.items.push(considered)
  }
  return bySkill
}

/** Why the item does not count whatever else there is, or null when it may. `rule` is that of its skill. */
export function dropReasonOf(
  item: Evidence,
  rule: SkillRule | undefined,
  asOfDay: number,
): DropReason | null {
  if (rule === undefined) return 'unknown_skill'
  if (weightOf(rule, item.type) === undefined) return 'unknown_type'
  if (item.observedDay > asOfDay) return 'future'
  if (item.excluded === true) return 'excluded'
  return item.assurance === 0 ? 'assurance_zero' : null
}

export function consider(item: Evidence, rule: SkillRule): Considered {
  const weight = weightOf(rule, item.type) ?? 0
  whole('a weight', weight, permille)
  return { item, base: weight * item.assurance, decay: 0, decayed: 0, rank: 0, mass: 0 }
}

/** Undefined for a skill that is not in the vocabulary. */
export function ruleOf(vocabulary: Vocabulary, skillId: string): SkillRule | undefined {
  const rule = Object.hasOwn(vocabulary, skillId) ? vocabulary[skillId] : undefined
  if (rule !== undefined) whole('halfLifeMonths', rule.halfLifeMonths, halfLifeRange)
  return rule
}

/** What every object has besides, such as `constructor`, is no number. */
function weightOf({ weightPermille }: SkillRule, type: string): number | undefined {
  const weight = weightPermille[type]
  return typeof weight === 'number' ? weight : undefined
}

interface Range {
  min: number
  max: number
}

const permille: Range = { min: 0, max: 1_000 }
const valueRange: Range = { min: 0, max: valueMax }
/** A century; products of it stay far below 2^53. */
const halfLifeRange: Range = { min: 0, max: 1_200 }
/** The years 0000 to 9999. */
const dayRange: Range = { min: -719_528, max: 2_932_896 }

function checkItem({ assurance, value, observedDay }: Evidence): void {
  whole('assurance', assurance, permille)
  whole('value', value, valueRange)
  whole('observedDay', observedDay, dayRange)
}

function whole(name: string, given: number, { min, max }: Range): void {
  if (!Number.isInteger(given) || given < min || given > max)
    throw new RangeError(`${name} is a whole number from ${min} to ${max}, not ${given}`)
}
