/**
 * Pure: the adverse-impact report of an auditor. Categories are read, counted in memory and
 * dropped. Rates are compared in whole numbers; ratios are rounded only for print.
 */
import type { Static } from 'typebox'
import { emptyRow, impactRow } from './report-fields.ts'
import { addPair, decimals, deviationOf, meanOf, noSums, rounded, type Sums } from './statistics.ts'

/** A worker of the export. */
export interface Scored {
  score: number | null
  low: number | null
}

export interface ImpactInput {
  /** By subject. */
  scores: ReadonlyMap<string, Scored>
  /** The columns of the audit, and the values of each subject in their order. */
  columns: readonly string[]
  rows: readonly { subject: string; values: readonly string[] }[]
  /** A cell with fewer workers shows nothing else. At least 5. */
  minCell: number
  /** A further cut score, or null. */
  cut: number | null
}

export type ImpactRow = Static<typeof impactRow>

export interface Impact {
  /** Workers of the file that the export does not have, and of the export that the file lacks. */
  notInExport: number
  notInFile: number
  rows: ImpactRow[]
}

const cuts = [300, 450, 600, 750]

interface Rule {
  name: string
  selects(worker: Scored): boolean
}

export function impactOf(input: ImpactInput): Impact {
  const { scores, columns, rows } = input
  const known = rows.flatMap(({ subject, values }) => {
    const worker = scores.get(subject)
    return worker === undefined ? [] : { worker, values }
  })
  const rules = rulesOf(
    known.map(({ worker }) => worker),
    input.cut,
  )
  const singles = columns.map((_, at) => [at])
  const sets = columns.length > 1 ? [...singles, columns.map((_, at) => at)] : singles
  const report = sets.flatMap((set) => {
    const by = set.map((at) => columns[at]).join(', ')
    // A value may hold a comma, so that only JSON tells two values from another two.
    const groups = Map.groupBy(known, ({ values }) => JSON.stringify(set.map((at) => values[at])))
    const categories = [...groups].map(([key, members]) => ({
      category: (JSON.parse(key) as string[]).join(', '),
      workers: members.map(({ worker }) => worker),
    }))
    categories.sort((a, b) => (a.category < b.category ? -1 : 1))
    const shown = categories.filter(({ workers }) => workers.length >= input.minCell)
    const hidden = categories.filter(({ workers }) => workers.length < input.minCell)
    return [
      ...rules.flatMap((rule) => compared(shown, { by, rule, all: known.length })),
      ...hidden.map(({ category }) => ({ ...nothing, by, category })),
    ]
  })
  const subjects = new Set(rows.map(({ subject }) => subject))
  return {
    notInExport: rows.length - known.length,
    notInFile: [...scores.keys()].filter((subject) => !subjects.has(subject)).length,
    rows: report,
  }
}

function rulesOf(workers: readonly Scored[], cut: number | null): Rule[] {
  const values = workers.flatMap(({ score }) => score ?? []).sort((a, b) => a - b)
  const half = values.length >> 1
  // Twice the median is a whole number also between two scores.
  const twice = (values[values.length % 2 === 0 ? half - 1 : half] ?? 0) + (values[half] ?? 0)
  return [
    ...cuts.map((least) => atLeast('score', least)),
    ...cuts.map((least) => atLeast('low', least)),
    ...(cut === null ? [] : [atLeast('score', cut)]),
    { name: 'score above the median', selects: ({ score }) => score !== null && 2 * score > twice },
  ]
}

function atLeast(field: 'score' | 'low', least: number): Rule {
  return { name: `${field} from ${least}`, selects: (worker) => (worker[field] ?? -1) >= least }
}

interface Category {
  category: string
  workers: readonly Scored[]
}

/** Compares each category with the one of the highest rate that is not tiny. */
function compared(
  categories: readonly Category[],
  { by, rule, all }: { by: string; rule: Rule; all: number },
): ImpactRow[] {
  const counts = categories.map(({ category, workers }) => {
    const scored = workers.flatMap(({ score }) => score ?? [])
    const selected = workers.filter((worker) => rule.selects(worker)).length
    return { category, n: workers.length, s: scored.length, k: selected, scored }
  })
  const reference = counts
    .filter(({ n, s }) => s > 0 && n >= 5 && n * 50 >= all)
    .reduce<(typeof counts)[number] | null>(
      (best, one) => (best === null || one.k * best.s > best.k * one.s ? one : best),
      null,
    )
  return counts.map((one): ImpactRow => {
    const { category, n, s, k, scored } = one
    const own = sumsOf(scored)
    const row = {
      by,
      category,
      workers: n,
      scored: s,
      coverage: rounded(s, n),
      rule: rule.name,
      selected: k,
      rate: rounded(k, s),
      rateOfAll: rounded(k, n),
      isReference: one === reference,
      meanScore: decimals(meanOf(own)),
      sd: decimals(deviationOf(own)),
    }
    if (reference === null || s === 0) return { ...nothing, ...row }
    const p = fisher(k, s, reference.k, reference.s)
    const theirs = sumsOf(reference.scored)
    return {
      ...row,
      ratio: reference.k === 0 ? null : rounded(k * reference.s, s * reference.k),
      belowFourFifths: 5 * k * reference.s < 4 * reference.k * s,
      z: decimals(zOf(k, s, reference.k, reference.s)),
      p: decimals(p),
      significant: p < 0.05,
      few: s < 30 || k + reference.k < 5,
      d: decimals(distance(own, theirs)),
    }
  })
}

const nothing = { ...emptyRow(impactRow), by: '', category: '', rule: '', isReference: false }

function sumsOf(scores: readonly number[]): Sums {
  const sums = noSums()
  for (const score of scores) addPair(sums, score)
  return sums
}

function distance(a: Sums, b: Sums): number | null {
  const [sdA, sdB] = [deviationOf(a), deviationOf(b)]
  if (sdA === null || sdB === null) return null
  const pooled = Math.sqrt(((a.n - 1) * sdA ** 2 + (b.n - 1) * sdB ** 2) / (a.n + b.n - 2))
  return pooled === 0 ? null : (a.x / a.n - b.x / b.n) / pooled
}

function zOf(k: number, s: number, kRef: number, sRef: number): number | null {
  const p = (k + kRef) / (s + sRef)
  const error = Math.sqrt(p * (1 - p) * (1 / s + 1 / sRef))
  return error === 0 ? null : (k / s - kRef / sRef) / error
}

/** The sum of all tables that are not more probable than the observed one. */
export function fisher(k: number, s: number, kRef: number, sRef: number): number {
  const selected = k + kRef
  const all = s + sRef
  const logs = logFactorials(all)
  const log = (n: number): number => logs[n] as number
  const fixed = log(selected) + log(all - selected) + log(s) + log(sRef) - log(all)
  const probability = (a: number): number =>
    Math.exp(fixed - log(a) - log(s - a) - log(selected - a) - log(sRef - selected + a))
  const observed = probability(k)
  let sum = 0
  for (let a = Math.max(0, selected - sRef); a <= Math.min(s, selected); a++) {
    const one = probability(a)
    if (one <= observed * (1 + 1e-7)) sum += one
  }
  return Math.min(1, sum)
}

function logFactorials(end: number): Float64Array {
  const logs = new Float64Array(end + 1)
  for (let n = 2; n <= end; n++) logs[n] = (logs[n - 1] as number) + Math.log(n)
  return logs
}
