/** Pure: what discovery is told of the scoring engine: nothing here is typed in, all of it comes from the bytes that run. */

export interface EngineFacts {
  id: string
  version: string
  /** `ok`, or why nothing is scored: why the engine of this release was refused at start, or `recalled`. */
  state: string
  /** Null where it was refused. */
  loaded: LoadedEngine | null
}

export interface LoadedEngine {
  /** Of the bundle, relative to the root of the project, with `/`. */
  path: string
  /** Bytes. */
  size: number
  /** Of the bytes that run. */
  binarySha256: string
  /** Of the golden vectors it was held against at start. */
  goldenSha256: string
  /** Of its table of decay. */
  tableSha256: string
  /** As the bundle has them. */
  scorePrior: number
  intervalPrior: number
  scorePriorValue: number
  ladder: readonly number[]
  /** The engine before it; null where there was none. */
  previousVersion: string | null
  /** Null where the engine before it cannot be run. */
  change: 'none' | 'compatible' | 'score_changing' | null
}

/** For the contract. */
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
