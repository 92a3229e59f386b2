/**
 * Pure: measures on live evidence what the model of the score assumes: scatter of an item, severity
 * of a group, agreement of groups, and whether a range covers the next result.
 */
import type { Static } from 'typebox'
import { calibrationRow, emptyRow } from './report-fields.ts'
import { nearPoints, type ReportOptions } from './source-report.ts'
import {
  addPair,
  type CountedSkill,
  correlationOf,
  countedSkills,
  decimals,
  deviationOf,
  meanOf,
  noSums,
  type ReportItem,
  rounded,
  scoreItems,
} from './statistics.ts'

const kinds = ['all', 'items left', 'level', 'source'] as const

export type CalibrationRow = Static<typeof calibrationRow>

interface Calibration {
  by: CalibrationRow['by']
  name: string
  workers: number
  n: number
  inside: number
  errors: number
}

/** Items of one group and type count together if they are at most so far apart. */
const apartDaysMax = 180

export function openReliability({ vocabulary, asOfDay, minCell }: ReportOptions) {
  const calibrations = new Map<string, Calibration>()
  const retests = { values: noSums(), changes: noSums() }
  const scatter = { cells: 0, items: 0, squares: 0 }
  const units = { count: 0, groups: 0, sum: 0, within: 0, between: 0, countSquares: 0, inverse: 0 }

  function addCell(newestFirst: readonly ReportItem[]): void {
    const newestDay = newestFirst[0]?.observedDay ?? 0
    const near = newestFirst.filter(({ observedDay }) => newestDay - observedDay <= apartDaysMax)
    if (near.length >= 2) {
      scatter.cells++
      scatter.items += near.length
      scatter.squares += squaresOf(near.map(({ value }) => value))
    }
    for (const [at, later] of newestFirst.entries()) {
      const earlier = newestFirst[at + 1]
      const days = later.observedDay - (earlier?.observedDay ?? later.observedDay)
      if (earlier === undefined || days < 1 || days > apartDaysMax) continue
      addPair(retests.values, earlier.value, later.value)
      addPair(retests.changes, later.value - earlier.value)
    }
  }

  function addUnit(groups: readonly (readonly ReportItem[])[]): void {
    const means = groups.map((own) => own.reduce((sum, { value }) => sum + value, 0) / own.length)
    const sum = means.reduce((a, b) => a + b, 0)
    units.count++
    units.groups += means.length
    units.countSquares += means.length ** 2
    units.sum += sum
    units.between += sum ** 2 / means.length
    units.within += squaresOf(means)
    for (const own of groups) units.inverse += 1 / own.length
  }

  function addCalibration({ rule, items }: CountedSkill, touched: Set<Calibration>): void {
    const newest = items[0]
    if (newest === undefined || scoreItems(rule, items, asOfDay).score === null) return
    const others = items.filter(({ group }) => group !== newest.group)
    const { score, low, high, level } = scoreItems(rule, others, newest.observedDay)
    if (score === null || low === null || high === null || level === null) return
    // The range is cut at 0 and 1000, so the longer side is the half width.
    const half = Math.max(score - low, high - score)
    const error = newest.value - score
    const isInside = Math.abs(error) <= Math.ceil(Math.hypot(half, nearPoints))
    for (const [by, name] of [
      ['all', 'all'],
      ['items left', countName(others.length)],
      ['level', level],
      ['source', newest.sourceName],
    ] as const) {
      const calibration = calibrationOf(calibrations, by, name)
      touched.add(calibration)
      calibration.n++
      calibration.errors += error
      if (isInside) calibration.inside++
    }
  }

  return {
    /** Takes the evidence of one worker. */
    add(evidence: readonly ReportItem[]): void {
      const touched = new Set<Calibration>()
      for (const skill of countedSkills(evidence, vocabulary, asOfDay)) {
        for (const cell of Map.groupBy(
          skill.items,
          ({ group, type }) => `${type} ${group}`,
        ).values())
          addCell(cell)
        const groups = [...Map.groupBy(skill.items, ({ group }) => group).values()]
        if (groups.length < 2) continue
        addUnit(groups)
        addCalibration(skill, touched)
      }
      for (const calibration of touched) calibration.workers++
    },
    result() {
      const { cells, items, squares } = scatter
      const variance = items > cells ? squares / (items - cells) : null
      const { values, changes } = retests
      const sdOfChange = deviationOf(changes)
      return {
        scatter: { cells, items, points: decimals(root(variance)), expected: 120 },
        agreement: agreementOf(units, variance),
        retest: {
          pairs: changes.n,
          correlation: decimals(correlationOf(values)),
          meanChange: decimals(meanOf(changes)),
          points: decimals(sdOfChange === null ? null : sdOfChange / Math.SQRT2),
        },
        rows: [...calibrations.values()]
          .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
          .map((one) => rowOf(one, minCell)),
      }
    },
  }
}

