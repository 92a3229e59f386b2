/**
 * Pure: the id of a score. It commits to everything the score was made of: given the nonce, the evidence and the rules, the operator
 * arrives at it again. Without the nonce nobody can try guesses of somebody's evidence against it.
 */
import { sha256 } from '../platform/crypto/bytes.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Evidence } from '../scoring-core/evidence.ts'
import type { ScoreResult } from '../scoring-core/score.ts'

export interface SnapshotFacts {
  workerId: string
  /** `YYYY-MM-DD`: the day the score is of, UTC. */
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

/** 32 bytes; 64 lowercase hex characters on the wire. */
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

/** Evidence as it goes into a score: canonical JSON of each item, in the order of ids. */
export function evidenceTexts(items: readonly Evidence[]): string[] {
  return [...items].sort((a, b) => (a.id < b.id ? -1 : 1)).map(canonicalJson)
}

/** SHA-256 over the items' salted digests in their order: SHA-256 of nonce and text. Whatever order the items come in. */
export function evidenceRootOf(texts: readonly string[], nonce: Buffer): Buffer {
  const digests = texts.map((text) => sha256(Buffer.concat([nonce, Buffer.from(text)])))
  return sha256(Buffer.concat(digests.sort(Buffer.compare)))
}
