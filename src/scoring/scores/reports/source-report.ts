/**
 * Pure: compares the results of each source with the results that other groups gave the same
 * workers. A difference can be a difference of workers: it is a reason to look, not a correction.
 */
import type { Static } from 'typebox'
import type { Vocabulary } from '../../core/evidence.ts'
import { emptyRow, sourceRow } from './report-fields.ts'
import {
  addPair,
  correlationOf,
  countedSkills,
  decimals,
  deviationOf,
  isBeyond,
  meanOf,
  noSums,
  type ReportItem,
  rounded,
  type Sums,
  scoreItems,
} from './statistics.ts'

type SourceRow = Static<typeof sourceRow>

interface Tally {
  by: 'source' | 'type'
  name: string
  workers: number
  items: number
  near: number
  differences: Sums
  /** Pairs of the value and the score by other groups. */
  values: Sums
}

/** 1.96 standard deviations of one item about the level: 1.96 × 134. */
export const nearPoints = 263

export interface ReportOptions {
  vocabulary: Vocabulary
  asOfDay: number
  /** A row with fewer workers shows its name alone. At least 5. */
  minCell: number
}

export function openSourceReport({ vocabulary, asOfDay, minCell }: ReportOptions) {
  const tallies = new Map<string, Tally>()
  return {
    /** Takes the evidence of one worker. */
    add(evidence: readonly ReportItem[]): void {
      const touched = new Set<Tally>()
      for (const { rule, items } of countedSkills(evidence, vocabulary, asOfDay))
        for (const [group, own] of Map.groupBy(items, (item) => item.group)) {
          const others = items.filter((item) => item.group !== group)
          const expected = scoreItems(rule, others, asOfDay).score
          for (const { sourceName, type, value } of own)
            for (const [by, name] of [
              ['source', sourceName],
              ['type', type],
            ] as const) {
              const tally = tallyOf(tallies, by, name)
              touched.add(tally)
              tally.items++
              if (expected === null) continue
              addPair(tally.differences, value - expected)
              addPair(tally.values, value, expected)
              if (Math.abs(value - expected) <= nearPoints) tally.near++
            }
        }
      for (const tally of touched) tally.workers++
    },
    rows(): SourceRow[] {
      const sorted = [...tallies].sort(([a], [b]) => (a < b ? -1 : 1))
      return sorted.map(([, tally]) => rowOf(tally, minCell))
    },
  }
}

function tallyOf(tallies: Map<string, Tally>, by: Tally['by'], name: string): Tally {
  const key = `${by} ${name}`
  const tally = tallies.get(key)
  if (tally !== undefined) return tally
  const counts = { workers: 0, items: 0, near: 0 }
  const made = { by, name, ...counts, differences: noSums(), values: noSums() }
  tallies.set(key, made)
  return made
}

function rowOf(tally: Tally, minCell: number): SourceRow {
  const { by, name, workers, items, near, differences, values } = tally
  if (workers < minCell) return { ...emptyRow(sourceRow), by, name }
  const { n, x: sum } = differences
  const sd = deviationOf(differences)
  // In the model 120² ÷ 60² = 4: so many items tell as much of a group as the model does.
  const isFar = Math.abs(sum) >= 60 * (n + 4) && isBeyond(differences, 3)
  const spread = deviationOf(values)
  return {
    by,
    name,
    workers,
    items,
    compared: n,
    meanDifference: decimals(meanOf(differences)),
    sd: decimals(sd),
    standardError: decimals(sd === null ? null : sd / Math.sqrt(n)),
    severity: n === 0 ? null : decimals(sum / (n + 4)),
    correlation: n < 10 ? null : decimals(correlationOf(values)),
    near: rounded(near, n),
    lenient: isFar && sum > 0,
    severe: isFar && sum < 0,
    narrow: n >= 30 && spread !== null && spread < 40,
  }
}
