/**
 * Pure: algorithm HSC-2. Computes the score and the range of each skill and of the worker. Whole
 * numbers below 2^53 only, no clock, no import from outside this folder: the same evidence, rules
 * and day give the same result on every machine, in any order of the evidence.
 *
 * Units: weights and masses are millionths of an item, shares are parts of 2^20. The rules have the
 * numbers of `docs/scoring.md`.
 */
import { decayOf, undecayed } from './decay.ts'
import {
  type DropReason,
  type Evidence,
  itemsBySkill,
  ruleOf,
  type ScoreInput,
  type SkillRule,
} from './evidence.ts'
import { sortInPlace } from './order.ts'
import { type Band, bandOf, type Level, levelOf, parameters, valueMax } from './parameters.ts'
import { ceilOf, floorOf } from './whole.ts'

/** 0 ≤ low ≤ score ≤ high ≤ 1000. All are null if there is too little evidence. */
type Estimate = Record<'score' | 'low' | 'high', number | null>

export interface SkillScore extends Estimate {
  skillId: string
  /** The part of `score` that counts for the worker. Thin evidence counts for less. */
  cautious: number | null
  /** Bounded mass on the day of the score, and the same without decay. */
  mass: number
  freshMass: number
  level: Level | null
  verified: boolean
}

export interface ScoreResult extends Estimate {
  band: Band | null
  /** Items of the scored skills, and groups that are a source of them. */
  evidenceCount: number
  sourceCount: number
  /** Highest score first, skills without a score last, then by id. */
  skills: SkillScore[]
}

/** An item that counts. `cell` and `type` are its places in the running sums of its skill. */
interface Counted {
  item: Evidence
  assurance: number
  value: number
  permille: number
  /** Bounds of its cell in a layer of height 1, for the mass and for the pull. */
  massLimit: number
  pullLimit: number
  share: number
  cell: number
  type: number
}

/** The items of assurance `least` or more. `height` is the distance to the next lower assurance. */
type Layer = { least: number; height: number }

/** Items of one skill without duplicates, newest first, with the running sums of `walk`. */
export interface Skill {
  items: Counted[]
  layers: Layer[]
  byCell: number[]
  byType: number[]
  /** The bounded sum of the last `walk` without decay. */
  unfaded: number
}

/** A skill that `assess` passes on. `reasons` are of the items that do not count, by id. */
export interface Assessed {
  skillId: string
  own: Evidence[]
  reasons: Map<string, DropReason>
  rule: SkillRule | undefined
  skill: Skill | undefined
  skillScore: SkillScore | undefined
}

/** @throws RangeError on more than 10,000 items, and on a number outside its range */
export const score = (input: ScoreInput): ScoreResult => assess(input)

export function assess(input: ScoreInput, assessed?: Assessed[]): ScoreResult {
  const skills: SkillScore[] = []
  const sources = new Set<string>()
  let evidenceCount = 0
  for (const [skillId, own] of itemsBySkill(input)) {
    const rule = ruleOf(input.vocabulary, skillId)
    const reasons = assessed && new Map<string, DropReason>()
    const skill = rule && skillOf(own, rule, input.asOfDay, reasons)
    const skillScore = skill?.items.length ? skillScoreOf(skillId, skill) : undefined
    if (reasons) assessed?.push({ skillId, own, reasons, rule, skill, skillScore })
    if (skillScore) skills.push(skillScore)
    if (skill === undefined || typeof skillScore?.score !== 'number') continue
    evidenceCount += skill.items.length
    for (const counted of skill.items) if (isSource(counted)) sources.add(counted.item.group)
  }
  sortInPlace(skills, skillOrder)
  const whole = ladder(skills, 'cautious')
  return {
    score: whole,
    low: ladder(skills, 'low'),
    high: ladder(skills, 'high', ceilOf),
    band: whole === null ? null : bandOf(whole),
    evidenceCount,
    sourceCount: sources.size,
    skills,
  }
}

/**
 * Rules 1 to 4: returns the items that count. Sorts `own`. `dropped` receives the reason of each
 * other item by its id.
 */
