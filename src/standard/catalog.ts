/** Pure: the documents of a vocabulary under one base address (decision D31). */
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { standardUrls } from './context.ts'
import type { SkillRecord } from './schema.ts'
import { slugOf } from './slug.ts'
import type { ControlledLists, Crosswalk, Deprecations, Release, SourceRecord } from './source.ts'

/** A vocabulary that passed its schemas, with records sorted by id. */
export interface Vocabulary {
  records: readonly SourceRecord[]
  controlled: ControlledLists
  deprecated: Deprecations
  crosswalk: Crosswalk
  release: Release
}

/** Returns `sha256:` and the hex digest of the canonical JSON. */
export function contentHash(value: unknown): string {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}

/**
 * Returns the record as it is served. `anchored` is a digest of everything else in it, so a changed
 * letter shows.
 */
function skillRecordOf(source: SourceRecord, publicUrl: string): SkillRecord {
  const urls = standardUrls(publicUrl)
  const { novice = '', intermediate = '', advanced = '', expert = '' } = source.proficiency_rubric
  const record = {
    '@context': urls.context,
    '@type': source['@type'],
    '@id': urls.skill(slugOf(source.id)),
    id: source.id,
    version: source.version,
    label: source.label,
    aliases: source.aliases,
    domain: source.domain,
    subdomain: source.subdomain,
    category: source.category,
    description: source.description,
    evidence_types: source.evidence_types,
    decay_half_life_months: source.decay_half_life_months,
    depends_on: source.depends_on,
    related_to: source.related_to,
    proficiency_rubric: { novice, intermediate, advanced, expert },
  }
  return { ...record, anchored: anchorOf(record) }
}

/**
 * Returns `sha256:` and the hex digest of the canonical JSON (RFC 8785) of the record without
 * `anchored`.
 */
function anchorOf(record: Omit<SkillRecord, 'anchored'>): string {
  return contentHash(record)
}

/**
 * Returns the catalog: all records and the lists that they refer to. `catalog_hash` covers the
 * sorted anchors, so it names exactly this vocabulary. `id` is the address of a catalog that is not
 * the current one.
 */
export function skillCatalogOf(vocabulary: Vocabulary, publicUrl: string, id?: string) {
  const urls = standardUrls(publicUrl)
  const skills = vocabulary.records.map((source) => skillRecordOf(source, publicUrl))
  const anchors = skills.map(({ anchored }) => anchored).sort()
  return {
    '@context': urls.context,
    '@type': 'SkillCatalog' as const,
    '@id': id ?? urls.skills,
    version: vocabulary.release.version,
    released_at: vocabulary.release.released_at,
    license: vocabulary.release.license,
    count: skills.length,
    catalog_hash: contentHash(anchors),
    controlled: vocabulary.controlled,
    deprecated: Object.entries(vocabulary.deprecated).map(([id, successor]) => ({ id, successor })),
    skills,
  }
}