/** Returns the sum of the squared distances from the mean. */
function squaresOf(values: readonly number[]): number {
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
}

interface Units {
  count: number
  groups: number
  sum: number
  within: number
  /** Σ of the squared sum of a unit, divided by its number of groups. */
  between: number
  countSquares: number
  /** Σ 1 ÷ items behind each mean. */
  inverse: number
}

/** One-way analysis of variance: units are skills of workers, and groups judge them. */
function agreementOf(units: Units, scatter: number | null) {
  const { count, groups, sum, within, between, countSquares, inverse } = units
  const nothing = { units: count, groups, icc: null, iccOfTwo: null, iccOfThree: null }
  if (count < 2) return { ...nothing, iccOfFive: null, severity: null, expected: 60 }
  const msb = (between - sum ** 2 / groups) / (count - 1)
  const msw = within / (groups - count)
  const k0 = (groups - countSquares / groups) / (count - 1)
  const total = msb + (k0 - 1) * msw
  const icc = total === 0 ? null : Math.max(0, (msb - msw) / total)
  const ofMean = (n: number) => decimals(icc === null ? null : (n * icc) / (1 + (n - 1) * icc))
  const severity = scatter === null ? null : Math.max(0, msw - (scatter * inverse) / groups)
  return {
    units: count,
    groups,
    icc: decimals(icc),
    iccOfTwo: ofMean(2),
    iccOfThree: ofMean(3),
    iccOfFive: ofMean(5),
    severity: decimals(root(severity)),
    expected: 60,
  }
}

function root(square: number | null): number | null {
  return square === null ? null : Math.sqrt(square)
}

const countNames = ['1', '2', '3', '4–6', '7–12', '13+'] as const

function countName(items: number): (typeof countNames)[number] {
  if (items <= 3) return countNames[items - 1] ?? '1'
  return items <= 6 ? '4–6' : items <= 12 ? '7–12' : '13+'
}

function calibrationOf(
  calibrations: Map<string, Calibration>,
  by: CalibrationRow['by'],
  name: string,
): Calibration {
  const key = `${by} ${name}`
  const calibration = calibrations.get(key)
  if (calibration !== undefined) return calibration
  const made = { by, name, workers: 0, n: 0, inside: 0, errors: 0 }
  calibrations.set(key, made)
  return made
}

const names: readonly string[] = [...countNames, 'expert', 'advanced', 'intermediate', 'novice']

function placeOf({ by, name }: Calibration): string {
  return `${kinds.indexOf(by)} ${names.indexOf(name)} ${name}`
}

function rowOf({ by, name, workers, n, inside, errors }: Calibration, minCell: number) {
  if (workers < minCell) return { ...emptyRow(calibrationRow), by, name }
  return {
    by,
    name,
    workers,
    compared: n,
    inside: rounded(inside, n),
    meanError: decimals(errors / n),
    low: n >= 200 && inside * 100 < n * 93,
  }
}
