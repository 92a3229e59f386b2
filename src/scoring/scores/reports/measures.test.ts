/** The reports on sources and reliability find the figures of which simulated workers are made. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draws } from '../../../../test/support/oracle/draws.ts'
import type { Vocabulary } from '../../core/evidence.ts'
import { openReliability } from './reliability.ts'
import { openSourceReport } from './source-report.ts'
import type { ReportItem } from './statistics.ts'

const asOfDay = 20_400
const weightPermille = { assessment: 350, work_product: 300 }
const vocabulary: Vocabulary = { 'hss:s': { halfLifeMonths: 24, weightPermille } }
const options = { vocabulary, asOfDay, minCell: 5 }

interface Shape {
  workers: number
  groups: number
  itemsOfGroup: number
  scatter: number
  severity: number
  /** Points that the first group adds. */
  bias?: number
}

/** value = level of the worker + severity of the group for the worker + scatter. */
function simulated({ workers, groups, itemsOfGroup, scatter, severity, bias = 0 }: Shape) {
  const draw = draws(7)
  return Array.from({ length: workers }, () => {
    const level = 500 + 100 * draw.normal()
    return Array.from({ length: groups }, (_, group) => {
      const own = level + severity * draw.normal() + (group === 0 ? bias : 0)
      return Array.from({ length: itemsOfGroup }, (_, at): ReportItem => {
        const id = `e${group}-${at}`
        const value = Math.round(own + scatter * draw.normal())
        return {
          id,
          skillId: 'hss:s',
          type: 'assessment',
          group: `g${group}`,
          assurance: 1_000,
          value: Math.max(0, Math.min(1_000, value)),
          observedDay: asOfDay - 10 * at,
          digest: id,
          sourceName: `source-${group}`,
        }
      })
    }).flat()
  })
}

function sourcesOf(workers: readonly (readonly ReportItem[])[], over = {}) {
  const report = openSourceReport({ ...options, ...over })
  for (const worker of workers) report.add(worker)
  return report.rows()
}

function reliabilityOf(workers: readonly (readonly ReportItem[])[]) {
  const report = openReliability(options)
  for (const worker of workers) report.add(worker)
  return report.result()
}

function isNear(found: number | null, expected: number, apart: number): void {
  assert.ok(found !== null && Math.abs(found - expected) <= apart, `${found}, not ${expected}`)
}

test('sources: a source that adds 150 points is lenient by about 150, and the others are not severe', () => {
  const shape = { workers: 400, groups: 6, itemsOfGroup: 1, scatter: 80, severity: 0, bias: 150 }
  const rows = sourcesOf(simulated(shape))
  const [type, first, ...others] = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  assert.partialDeepStrictEqual(type, {
    by: 'type',
    name: 'assessment',
    workers: 400,
    items: 2_400,
  })
  assert.partialDeepStrictEqual(first, { by: 'source', name: 'source-0', lenient: true })
  isNear(first?.severity ?? null, 150, 15)
  for (const row of others) assert.partialDeepStrictEqual(row, { lenient: false, severe: false })
})

test('sources: a single result of value 800 beside one of 500 differs by 300, with no standard error', () => {
  const items = simulated({ workers: 1, groups: 2, itemsOfGroup: 1, scatter: 0, severity: 0 })
  const [a, b] = items[0] ?? []
  assert.ok(a !== undefined && b !== undefined)
  const workers = Array.from({ length: 5 }, () => [
    { ...a, value: 800 },
    { ...b, value: 500 },
  ])
  const [row] = sourcesOf(workers)
  assert.deepEqual(row, {
    by: 'source',
    name: 'source-0',
    workers: 5,
    items: 5,
    compared: 5,
    meanDifference: 300,
    sd: 0,
    standardError: 0,
    severity: 166.667,
    correlation: null,
    near: 0,
    lenient: true,
    severe: false,
    narrow: false,
  })
})

test('sources: a source whose values hardly differ is narrow', () => {
  const workers = simulated({ workers: 40, groups: 2, itemsOfGroup: 1, scatter: 60, severity: 0 })
  const flat = workers.map((items) =>
    items.map((item) => (item.group === 'g1' ? { ...item, value: 600 + (item.value % 20) } : item)),
  )
  const [varied, narrow] = sourcesOf(flat)
  assert.deepEqual([varied?.narrow, narrow?.narrow], [false, true])
})

test('sources: a row of fewer than five workers shows its name alone', () => {
  const four = simulated({ workers: 4, groups: 2, itemsOfGroup: 1, scatter: 60, severity: 0 })
  for (const { by, name, ...numbers } of sourcesOf(four)) {
    assert.ok(by !== undefined && name !== '')
    assert.deepEqual([...new Set(Object.values(numbers))], [null])
  }
})

test('reliability: scatter, severity and agreement are those of the model', () => {
  const shape = { workers: 1_500, groups: 3, itemsOfGroup: 3, scatter: 120, severity: 60 }
  const { scatter, agreement, retest } = reliabilityOf(simulated(shape))
  assert.deepEqual([scatter.cells, scatter.items], [4_500, 13_500])
  isNear(scatter.points, 120, 4)
  isNear(agreement.severity, 60, 8)
  // Level 100², mean of a group 60² + 120² ÷ 3.
  isNear(agreement.icc, 100 ** 2 / (100 ** 2 + 60 ** 2 + 120 ** 2 / 3), 0.04)
  assert.ok((agreement.iccOfFive ?? 0) > (agreement.iccOfTwo ?? 1))
  assert.equal(retest.pairs, 9_000)
  isNear(retest.points, 120, 4)
  isNear(retest.meanChange, 0, 4)
})

test('reliability: the scatter of two items 100 points apart is 71, and items of another half year are left out', () => {
  const [worker = []] = simulated({
    workers: 1,
    groups: 1,
    itemsOfGroup: 3,
    scatter: 0,
    severity: 0,
  })
  const values = [600, 500, 0]
  const days = [0, 180, 400]
  const items = worker.map((item, at) => ({
    ...item,
    value: values[at] ?? 0,
    observedDay: asOfDay - (days[at] ?? 0),
  }))
  const { scatter, retest, agreement, rows } = reliabilityOf([items])
  assert.deepEqual([scatter.cells, scatter.items, scatter.points], [1, 2, 70.711])
  assert.deepEqual([retest.pairs, retest.meanChange], [1, 100])
  assert.deepEqual([agreement.units, agreement.icc, rows], [0, null, []])
})

test('reliability: ranges cover the newest result under the model, and are low for a source far off', () => {
  const shape = { workers: 300, groups: 3, itemsOfGroup: 1, scatter: 120, severity: 60 }
  const all = reliabilityOf(simulated(shape)).rows
  assert.partialDeepStrictEqual(all[0], { by: 'all', workers: 300, compared: 300, low: false })
  assert.ok((all[0]?.inside ?? 0) >= 0.95)
  const far = simulated({ ...shape, groups: 12, bias: 450 })
  const [row, ...others] = reliabilityOf(far).rows
  assert.equal(row?.low, true)
  assert.ok(others.some(({ by, name, low }) => by === 'source' && name === 'source-0' && low))
  assert.ok(others.some(({ by, name }) => by === 'items left' && name === '7–12'))
})
