/**
 * Pure: the vocabulary against its last release: V12 (hashes match), V13 (a changed meaning needs a
 * new major version), V14 (no id disappears).
 */
import { contentHash } from '../../../src/standard/catalog.ts'
import type { Release, SourceRecord } from '../../../src/standard/source.ts'
import type { Entry, Finding, VocabularyFiles } from './source.ts'

/**
 * Returns the hash of the members that can change a score or its meaning. A change of it needs a
 * new major version (rule V13).
 */
export function scoreRelevantHash(record: SourceRecord): string {
  const { id, evidence_types, decay_half_life_months, depends_on, proficiency_rubric } = record
  return contentHash({ id, evidence_types, decay_half_life_months, depends_on, proficiency_rubric })
}

export function lintRelease(
  entries: readonly Entry[],
  { release, deprecated }: VocabularyFiles,
  knownIds: ReadonlySet<string>,
): Finding[] {
  const deprecations = deprecationFaults(deprecated, knownIds)
  if (release === null) {
    const message = 'missing: nothing was released yet'
    return [{ rule: 'V12', file: 'release.json', message }, ...deprecations]
  }
  const removed = Object.keys(release.records).filter((id) => !knownIds.has(id))
  return [
    ...entries.flatMap((entry) => releasedFaults(entry, release)),
    ...removed.map((id): Finding => {
      const message = `${id} was released and is gone: deprecate it with a successor instead`
      return { rule: 'V14', file: 'release.json', message }
    }),
    ...deprecations,
  ]
}

function releasedFaults({ file, record }: Entry, release: Release): Finding[] {
  const released = release.records[record.id]
  if (released === undefined)
    return [{ rule: 'V12', file, message: `${record.id} is not in release ${release.version}` }]
  const scoreRelevant = scoreRelevantHash(record)
  const findings: Finding[] = []
  if (record.version !== released.version) {
    const message = `version ${record.version} is not in the release, which has ${released.version}`
    findings.push({ rule: 'V12', file, message })
  } else if (contentHash(record) !== released.content) {
    const message = `the text differs from version ${released.version} as released`
    findings.push({ rule: 'V12', file, message })
  } else if (scoreRelevant !== released.score_relevant) {
    const message = 'the release holds a wrong score_relevant hash'
    findings.push({ rule: 'V12', file, message })
  }
  if (!isHigher(record.version, released.version) && record.version !== released.version)
    findings.push({ rule: 'V13', file, message: `the version went back from ${released.version}` })
  const sameMajor = majorOf(record.version) <= majorOf(released.version)
  if (scoreRelevant !== released.score_relevant && sameMajor) {
    const message = `a change that can move scores needs a major version above ${released.version}`
    findings.push({ rule: 'V13', file, message })
  }
  return findings
}

function majorOf(version: string): number {
  return Number(version.split('.')[0])
}

export function isHigher(version: string, than: string): boolean {
  const parts = version.split('.').map(Number)
  const others = than.split('.').map(Number)
  const at = parts.findIndex((part, i) => part !== others[i])
  return at >= 0 && (parts[at] ?? 0) > (others[at] ?? 0)
}

function deprecationFaults(
  deprecated: VocabularyFiles['deprecated'],
  knownIds: ReadonlySet<string>,
): Finding[] {
  return Object.entries(deprecated).flatMap(([id, successor]) => {
    const messages: string[] = []
    if (!knownIds.has(id)) messages.push(`${id} is deprecated but its record is gone`)
    if (!knownIds.has(successor)) messages.push(`${successor}, successor of ${id}, does not exist`)
    if (Object.hasOwn(deprecated, successor))
      messages.push(`${successor}, successor of ${id}, is deprecated itself`)
    return messages.map((message): Finding => ({ rule: 'V14', file: 'deprecated.json', message }))
  })
}
