/**
 * Pure: the statistics of the reports for auditors, and the items that count. Sums of whole numbers
 * are exact.
 */
import {
  type Evidence,
  itemsBySkill,
  ruleOf,
  type SkillRule,
  type Vocabulary,
} from '../../core/evidence.ts'
import { type SkillScore, skillOf, skillScoreOf } from '../../core/score.ts'

/** Rounds half up to 3 decimals, from whole numbers. */
export function rounded(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.floor((2_000 * part + whole) / (2 * whole)) / 1_000
}

export function decimals(number: number | null): number | null {
  return number === null ? null : Math.round(number * 1_000) / 1_000
}

/** Sums of pairs of whole numbers. For single numbers, `y` is 0. */
export interface Sums {
  n: number
  x: number
  y: number
  xx: number
  yy: number
  xy: number
}

export function noSums(): Sums {
  return { n: 0, x: 0, y: 0, xx: 0, yy: 0, xy: 0 }
}

export function addPair(sums: Sums, x: number, y = 0): void {
  sums.n++
  sums.x += x
  sums.y += y
  sums.xx += x * x
  sums.yy += y * y
  sums.xy += x * y
}

export function meanOf({ n, x }: Sums): number | null {
  return n === 0 ? null : x / n
}

/**
 * Returns n × Σab − Σa × Σb, which is n² times the covariance. Beyond 2^53, so in big integers.
 */
function spread(n: number, ab: number, a: number, b: number): bigint {
  return BigInt(n) * BigInt(ab) - BigInt(a) * BigInt(b)
}

/** The standard deviation of `x`, with n − 1. */
export function deviationOf({ n, x, xx }: Sums): number | null {
  return n < 2 ? null : Math.sqrt(Number(spread(n, xx, x, x)) / (n * (n - 1)))
}

/** Pearson's r. Null if one of the two does not vary. */
export function correlationOf({ n, x, y, xx, yy, xy }: Sums): number | null {
  const both = Number(spread(n, xx, x, x)) * Number(spread(n, yy, y, y))
  return both === 0 ? null : Number(spread(n, xy, x, y)) / Math.sqrt(both)
}

/** Whether the mean of `x` is at least `count` standard errors away from 0. */
export function isBeyond({ n, x, xx }: Sums, count: number): boolean {
  const squared = BigInt(x) * BigInt(x) * BigInt(n - 1)
  return n >= 2 && squared >= BigInt(count * count) * spread(n, xx, x, x)
}

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
