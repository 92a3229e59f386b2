/**
 * Compares the worked examples of docs/scoring.md with the engine, and the figures of its text with
 * the parameters.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Evidence } from '../src/scoring/core/evidence.ts'
import { loadEngine } from '../src/scoring/scores/engine.ts'
import { scoreBands } from '../src/standard/bands.ts'
import { asOfDay, item } from './support/build/score-inputs.ts'

const page = readFileSync('docs/scoring.md', 'utf8')
const { explain, parameters, tableSha256 } = await loadEngine()
const weightPermille = { assessment: 350, peer_review: 150, work_product: 300 }

function explained(evidence: readonly Evidence[], halfLifeMonths = 24, day = asOfDay) {
  const vocabulary = { 'hss:a': { halfLifeMonths, weightPermille } }
  return explain({ evidence, vocabulary, asOfDay: day })
}

const rows = [...page.matchAll(/^\| (e\d) \| (.*) \|$/gm)].map(([, id = '', rest = '']) => {
  const [type = '', ...numbers] = rest.split(' | ')
  const [value = 0, assurance = 0, days = 0, ...parts] = numbers.map(Number)
  return { evidence: item({ id, type, value, assurance, observedDay: asOfDay - days }), parts }
})
const three = rows.map(({ evidence }) => evidence)

/** Returns the numbers of the page in the groups of a pattern. */
function printed(pattern: RegExp): number[] {
  const [, ...numbers] = pattern.exec(page) ?? assert.fail(String(pattern))
  return numbers.map((number) => Number(number?.replaceAll(',', '').replace('−', '-')))
}

test('each item of the first example has the printed weight, share, mass and pull', () => {
  assert.equal(rows.length, 3)
  const parts = explained(three).items.map(({ weight, share, mass, pull }) => [
    weight,
    share,
    mass,
    pull,
  ])
  assert.deepEqual(
    parts,
    rows.map((row) => row.parts),
  )
})

test('the results of the first example are the printed ones', () => {
  const { result, skills } = explained(three)
  const [skill] = result.skills
  const [parts] = skills
  assert.deepEqual(printed(/mass = .* = \*\*(\d+)\*\*.*fresh mass = \*\*(\d+)\*\*/), [
    skill?.mass,
    skill?.freshMass,
  ])
  assert.deepEqual(printed(/pull\(792\) = ([\d,]+) >.*score = last = \*\*(\d+)\*\*/), [
    parts?.rest,
    skill?.score,
  ])
  assert.deepEqual(printed(/low \*\*(\d+)\*\*, high \*\*(\d+)\*\*.*cautious = \*\*(\d+)\*\*/), [
    skill?.low,
    skill?.high,
    skill?.cautious,
  ])
  assert.deepEqual(printed(/Worker: .* = \*\*(\d+)\*\*, range \*\*(\d+)\*\* to \*\*(\d+)\*\*/), [
    result.score,
    result.low,
    result.high,
  ])
  assert.ok(page.includes(`band **${result.band}**, ${result.evidenceCount} items, 3 sources`))
  assert.equal(result.sourceCount, 3)
  const { raise } = parts ?? assert.fail('the skill is explained')
  assert.deepEqual(
    printed(/assessment of (\d+), today.* from 526 to \*\*(\d+)\*\* and .* 511 to \*\*(\d+)\*\*/),
    [raise?.value, raise?.low, raise?.workerScore],
  )
})

test('the examples of bounds, of layers and of pulls that cancel give the printed results', () => {
  const work = { type: 'work_product', assurance: 700 }
  const peers = Array.from({ length: 6 }, (_, at) =>
    item({ id: `p${at}`, type: 'peer_review', value: 1_000, assurance: 400 }),
  )
  const own = [item({ id: 'a', value: 400 }), item({ id: 'b', ...work, value: 400 })]
  const bounds = explained([...own, ...peers]).result.skills[0]
  assert.deepEqual(
    printed(
      /score is (\d+)\. mass = .* = (680,000), h = \d+, the range is (\d+) to (\d+), cautious = (\d+)\./,
    ),
    [bounds?.score, bounds?.mass, bounds?.low, bounds?.high, bounds?.cautious],
  )
  const light = Array.from({ length: 4 }, (_, at) =>
    item({ id: `u${at}`, type: 'work_product', value: 0, assurance: 100 }),
  )
  const two = [item({ id: 'c1', ...work, value: 900 }), item({ id: 'c2', ...work, value: 500 })]
  assert.equal(explained(two).result.skills[0]?.score, 700)
  const layers = explained([...two, ...light]).result
  const [skill] = layers.skills
  assert.deepEqual(
    printed(
      /score is (633)\. mass = .* = (420,000), h = \d+, the range is (\d+) to (\d+), .* = (\d+)\./,
    ),
    [skill?.score, skill?.mass, skill?.low, skill?.high, skill?.cautious],
  )
  assert.equal(layers.sourceCount, 2)
  const old = item({ id: 'a', type: 'work_product', value: 100, observedDay: asOfDay - 1_461 })
  const recent = item({ id: 'b', type: 'peer_review', value: 900 })
  for (const days of [0, 2])
    assert.equal(explained([old, recent], 48, asOfDay + days).result.skills[0]?.score, 500)
})

test('two far results that cancel give the printed scores on one day, and if one is newer', () => {
  const pair = (low: number, high: number) =>
    explained([
      item({ id: 'a', value: 0, observedDay: asOfDay - low }),
      item({ id: 'b', value: 1_000, observedDay: asOfDay - high }),
    ]).result.skills[0]
  const [same, newerHigh, newerLow, half] = printed(
    /give (\d+) if both are of one day\. They give (\d+) if .* and (\d+) if .* ± (\d+)/,
  )
  assert.deepEqual(
    [pair(0, 0)?.score, pair(1, 0)?.score, pair(0, 1)?.score],
    [same, newerHigh, newerLow],
  )
  assert.equal((pair(0, 0)?.high ?? 0) - (same ?? 0), half)
})

test('the page has the parameters, the table and the bands of the engine', () => {
  const { massMin, halfWidthMax, sourceAssurance, sourceMassMin, ladder } = parameters
  assert.deepEqual(printed(/which is (\d+)² × ([\d,]+)/), [halfWidthMax, massMin])
  assert.deepEqual(printed(/F = min\(weightPermille, (\d+)\)/), [parameters.fullMassPermille])
  assert.deepEqual(printed(/G = min\(weightPermille, (\d+)\) × (\d+)/), [
    parameters.fullPullPermille,
    parameters.reach,
  ])
  assert.equal(parameters.pullSlack, 2 ** 30)
  assert.deepEqual(printed(/clamp each sum to (\d) × L × hᵢ/), [parameters.groupsPerType])
  assert.deepEqual(printed(/fresh mass\) ÷ (\d)⌋/), [parameters.cautionDivisor])
  assert.deepEqual(printed(/assurance ≥ (400), and w × share ≥ ([\d,]+) × 2\^20/), [
    sourceAssurance,
    sourceMassMin,
  ])
  assert.deepEqual(printed(/verified if mass ≥ ([\d,]+) and .* assurance ≥ (\d+)/), [
    parameters.verifiedMass,
    parameters.verifiedAssurance,
  ])
  assert.deepEqual(printed(/C = (\d+), (\d+), (\d+), (\d+), (\d+)/), [...ladder])
  assert.ok(page.includes(tableSha256))
  for (const { band, min, max } of scoreBands)
    assert.ok(page.includes(`${band} ${min}–${max}`), band)
})
