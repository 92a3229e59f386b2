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
  /** Parameters of the bundle, by name. */
  parameters: Readonly<Record<string, number | readonly number[]>>
  /** The previous engine, or null if there was none. */
  previousVersion: string | null
  /** Null if the previous engine cannot be run. */
  change: 'none' | 'compatible' | 'score_changing' | null
}
