import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { goldensPath, goldensText } from '../../test/support/build/scoring-goldens.ts'
import type { ScoreInput } from '../scoring-core/evidence.ts'
import { engineVersion } from '../scoring-core/parameters.ts'
import { type ScoreResult, score } from '../scoring-core/score.ts'
import { loadEngine } from './engine.ts'
import { firstWrong, readGoldens } from './goldens.ts'

const root = join(import.meta.dirname, '../..')
const goldens = readGoldens(root)

/** SHA-256 of the golden vectors of each released engine version. Never change an existing row. */
const recorded: Record<string, string> = {
  '1.0.0': '27797c38d61703cd0cda11841a4ec49230ca08ef242b592bb9446f3edd17d471',
}

test('golden vectors change only with the version of the engine', () => {
  assert.equal(
    goldens.sha256,
    recorded[engineVersion],
    'a changed golden result is a new version of the engine: raise it, and add a row',
  )
})

test('there are at least 200 golden vectors, and the oracle computes the same results', () => {
  assert.equal(
    readFileSync(join(root, goldensPath), 'utf8'),
    goldensText(),
    'run `node test/support/build/write-scoring-goldens.ts`',
  )
  const { cases } = JSON.parse(goldensText())
  assert.ok(cases.length >= 200, `${cases.length} cases`)
  const names = new Set(cases.map(({ name }: { name: string }) => name))
  assert.equal(names.size, cases.length)
})

test('the core computes every golden vector correctly', () => {
  assert.equal(firstWrong(score, goldens), null)
})

test('one point more in one skill of one vector, or one member out of order, is detected', () => {
  const { length } = goldens.files.flatMap(({ vectors }) => vectors.cases)
  for (const broken of [0, 100, length - 1]) {
    let calls = 0
    const spoiled = (change: (result: ScoreResult) => ScoreResult) => (input: ScoreInput) => {
      const result = score(input)
      return calls++ === broken ? change(result) : result
    }
    const one = spoiled((result) => ({ ...result, high: result.high - 1 }))
    assert.match(String(firstWrong(one, goldens)), /^vector \d+ of vectors\/scoring/)
    calls = 0
    const other = spoiled(({ band, ...rest }) => ({ band, ...rest }))
    assert.match(String(firstWrong(other, goldens)), /^vector \d+ of vectors\/scoring/)
  }
})

/**
 * Milliseconds that the oracle takes for all vectors on the machine on which the engine's limit of
 * 50 ms was set.
 */
const oracleMsThere = 12

test('loading the engine with all its golden vectors takes less than 50 ms', async () => {
  const slower = Math.max(1, (await leastMs(goldensText)) / oracleMsThere)
  const ms = await leastMs(() => loadEngine())
  assert.ok(ms < 50 * slower, `${ms} ms where all is ${slower} times slower`)
})

/** Measures processor time, which depends little on other load. The best of ten runs counts. */
async function leastMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 10; run++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
