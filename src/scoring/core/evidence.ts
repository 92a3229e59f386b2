/**
 * Pure: the input of the core. The shapes are closed. They hold no fact about the worker: no name,
 * age, school, picture or place.
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
  /** The ids are unique. */
  evidence: readonly Evidence[]
  vocabulary: Vocabulary
  /** The day of the score, in days since 1970-01-01, UTC. */
  asOfDay: number
}

/** Reasons why an item does not count, in the order in which they are examined. */
export type DropReason =
  | 'unknown_skill'
  | 'unknown_type'
  | 'future'
  | 'excluded'
  | 'assurance_zero'
  | 'expired'
  | 'duplicate'

/** The years 0000 to 9999. */
export const dayMax = 2_932_896
const days = [-719_528, dayMax] as const

/**
 * Returns the items of each skill in new lists.
 * @throws RangeError on more than 10,000 items, and on a number outside its range
 */
export function itemsBySkill({ evidence, asOfDay }: ScoreInput): Map<string, Evidence[]> {
  check('the number of items', evidence.length, 0, evidenceMax)
  check('asOfDay', asOfDay, ...days)
  const bySkill = new Map<string, Evidence[]>()
  for (const item of evidence) {
    check('assurance', item.assurance, 0, 1_000)
    check('value', item.value, 0, valueMax)
    check('observedDay', item.observedDay, ...days)
    const items = bySkill.get(item.skillId)
    if (items === undefined) bySkill.set(item.skillId, [item])
    else items.push(item)
  }
  return bySkill
}

/**
 * Returns undefined for a skill that is not in the vocabulary.
 * @throws RangeError on a number outside its range
 */
export function ruleOf(vocabulary: Vocabulary, skillId: string): SkillRule | undefined {
  const rule = Object.hasOwn(vocabulary, skillId) ? vocabulary[skillId] : undefined
  if (rule === undefined) return undefined
  check('halfLifeMonths', rule.halfLifeMonths, 0, 1_200)
  let weights = 0
  for (const type in rule.weightPermille) {
    const permille = rule.weightPermille[type] ?? 0
    check('a weight', permille, 0, 1_000)
    weights += permille
  }
  check('the sum of the weights of a skill', weights, 0, 1_000)
  return rule
}

function check(name: string, number: number, min: number, max: number): void {
  if (!Number.isInteger(number) || number < min || number > max)
    throw new RangeError(`${name} is ${number}. It must be a whole number from ${min} to ${max}.`)
}
