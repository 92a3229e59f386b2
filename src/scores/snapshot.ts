/** Pure: a score as it was computed and stands. */
import type { Band } from '../scoring-core/parameters.ts'

/** Why a score is known to have been wrong: the word that `score.revised` carries. */
export type RevisionReason =
  | 'correction'
  | 'evidence_revoked'
  | 'dispute_upheld'
  | 'engine_correction'
  | 'identity_change'

/** What a score says, and by what it was computed. */
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
  /** Null where it has no credential. */
  vcSha256: Buffer | null
  statusToken: Buffer | null
}

/** A score with its credential: without one there is nothing to tell the outside. */
export type SharedSnapshot = Snapshot & { vcSha256: Buffer; statusToken: Buffer }

export interface ActiveSnapshot extends Snapshot {
  /** The evidence as scored: canonical JSON. */
  evidence: string
}

/** A score that ended, whose credential may still be valid. */
export type EarlierSnapshot = SharedSnapshot & Pick<ActiveSnapshot, 'evidence'>

export interface NewSnapshot extends Snapshot {
  previousId: Buffer | null
  change: 'first' | 'updated' | 'revised'
  /** Set exactly where the change is `revised`. */
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
