/**
 * Golden vectors: evidence with its known result. An engine has to compute all of them correctly
 * before it may compute a score.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { ScoreInput } from '../core/evidence.ts'
import type { ScoreResult } from '../core/score.ts'

/** Relative to the root of the project, sorted. The oracle of the tests computes them too. */
const goldensPaths = ['vectors/scoring-hsc2-extra.json', 'vectors/scoring-hsc2.json'] as const

/** Root of the project. */
const ownRoot = join(import.meta.dirname, '../../..')

export interface Goldens {
  files: readonly { path: string; vectors: Vectors }[]
  /** SHA-256 over the lines that `sha256sum` prints for the files, in order of path. */
  sha256: string
}

export interface Vectors extends Omit<ScoreInput, 'evidence'> {
  cases: readonly GoldenCase[]
}

/** A case may have a vocabulary and a day of its own. */
interface GoldenCase extends Partial<Omit<ScoreInput, 'evidence'>> {
  name: string
  evidence: ScoreInput['evidence']
  expected: ScoreResult | { error: true }
  /** The reason of each item that does not count, by id. */
  notCounted?: Record<string, string>
}

/**
 * Reads the golden vectors. Throws an error that names the path if a file is missing, is not JSON
 * or holds no vector.
 */
export function readGoldens(root = ownRoot): Goldens {
  const read = goldensPaths.map((path) => ({ path, bytes: bytesOf(root, path) }))
  const lines = read.map(({ path, bytes }) => `${sha256Hex(bytes)}  ${path}\n`)
  return {
    files: read.map(({ path, bytes }) => ({ path, vectors: vectorsOf(bytes, path) })),
    sha256: sha256Hex(lines.join('')),
  }
}

/**
 * Returns the place of the first result that differs, such as `vector 3 of vectors/scoring-hsc2.json`,
 * or null.
 */
export function firstWrong(score: (input: ScoreInput) => ScoreResult, goldens: Goldens) {
  for (const { path, vectors } of goldens.files)
    for (const [at, golden] of vectors.cases.entries()) {
      const { vocabulary, asOfDay } = { ...vectors, ...golden }
      const result = resultOf(score, { evidence: golden.evidence, vocabulary, asOfDay })
      if (canonicalJson(result) !== canonicalJson(golden.expected)) return `vector ${at} of ${path}`
    }
  return null
}

function resultOf(score: (input: ScoreInput) => ScoreResult, input: ScoreInput) {
  try {
    return score(input)
  } catch (error) {
    return error instanceof RangeError ? { error: true } : null
  }
}

function bytesOf(root: string, path: string): Buffer {
  try {
    return readFileSync(join(root, path))
  } catch (error) {
    throw new Error(`${path} cannot be read`, { cause: error })
  }
}

function vectorsOf(bytes: Buffer, path: string): Vectors {
  let vectors: Vectors
  try {
    vectors = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new Error(`${path} is no JSON of golden vectors`, { cause: error })
  }
  if (!Array.isArray(vectors.cases) || vectors.cases.length === 0)
    throw new Error(`${path} holds no golden vectors`)
  return vectors
}
