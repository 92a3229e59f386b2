/**
 * HSC-1 a second time: slow, in big integers, written step by step from the text of the algorithm
 * without the code of the core. It shares nothing with the core except the shapes of input and
 * result.
 */
import type { Evidence, ScoreInput, Vocabulary } from '../../../src/scoring-core/evidence.ts'
import type { ScoreResult, SkillScore } from '../../../src/scoring-core/score.ts'

const two20 = 2n ** 20n
const priorScore = 100_000n
const priorInterval = 300_000n
const priorValue = 250n
const shares = [700n, 820n, 900n, 960n, 1_000n]

interface Weighed {
  evidence: Evidence
  base: bigint
  b: bigint
}

export function oracleScore({ evidence, vocabulary, asOfDay }: ScoreInput): ScoreResult {
  const remaining = withoutLosers(
    evidence.filter((item) => counts(item, vocabulary, asOfDay)),
    vocabulary,
  )
  const skillIds = [...new Set(remaining.map(({ skillId }) => skillId))]
  const skills = skillIds
    .map((skillId) =>
      oracleSkill(
        remaining.filter((item) => item.skillId === skillId),
        vocabulary,
        asOfDay,
      ),
    )
    .sort((a, b) => b.score - a.score || (a.skillId < b.skillId ? -1 : 1))
  const score = best(
    skills.map((skill) => skill.score),
    'down',
  )
  return {
    score,
    low: best(
      skills.map((skill) => skill.low),
      'down',
    ),
    high: best(
      skills.map((skill) => skill.high),
      'up',
    ),
    evidenceCount: remaining.length,
    sourceCount: new Set(remaining.map(({ group }) => group)).size,
    skills,
    band:
      score <= 299
        ? 'emerging'
        : score <= 449
          ? 'developing'
          : score <= 599
            ? 'verified'
            : score <= 749
              ? 'strong'
              : 'exceptional',
  }
}

/** Step 1. */
function counts(item: Evidence, vocabulary: Vocabulary, asOfDay: number): boolean {
  const rule = Object.entries(vocabulary).find(([id]) => id === item.skillId)?.[1]
  const known = Object.keys(rule?.weightPermille ?? {}).includes(item.type)
  return known && item.observedDay <= asOfDay && item.excluded !== true && item.assurance > 0
}

/** Step 3. */
function baseOf(item: Evidence, vocabulary: Vocabulary): bigint {
  const weight = vocabulary[item.skillId]?.weightPermille[item.type] ?? 0
  return BigInt(weight) * BigInt(item.assurance)
}

/** Step 2, pair by pair. If two items are equal in every respect, the first is kept. */
function withoutLosers(items: readonly Evidence[], vocabulary: Vocabulary): Evidence[] {
  const better = (a: Evidence, b: Evidence): boolean => {
    const byBase = baseOf(a, vocabulary) - baseOf(b, vocabulary)
    if (byBase !== 0n) return byBase > 0n
    if (a.observedDay !== b.observedDay) return a.observedDay > b.observedDay
    if (a.value !== b.value) return a.value > b.value
    return a.id < b.id
  }
  return items.filter((item, at) =>
    items.every((other, otherAt) => {
      const same =
        other.skillId === item.skillId &&
        other.group === item.group &&
        other.digest === item.digest &&
        otherAt !== at
      return !same || better(item, other) || (!better(other, item) && at < otherAt)
    }),
  )
}

/** Steps 4 to 7 for the items of one skill. */
function oracleSkill(
  items: readonly Evidence[],
  vocabulary: Vocabulary,
  asOfDay: number,
): SkillScore {
  const skillId = items[0]?.skillId ?? ''
  const months = vocabulary[skillId]?.halfLifeMonths ?? 0
  const weighed: Weighed[] = items.map((evidence) => {
    const base = baseOf(evidence, vocabulary)
    const decay = oracleDecay(BigInt(asOfDay - evidence.observedDay), BigInt(months))
    return { evidence, base, b: (base * decay) / two20 }
  })
  let a = 0n
  let n = 0n
  for (const one of weighed) {
    const heavier = weighed.filter(
      (other) =>
        other.evidence.group === one.evidence.group &&
        other.evidence.type === one.evidence.type &&
        comesBefore(other, one),
    )
    const w = one.b / 2n ** BigInt(heavier.length)
    a += w * BigInt(one.evidence.value)
    n += w
  }
  const score = Number((a + priorScore * priorValue) / (n + priorScore))
  return {
    skillId,
    score,
    low: Number(a / (n + priorInterval)),
    high: Number(up(a + 1_000n * priorInterval, n + priorInterval)),
    mass: Number(n),
    level:
      score < 250 ? 'novice' : score < 500 ? 'intermediate' : score < 750 ? 'advanced' : 'expert',
    verified: n >= priorInterval && items.some(({ assurance }) => assurance >= 700),
  }
}

function comesBefore(a: Weighed, b: Weighed): boolean {
  if (a.b !== b.b) return a.b > b.b
  if (a.evidence.value !== b.evidence.value) return a.evidence.value > b.evidence.value
  return a.evidence.id < b.evidence.id
}

/**
 * Step 4: one month is 30.4375 days, so half-lives = age / (months × 30.4375) = age × 16 / (months
 * × 487).
 */
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

/** Step 8. */
function best(values: readonly number[], direction: 'up' | 'down'): number {
  const sorted = values.toSorted((a, b) => b - a).map(BigInt)
  const candidates = shares.slice(0, sorted.length).map((share, at) => {
    const sum = sorted.slice(0, at + 1).reduce((a, b) => a + b, 0n)
    const divisor = 1_000n * BigInt(at + 1)
    return Number(direction === 'up' ? up(share * sum, divisor) : (share * sum) / divisor)
  })
  return candidates.reduce((a, b) => (a > b ? a : b), 0)
}

function up(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}
