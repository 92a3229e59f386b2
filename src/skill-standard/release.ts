/**
 * Pure: a release records the content of each record. Its hashes do not contain the base address,
 * so they hold for every deployment. The `anchored` of a served record covers the same text and the
 * address.
 */

import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Release, SourceRecord } from './source.ts'

/** Returns `sha256:` and the hex digest of the canonical JSON. */
export function contentHash(value: unknown): string {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}

/**
 * Returns the hash of the members that can change a score or its meaning. A change of it needs a
 * new major version (rule V13).
 */
export function scoreRelevantHash(record: SourceRecord): string {
  const { id, evidence_types, decay_half_life_months, depends_on, proficiency_rubric } = record
  return contentHash({ id, evidence_types, decay_half_life_months, depends_on, proficiency_rubric })
}

/**
 * Returns the contents of `release.json` for these records. Lint first: a release may have findings
 * of rule V12 only.
 */
export function releaseOf(
  vocabulary: { records: readonly SourceRecord[] },
  release: Pick<Release, 'version' | 'released_at' | 'license'>,
): Release {
  const records: Release['records'] = {}
  for (const record of vocabulary.records.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const { id, version } = record
    records[id] = {
      version,
      content: contentHash(record),
      score_relevant: scoreRelevantHash(record),
    }
  }
  const { version, released_at, license } = release
  return { version, released_at, license, records }
}
