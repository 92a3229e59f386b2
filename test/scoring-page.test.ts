/**
 * Compares the worked example of docs/scoring.md with the engine, and the figures of its text with
 * the parameters.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadEngine } from '../src/scores/engine.ts'
import type { Evidence } from '../src/scoring-core/evidence.ts'
import { scoreBands } from '../src/skill-standard/bands.ts'
import { asOfDay, item } from './support/build/score-inputs.ts'

const page = readFileSync('docs/scoring.md', 'utf8')
const { explain, parameters } = await loadEngine()

const vocabulary = {
  'hss:a': {
    halfLifeMonths: 24,
    weightPermille: { assessment: 350, peer_review: 150, work_product: 300 },
  },
}

interface Row {
  evidence: Evidence
  base: number
  decay: number
  mass: number
}

const rows: Row[] = [...page.matchAll(/^\| (e\d) \| (.*) \|$/gm)].map(([, id = '', rest = '']) => {
  const [type = '', ...numbers] = rest.split(' | ')
  const [value = 0, assurance = 0, days = 0, base = 0, decay = 0, mass = 0] = numbers.map(Number)
  const observedDay = asOfDay - days
  return { evidence: item({ id, type, value, assurance, observedDay }), base, decay, mass }
})
const explanation = explain({ evidence: rows.map((row) => row.evidence), vocabulary, asOfDay })

function printed(pattern: RegExp): number[] {
  const [, ...numbers] = pattern.exec(page) ?? assert.fail(String(pattern))
  return numbers.map((number) => Number(number?.replaceAll(',', '')))
}

test('each item of the worked example has the printed base, decay and mass', () => {
  assert.equal(rows.length, 3)
  const shown = explanation.items.map(({ id, base, decay, mass }) => ({ id, base, decay, mass }))
  const expected = rows.map(({ evidence, base, decay, mass }) => {
    return { id: evidence.id, base, decay, mass }
  })
  assert.deepEqual(shown, expected)
})

test('the sums and scores of the worked example are the printed ones', () => {
  const { result, skills } = explanation
  const [sum] = skills
  const [skill] = result.skills
  assert.deepEqual(printed(/ = ([\d,]+) and A = .* = ([\d,]+)\.\n/), [sum?.mass, sum?.weighted])
  assert.deepEqual(
    printed(/skill score = .*\*\*(\d+)\*\*, low .*\*\*(\d+)\*\*, high .*\*\*(\d+)\*\*/),
    [skill?.score, skill?.low, skill?.high],
  )
  assert.deepEqual(printed(/\*\*(\d+)\*\*, range \*\*(\d+)\*\* to \*\*(\d+)\*\*/), [
    result.score,
    result.low,
    result.high,
  ])
  assert.ok(page.includes(`band **${result.band}**`))
  assert.deepEqual(printed(/skill's low from (\d+) to \*\*(\d+)\*\*/), [skill?.low, sum?.raise.low])
})

test('the page has the parameters and bands of the engine', () => {
  const { scorePrior, scorePriorValue, intervalPrior, ladder } = parameters
  assert.deepEqual(printed(/SP = ([\d,]+), T = ([\d,]+), SI = ([\d,]+)\./), [
    scorePrior,
    scorePriorValue,
    intervalPrior,
  ])
  assert.deepEqual(
    printed(
      /best one counts (\d+) %, of the best two (\d+) %, three (\d+) %, four (\d+) %, five (\d+) %/,
    ),
    ladder.map((permille) => permille / 10),
  )
  for (const { band, min, max } of scoreBands)
    assert.ok(page.includes(`${band} ${min}–${max}`), band)
})

test('a new result below the current level lowers the score, as the page says', () => {
  const more = [...rows.map((row) => row.evidence), item({ id: 'e4', value: 300 })]
  assert.ok(
    explain({ evidence: more, vocabulary, asOfDay }).result.score < explanation.result.score,
  )
})
