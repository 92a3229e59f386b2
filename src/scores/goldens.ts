/**
 * Golden vectors: evidence with its known result. An engine has to compute all of them correctly
 * before it may compute a score.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import type { ScoreInput, Vocabulary } from '../scoring-core/evidence.ts'
import type { ScoreResult } from '../scoring-core/score.ts'

/**
 * Relative to the root of the project, sorted. The first file was made by the core's prototype, the
 * second by the oracle of the tests.
 */
const goldensPaths = ['vectors/scoring-goldens.json', 'vectors/scoring.json'] as const

/** Root of the project. */
const ownRoot = join(import.meta.dirname, '../..')

export interface Goldens {
  files: readonly { path: string; vectors: Vectors }[]
  /** SHA-256 over the lines that `sha256sum` prints for the files, in order of path. */
  sha256: string
}

interface Vectors {
  asOfDay: number
  vocabulary: Vocabulary
  cases: readonly { evidence: ScoreInput['evidence']; expected: ScoreResult }[]
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
 * Returns the place of the first result that differs, such as `vector 3 of vectors/scoring.json`,
 * or null. The order of members counts too.
 */
export function firstWrong(score: (input: ScoreInput) => ScoreResult, goldens: Goldens) {
  for (const { path, vectors } of goldens.files) {
    const { cases, vocabulary, asOfDay } = vectors
    for (const [at, { evidence, expected }] of cases.entries()) {
      const result = resultOf(score, { evidence, vocabulary, asOfDay })
      if (JSON.stringify(result) !== JSON.stringify(expected)) return `vector ${at} of ${path}`
    }
  }
  return null
}

function resultOf(score: (input: ScoreInput) => ScoreResult, input: ScoreInput) {
  try {
    return score(input)
  } catch {
    return null
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
