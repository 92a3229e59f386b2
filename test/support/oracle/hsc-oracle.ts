/**
 * HSC-2 a second time: slow, in big integers, written from the rules by definition without the code
 * of the core. It shares nothing with the core except the shapes of input and result.
 */
import type { Evidence, ScoreInput, SkillRule } from '../../../src/scoring/core/evidence.ts'
import type { ScoreResult, SkillScore } from '../../../src/scoring/core/score.ts'

const two20 = 2n ** 20n
const slack = 2n ** 30n

/** Throws a RangeError on a number outside its range. */
export function oracleScore(input: ScoreInput): ScoreResult {
  const { evidence, vocabulary, asOfDay } = input
  demand(evidence.length <= 10_000)
  demandWhole(asOfDay, -719_528, 2_932_896)
  for (const { assurance, value, observedDay } of evidence) {
    demandWhole(assurance, 0, 1_000)
    demandWhole(value, 0, 1_000)
    demandWhole(observedDay, -719_528, 2_932_896)
  }
  for (const [id, rule] of Object.entries(vocabulary))
    if (evidence.some(({ skillId }) => skillId === id)) demandRule(rule)
  const reasons = oracleReasons(input)
  const all = evidence
    .filter(({ id }) => !reasons.has(id))
    .map((item) => countedOf(item, vocabulary[item.skillId] as SkillRule, asOfDay))
  const skillIds = [...new Set(all.map(({ item }) => item.skillId))]
  const skills = skillIds.map((id) => oracleSkill(id, ofSkill(all, id))).sort(skillOrder)
  const scored = skills.filter(({ score }) => score !== null)
  const counted = scored.flatMap(({ skillId }) => ofSkill(all, skillId))
  const sources = counted.filter(
    ({ item, w, share }) => item.assurance >= 400 && w * share >= 25_000n * two20,
  )
  const score = best(scored.map(({ cautious }) => cautious as number))
  return {
    score,
    low: best(scored.map(({ low }) => low as number)),
    high: best(
      scored.map(({ high }) => high as number),
      true,
    ),
    band: score === null ? null : bandOf(score),
    evidenceCount: counted.length,
    sourceCount: new Set(sources.map(({ item }) => item.group)).size,
    skills,
  }
}

/** Rules 1 and 2: returns the reason of each item that does not count, by id. */
export function oracleReasons({ evidence, vocabulary, asOfDay }: ScoreInput): Map<string, string> {
  const reasons = new Map<string, string>()
  for (const item of evidence) {
    const rule = Object.entries(vocabulary).find(([id]) => id === item.skillId)?.[1]
    const weight = Object.entries(rule?.weightPermille ?? {}).find(([type]) => type === item.type)
    if (rule === undefined) reasons.set(item.id, 'unknown_skill')
    else if ((weight?.[1] ?? 0) === 0) reasons.set(item.id, 'unknown_type')
    else if (item.observedDay > asOfDay) reasons.set(item.id, 'future')
    else if (item.excluded) reasons.set(item.id, 'excluded')
    else if (item.assurance === 0) reasons.set(item.id, 'assurance_zero')
    else if (shareOf(item, rule, asOfDay) === 0n) reasons.set(item.id, 'expired')
  }
  const left = evidence.filter(({ id }) => !reasons.has(id))
  for (const a of left)
    for (const b of left)
      if (a.skillId === b.skillId && a.group === b.group && a.digest === b.digest && b.id < a.id)
        reasons.set(a.id, 'duplicate')
  return reasons
}

interface Counted {
  item: Evidence
  permille: bigint
  w: bigint
  share: bigint
}

function countedOf(item: Evidence, rule: SkillRule, asOfDay: number): Counted {
  const permille = BigInt(rule.weightPermille[item.type] ?? 0)
  const share = shareOf(item, rule, asOfDay)
  return { item, permille, w: permille * BigInt(item.assurance), share }
}

function ofSkill(all: readonly Counted[], id: string): Counted[] {
  return all.filter(({ item }) => item.skillId === id)
}

function shareOf({ observedDay }: Evidence, rule: SkillRule, asOfDay: number): bigint {
  return oracleDecay(BigInt(asOfDay - observedDay), BigInt(rule.halfLifeMonths))
}

/** Rule 5. `factor` is 1 for the mass, or value − point for the pull. */
function boundedSum(
  items: readonly Counted[],
  factor: (item: Evidence) => bigint,
  full: (permille: bigint) => bigint,
): bigint {
  const assurances = [...new Set(items.map(({ item }) => item.assurance)), 0].sort((a, b) => b - a)
  let sum = 0n
  for (const [i, least] of assurances.slice(0, -1).entries()) {
    const height = BigInt(least - (assurances[i + 1] ?? 0))
    const inLayer = items.filter(({ item }) => item.assurance >= least)
    for (const ofType of Map.groupBy(inLayer, ({ item }) => item.type).values()) {
      const limit = full(ofType[0]?.permille ?? 0n) * height
      let typeSum = 0n
      for (const cell of Map.groupBy(ofType, ({ item }) => item.group).values()) {
        const amounts = cell.map(({ item, permille }) => permille * height * factor(item))
        typeSum += clamp(total(amounts), limit)
      }
      sum += clamp(typeSum, 2n * limit)
    }
  }
  return sum
}

const fullMass = (permille: bigint) => least(permille, 350n)
const fullPull = (permille: bigint) => least(permille, 500n) * 200n

