/**
 * Measures the scoring core with candidates of 24 items that all count, and one of 500 items. The
 * limit beside it: a bare loop over the same items that sums base × value, without skills, groups,
 * order or decay. Nothing may stay in memory from one candidate to the next.
 */
import type { Evidence, ScoreInput, Vocabulary } from '../src/scoring/core/evidence.ts'
import { explain } from '../src/scoring/core/explain.ts'
import { score } from '../src/scoring/core/score.ts'
import { collectGarbage } from '../test/support/start/garbage.ts'
import { costsOf, report } from './measure.ts'

const asOfDay = 20_400
const types = ['assessment', 'work_product', 'peer_review', 'credential'] as const
const weightPermille = { assessment: 350, work_product: 300, peer_review: 150, credential: 200 }
const skillIds = Array.from({ length: 200 }, (_, at) => `hss:skill-${at}`)
const vocabulary: Vocabulary = Object.fromEntries(
  skillIds.map((id, at) => [
    id,
    { halfLifeMonths: [0, 12, 24, 36, 72][at % 5] ?? 0, weightPermille },
  ]),
)

/**
 * Eight skills and six groups for each candidate, without duplicates. Every string is separate, as
 * if read from a database.
 */
function candidate(who: number, length: number): ScoreInput {
  const evidence = Array.from(
    { length },
    (_, at): Evidence => ({
      id: `evidence-${who}-${at}`,
      skillId: `hss:skill-${(who * 7 + (at % 8) * 11) % skillIds.length}`,
      type: `${types[(who + at * 5 + (at >> 3)) % types.length]}`,
      group: `group-${(who + at * 5) % 6}`,
      assurance: [100, 400, 700, 1_000][(who + at) % 4] ?? 0,
      value: (who * 31 + at * 97) % 1_001,
      observedDay: asOfDay - ((who * 13 + at * 89) % 1_500),
      digest: `digest-${who}-${at}`,
    }),
  )
  return { evidence, vocabulary, asOfDay }
}

const candidates = Array.from({ length: 2_000 }, (_, who) => candidate(who, 24))
const large = candidate(1, 500)
let next = 0
const inTurn = (): ScoreInput => candidates[next++ % candidates.length] ?? large

function bareSum({ evidence }: ScoreInput): number {
  let sum = 0
  for (const { type, assurance, value } of evidence)
    sum += weightPermille[type as keyof typeof weightPermille] * assurance * value
  return sum
}

/** Returns the bytes in use after a full collection. */
function heapInUse(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

function heapGrowthOver(count: number): number {
  for (let i = 0; i < 10_000; i++) score(inTurn())
  const before = heapInUse()
  for (let i = 0; i < count; i++) score(inTurn())
  return heapInUse() - before
}

const costs = await costsOf([
  { name: 'score 24', run: () => score(inTurn()), operations: 5_000 },
  { name: 'bare 24', run: () => bareSum(inTurn()), operations: 50_000 },
  { name: 'explain 24', run: () => explain(inTurn()), operations: 1_000 },
  { name: 'score 500', run: () => score(large), operations: 100 },
  { name: 'explain 500', run: () => explain(large), operations: 20 },
])

const sample = candidates.map((input) => score(input).evidenceCount)
report('scoring core', [
  {
    name: 'candidates of 24 items, a core',
    value: 1e6 / costs.of('score 24'),
    unit: 'a second',
    target: { min: 40_000 },
  },
  { name: 'limit: the bare sum', value: 1e6 / costs.of('bare 24'), unit: 'a second' },
  { name: 'times the limit', value: costs.ratio('bare 24', 'score 24'), unit: '×' },
  {
    name: 'items that count, of 24',
    value: sample.reduce((a, b) => a + b, 0) / sample.length,
    unit: 'on average',
    target: { min: 24 },
  },
  {
    name: 'one candidate of 500 items',
    value: costs.of('score 500') / 1_000,
    unit: 'ms',
    target: { max: 5 },
  },
  { name: 'explained: 24 items', value: costs.of('explain 24') / 1_000, unit: 'ms' },
  {
    name: 'explained: 500 items',
    value: costs.of('explain 500') / 1_000,
    unit: 'ms',
    target: { max: 20 },
  },
  {
    name: 'heap growth over 100,000 candidates',
    value: heapGrowthOver(100_000) / 1_024,
    unit: 'KiB',
    target: { max: 256 },
  },
])
