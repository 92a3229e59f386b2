/** Pure: a computed score as it is stored. */
import type { Band } from '../core/parameters.ts'

/** Reasons for revising a score. `score.revised` carries them. */
export type RevisionReason =
  | 'correction'
  | 'evidence_revoked'
  | 'dispute_upheld'
  | 'engine_correction'
  | 'identity_change'

/** Values of a score and the engine that computed it. */
export interface Snapshot {
  snapshotId: Buffer
  workerId: string
  engineVersion: string
  engineSha256: Buffer
  score: number
  low: number
  high: number
  band: Band
  evidenceCount: number
  sourceCount: number
  issuedAt: Date
  /** Null if the score has no credential. */
  vcSha256: Buffer | null
  statusToken: Buffer | null
}

/** A score with its credential. Scores without one are never published. */
export type SharedSnapshot = Snapshot & { vcSha256: Buffer; statusToken: Buffer }

export interface ActiveSnapshot extends Snapshot {
  /** Evidence as it was scored, in canonical JSON. */
  evidence: string
}

/** A score that ended, whose credential may still be valid. */
export type EarlierSnapshot = SharedSnapshot & Pick<ActiveSnapshot, 'evidence'>

export interface NewSnapshot extends Snapshot {
  previousId: Buffer | null
  change: 'first' | 'updated' | 'revised'
  /** Set exactly if the change is `revised`. */
  reason: RevisionReason | null
  disputeId: string | null
  /** `YYYY-MM-DD`. */
  asOf: string
  engineId: string
  vocabularySha256: Buffer
  evidenceRoot: Buffer
  nonce: Buffer
  /** Canonical JSON. */
  evidence: string
  result: string
}