export function skillOf(
  own: Evidence[],
  { weightPermille, halfLifeMonths }: SkillRule,
  asOfDay: number,
  dropped?: Map<string, DropReason>,
): Skill {
  const items: Counted[] = []
  const skill: Skill = { items, layers: [], byCell: [], byType: [], unfaded: 0 }
  const types: string[] = []
  let cells: number[] = []
  let before: Evidence | undefined
  sortInPlace(own, duplicateOrder)
  for (const item of own) {
    const permille = weightPermille[item.type]
    const age = asOfDay - item.observedDay
    const share = age < 0 ? 0 : decayOf(age, halfLifeMonths)
    const isDuplicate = before?.group === item.group && before.digest === item.digest
    // A name that every object has, such as `constructor`, has no number.
    if (typeof permille !== 'number' || permille === 0) dropped?.set(item.id, 'unknown_type')
    else if (age < 0) dropped?.set(item.id, 'future')
    else if (item.excluded === true) dropped?.set(item.id, 'excluded')
    else if (item.assurance === 0) dropped?.set(item.id, 'assurance_zero')
    else if (share === 0) dropped?.set(item.id, 'expired')
    else if (isDuplicate) dropped?.set(item.id, 'duplicate')
    else {
      // Items are sorted by group, so `cells` are those of the present group, by type.
      if (before?.group !== item.group) cells = []
      before = item
      let type = types.indexOf(item.type)
      if (type < 0) type = types.push(item.type) - 1
      skill.byType[type] ??= 0
      cells[type] ??= skill.byCell.push(0) - 1
      const cell = cells[type] ?? 0
      const massLimit = bounded(permille, parameters.fullMassPermille)
      const pullLimit = bounded(permille, parameters.fullPullPermille) * parameters.reach
      const { assurance, value } = item
      items.push({ item, assurance, value, permille, massLimit, pullLimit, share, cell, type })
    }
  }
  sortInPlace(items, newestFirst)
  skill.layers = layersOf(items)
  return skill
}

/** One layer for each different assurance, highest first. The last one reaches down to 0. */
function layersOf(items: readonly Counted[]): Layer[] {
  const layers: Layer[] = []
  for (const { assurance } of items)
    if (!layers.some(({ least }) => least === assurance))
      layers.push({ least: assurance, height: 0 })
  sortInPlace(layers, (a, b) => b.least - a.least)
  for (const [at, layer] of layers.entries())
    layer.height = layer.least - (layers[at + 1]?.least ?? 0)
  return layers
}

/**
 * Rule 5: adds the items of each layer newest first. Each change of the bounded sum counts with the
 * share of its item. At point null the sum is of masses, otherwise of the pulls at the point.
 */
export function walk(skill: Skill, point: number | null, parts?: number[]): number {
  const { items, byCell, byType } = skill
  let sum = 0
  let unfaded = 0
  for (const { least, height } of skill.layers) {
    for (let cell = 0; cell < byCell.length; cell++) byCell[cell] = 0
    for (let type = 0; type < byType.length; type++) byType[type] = 0
    for (let at = 0; at < items.length; at++) {
      const counted = items[at] as Counted
      const { permille, share, cell, type } = counted
      if (counted.assurance < least) continue
      const limit = height * (point === null ? counted.massLimit : counted.pullLimit)
      const typeLimit = limit * parameters.groupsPerType
      const amount = permille * height * (point === null ? 1 : counted.value - point)
      const cellBefore = byCell[cell] ?? 0
      const cellAfter = cellBefore + amount
      const typeBefore = byType[type] ?? 0
      const typeAfter = typeBefore + bounded(cellAfter, limit) - bounded(cellBefore, limit)
      byCell[cell] = cellAfter
      byType[type] = typeAfter
      const change = bounded(typeAfter, typeLimit) - bounded(typeBefore, typeLimit)
      if (parts !== undefined) parts[at] = (parts[at] ?? 0) + share * change
      sum += share * change
      unfaded += change
    }
  }
  skill.unfaded = unfaded
  return sum
}

/** Rules 6 and 7. */
export function skillScoreOf(skillId: string, skill: Skill): SkillScore {
  const mass = floorOf(walk(skill, null), undecayed)
  const freshMass = skill.unfaded
  const verified =
    mass >= parameters.verifiedMass &&
    skill.items.some(({ assurance }) => assurance >= parameters.verifiedAssurance)
  const facts = { mass, freshMass, level: null, verified }
  if (mass < parameters.massMin)
    return { skillId, score: null, low: null, high: null, cautious: null, ...facts }
  const point = balancePoint(skill)
  const half = halfWidthOf(mass)
  const caution = floorOf(halfWidthOf(freshMass), parameters.cautionDivisor)
  return {
    skillId,
    score: point,
    low: point > half ? point - half : 0,
    high: bounded(point + half, valueMax),
    cautious: point > caution ? point - caution : 0,
    ...facts,
    level: levelOf(point),
  }
}

