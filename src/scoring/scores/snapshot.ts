/**
 * Pure: a computed score as it is stored, and its id. The id commits to all inputs: with the nonce,
 * the evidence and the rules, the operator computes the same id again. Without the nonce, a guess of
 * the evidence cannot be tested against the id.
 */

import { schemaVersion } from '../../edge/http/identifiers.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { Evidence } from '../core/evidence.ts'
import type { Band } from '../core/parameters.ts'
import type { ScoreResult } from '../core/score.ts'

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

export interface SnapshotFacts {
  workerId: string
  /** `YYYY-MM-DD`: the day of the score in UTC. */
  asOf: string
  /** 32 random bytes. */
  nonce: Buffer
  engine: { id: string; version: string; binarySha256: string }
  /** 64 lowercase hex characters. */
  vocabularySha256: string
  evidenceRoot: Buffer
  result: ScoreResult
}

export const nonceBytes = 32

const prefix = `${schemaVersion('score_snapshot')}\n`

/** Returns 32 bytes, which are 64 lowercase hex characters on the wire. */
export function snapshotId({ nonce, evidenceRoot, ...facts }: SnapshotFacts): Buffer {
  const { workerId, asOf, engine, vocabularySha256, result } = facts
  const { id, version, binarySha256 } = engine
  return sha256(
    prefix +
      canonicalJson({
        workerId,
        asOf,
        nonce: nonce.toString('hex'),
        engine: { id, version, binarySha256 },
        vocabularyHash: vocabularySha256,
        evidenceRoot: evidenceRoot.toString('hex'),
        result,
      }),
  )
}

/** Returns the canonical JSON of each item, in order of id, as it is scored and stored. */
export function evidenceTexts(items: readonly Evidence[]): string[] {
  return [...items].sort((a, b) => (a.id < b.id ? -1 : 1)).map(canonicalJson)
}

/**
 * Returns SHA-256 over the sorted digests of the items. The digest of an item is SHA-256 over nonce
 * and text, so the order of `texts` does not matter.
 */
export function evidenceRootOf(texts: readonly string[], nonce: Buffer): Buffer {
  const digests = texts.map((text) => sha256(Buffer.concat([nonce, Buffer.from(text)])))
  return sha256(Buffer.concat(digests.sort(Buffer.compare)))
}
