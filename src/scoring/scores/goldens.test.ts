import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { goldenCases } from '../../../test/support/build/score-inputs.ts'
import { oracleScore } from '../../../test/support/oracle/hsc-oracle.ts'
import type { ScoreInput } from '../core/evidence.ts'
import { engineVersion } from '../core/parameters.ts'
import { type ScoreResult, score } from '../core/score.ts'
import { loadEngine } from './engine.ts'
import { firstWrong, readGoldens } from './goldens.ts'

const root = join(import.meta.dirname, '../../..')
const goldens = readGoldens(root)

/** SHA-256 of the golden vectors of each released engine version. Never change an existing row. */
const recorded: Record<string, string> = {
  '2.0.0': 'a958a3090e6f6c876299d885da2fc2e9aab58d7b9d2c232bb897a0bce3561738',
}

test('golden vectors change only with the version of the engine', () => {
  assert.equal(
    goldens.sha256,
    recorded[engineVersion],
    'a changed golden result is a new version of the engine: raise it, and add a row',
  )
})

test('the core computes every golden vector correctly', () => {
  assert.equal(firstWrong(score, goldens), null)
})

test('one item more in one result is detected', () => {
  const { length } = goldens.files.flatMap(({ vectors }) => vectors.cases)
  for (const broken of [0, 100, length - 1]) {
    let calls = 0
    const spoiled = (change: (result: ScoreResult) => ScoreResult) => (input: ScoreInput) => {
      const isBroken = calls++ === broken
      const result = score(input)
      return isBroken ? change(result) : result
    }
    const one = spoiled((result) => ({ ...result, evidenceCount: result.evidenceCount + 1 }))
    assert.match(String(firstWrong(one, goldens)), /^vector \d+ of vectors\/scoring/)
  }
})

/**
 * Milliseconds that the oracle takes for the last forty vectors on the machine on which the
 * engine's limit of 50 ms was set.
 */
const oracleMsThere = 8

function scoreLastByOracle(): void {
  for (const { input } of goldenCases.slice(-40)) oracleScore(input)
}

test('loading the engine with all its golden vectors takes less than 50 ms', async () => {
  const slower = Math.max(1, (await leastMs(scoreLastByOracle)) / oracleMsThere)
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