function fadedSum(
  items: readonly Counted[],
  factor: (item: Evidence) => bigint,
  full: (permille: bigint) => bigint,
): bigint {
  const days = [...new Set(items.map(({ item }) => item.observedDay))].sort((a, b) => b - a)
  const shares = days.map((day) => items.find(({ item }) => item.observedDay === day)?.share ?? 0n)
  return total(
    days.map((day, j) => {
      const newer = items.filter(({ item }) => item.observedDay >= day)
      return ((shares[j] ?? 0n) - (shares[j + 1] ?? 0n)) * boundedSum(newer, factor, full)
    }),
  )
}

/** Rules 6 and 7. */
function oracleSkill(skillId: string, items: readonly Counted[]): SkillScore {
  const one = () => 1n
  const mass = fadedSum(items, one, fullMass) / two20
  const freshMass = boundedSum(items, one, fullMass)
  const facts = {
    mass: Number(mass),
    freshMass: Number(freshMass),
    verified: mass >= 300_000n && items.some(({ item }) => item.assurance >= 700),
  }
  if (mass < 150_000n)
    return { skillId, score: null, low: null, high: null, cautious: null, ...facts, level: null }
  const pulls = new Map<number, bigint>()
  const pull = (point: number): bigint => {
    const known = pulls.get(point)
    if (known !== undefined) return known
    const sum = fadedSum(items, ({ value }) => BigInt(value - point), fullPull)
    pulls.set(point, sum)
    return sum
  }
  const last = highest((p) => pull(p) >= 0n)
  const first = pull(0) <= slack ? 0 : highest((p) => pull(p) > slack) + 1
  const end = highest((p) => pull(p) >= -slack)
  const ms = items.map(({ w, share }) => (w * share) / two20)
  const mean = Number(total(ms.map((m, i) => m * BigInt(items[i]?.item.value ?? 0))) / total(ms))
  const score = first > end ? last : Math.max(first, Math.min(end, mean))
  const half = halfWidth(mass)
  return {
    skillId,
    score,
    low: Math.max(0, score - half),
    high: Math.min(1_000, score + half),
    cautious: Math.max(0, score - Math.floor(halfWidth(freshMass) / 4)),
    ...facts,
    level:
      score >= 750
        ? 'expert'
        : score >= 500
          ? 'advanced'
          : score >= 250
            ? 'intermediate'
            : 'novice',
  }
}

/** The highest point from 0 to 1000 for which `holds`. It holds for 0, and never again once not. */
function highest(holds: (point: number) => boolean): number {
  let low = 0
  let high = 1_001
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) low = middle
    else high = middle
  }
  return low
}

function halfWidth(mass: bigint): number {
  let h = 0n
  while (h * h * mass < 37_500_000_000n) h++
  return Number(h)
}

/** Rule 8. */
function best(values: readonly number[], isUp = false): number | null {
  const sorted = values.toSorted((a, b) => b - a)
  const rungs = [700, 820, 900, 960, 1_000].slice(0, sorted.length).map((share, at) => {
    const exact = BigInt(share) * BigInt(sorted.slice(0, at + 1).reduce((a, b) => a + b, 0))
    const divisor = 1_000n * BigInt(at + 1)
    return Number(isUp ? (exact + divisor - 1n) / divisor : exact / divisor)
  })
  return rungs.length === 0 ? null : Math.max(...rungs)
}

function bandOf(score: number): ScoreResult['band'] {
  if (score >= 750) return 'exceptional'
  if (score >= 600) return 'strong'
  if (score >= 450) return 'verified'
  return score >= 300 ? 'developing' : 'emerging'
}

function skillOrder(a: SkillScore, b: SkillScore): number {
  if (a.score !== b.score) return (b.score ?? -1) - (a.score ?? -1)
  return a.skillId < b.skillId ? -1 : 1
}

/** Rule 4. */
export function oracleDecay(ageDays: bigint, months: bigint): bigint {
  if (months === 0n) return two20
  const divisor = months * 487n
  const whole = (ageDays * 16n) / divisor
  const rest = ageDays * 16n - whole * divisor
  const i = (rest * 256n) / divisor
  const part = rest * 256n - i * divisor
  const from = oracleTable[Number(i)] ?? 0n
  const to = oracleTable[Number(i) + 1] ?? 0n
  return (from - ((from - to) * part) / divisor) >> whole
}

/**
 * round(2^20 × 2^(−i/256)) without a root: the largest r for which r − ½ is not above the exact
 * value. Both sides are raised to the 256th power.
 */
export const oracleTable: readonly bigint[] = Array.from({ length: 257 }, (_, i) => {
  const bound = 2n ** (21n * 256n - BigInt(i))
  let below = 2n ** 18n
  let above = 2n ** 21n
  while (above - below > 1n) {
    const middle = (below + above) / 2n
    if ((2n * middle - 1n) ** 256n <= bound) below = middle
    else above = middle
  }
  return below
})

function clamp(sum: bigint, limit: bigint): bigint {
  return sum > limit ? limit : sum < -limit ? -limit : sum
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function total(numbers: readonly bigint[]): bigint {
  return numbers.reduce((a, b) => a + b, 0n)
}

function demand(holds: boolean): void {
  if (!holds) throw new RangeError('outside its range')
}

function demandWhole(number: number, min: number, max: number): void {
  demand(Number.isInteger(number) && number >= min && number <= max)
}

function demandRule({ halfLifeMonths, weightPermille }: SkillRule): void {
  demandWhole(halfLifeMonths, 0, 1_200)
  for (const weight of Object.values(weightPermille)) demandWhole(weight, 0, 1_000)
  demand(Object.values(weightPermille).reduce((a, b) => a + b, 0) <= 1_000)
}