/**
 * Rule 6: the last point at which the pulls do not sum to less than zero. If they sum to about zero
 * at several points, the one nearest to the plain mean: the middle would let good news lower a
 * score. If no bound is reached, the mean is the balance point, so the search starts there.
 */
function balancePoint(skill: Skill): number {
  const { pullSlack } = parameters
  let [least, most, mass, weighted] = [valueMax, 0, 0, 0]
  for (const { value, permille, assurance, share } of skill.items) {
    if (value < least) least = value
    if (value > most) most = value
    const left = floorOf(permille * assurance * share, undecayed)
    mass += left
    weighted += left * value
  }
  const mean = floorOf(weighted, mass)
  const pull = walk(skill, mean)
  if (pull > pullSlack && walk(skill, mean + 1) < -pullSlack) return mean
  const [from, to] = pull < 0 ? [least, mean] : [mean, most + 1]
  const found = lastPoint(skill, 0, from, to)
  const { last, above = walk(skill, last), below = walk(skill, last + 1) } = found
  if (above > pullSlack && below < -pullSlack) return last
  const first = lastPoint(skill, pullSlack + 1, least - 1, last + 1).last + 1
  const end = lastPoint(skill, -pullSlack, last, most + 1).last
  return mean < first ? first : bounded(mean, end)
}

/**
 * Finds the last point with pulls of at least `pull`, by halving: `last` has them, `next` does not.
 * `above` and `below` are the pulls there and at the next point, if they were computed.
 */
function lastPoint(skill: Skill, pull: number, last: number, next: number) {
  let above: number | undefined
  let below: number | undefined
  while (next - last > 1) {
    const middle = (last + next) >> 1
    const sum = walk(skill, middle)
    if (sum >= pull) [last, above] = [middle, sum]
    else [next, below] = [middle, sum]
  }
  return { last, above, below }
}

/** Rule 7: the smallest h with h² × mass ≥ 500² × 150,000, for a mass from 150,000. */
function halfWidthOf(mass: number): number {
  const { massMin, halfWidthMax } = parameters
  let half: number = halfWidthMax
  let tooFew = 0
  while (half - tooFew > 1) {
    const middle = (half + tooFew) >> 1
    if (middle * middle * mass < halfWidthMax * halfWidthMax * massMin) tooFew = middle
    else half = middle
  }
  return half
}

/** Rule 8. Null without a scored skill. */
export function ladder(
  skills: readonly SkillScore[],
  field: 'cautious' | 'low' | 'high',
  divide = floorOf,
): number | null {
  const values: number[] = []
  for (const { [field]: value } of skills) if (value !== null) values.push(value)
  if (values.length === 0) return null
  sortInPlace(values, (a, b) => b - a)
  let sum = 0
  let highest = 0
  for (let at = 0; at < values.length && at < parameters.ladder.length; at++) {
    sum += values[at] ?? 0
    const rung = divide((parameters.ladder[at] ?? 0) * sum, 1_000 * (at + 1))
    if (rung > highest) highest = rung
  }
  return highest
}

/** Rule 10. */
function isSource({ assurance, permille, share }: Counted): boolean {
  const { sourceAssurance, sourceMassMin } = parameters
  return assurance >= sourceAssurance && permille * assurance * share >= sourceMassMin * undecayed
}

/** Rule 2: among duplicates the item with the lowest id counts, because it was stored first. */
function duplicateOrder(a: Evidence, b: Evidence): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  return a.id < b.id ? -1 : 1
}

function newestFirst({ item: a }: Counted, { item: b }: Counted): number {
  return b.observedDay - a.observedDay || (a.id < b.id ? -1 : 1)
}

function skillOrder(a: SkillScore, b: SkillScore): number {
  return (b.score ?? -1) - (a.score ?? -1) || (a.skillId < b.skillId ? -1 : 1)
}

function bounded(sum: number, limit: number): number {
  return sum > limit ? limit : sum < -limit ? -limit : sum
}
