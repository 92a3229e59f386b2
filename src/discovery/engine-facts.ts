/** Pure: facts about the scoring engine, all derived from the bytes that run. */

export interface EngineFacts {
  id: string
  version: string
  /**
   * `ok`, or the reason why nothing is scored: the engine of this release was refused at start, or
   * `recalled`.
   */
  state: string
  /** Null if the engine was refused. */
  loaded: LoadedEngine | null
}

export interface LoadedEngine {
  /** Path of the bundle relative to the root of the project, with `/`. */
  path: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes that run. */
  binarySha256: string
  /** SHA-256 of the golden vectors that the engine reproduced at start. */
  goldenSha256: string
  /** SHA-256 of the engine's decay table. */
  tableSha256: string
  /** Parameters of the bundle. */
  scorePrior: number
  intervalPrior: number
  scorePriorValue: number
  ladder: readonly number[]
  /** The previous engine, or null if there was none. */
  previousVersion: string | null
  /** Null if the previous engine cannot be run. */
  change: 'none' | 'compatible' | 'score_changing' | null
}

/** Example of the contract. */
export const exampleEngine: EngineFacts & { loaded: LoadedEngine } = {
  id: 'hsc',
  version: '1.0.0',
  state: 'ok',
  loaded: {
    path: 'engines/hsc-1.0.0-51a1f05af85e.mjs',
    size: 26_198,
    binarySha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
    goldenSha256: '27797c38d61703cd0cda11841a4ec49230ca08ef242b592bb9446f3edd17d471',
    tableSha256: '676f678d86d37db4805f134a64fcd1b370d7fe59651755978fae503123897ba6',
    scorePrior: 100_000,
    intervalPrior: 300_000,
    scorePriorValue: 250,
    ladder: [700, 820, 900, 960, 1_000],
    previousVersion: null,
    change: 'none',
  },
}
