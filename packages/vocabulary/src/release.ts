/** Releases a vocabulary that passes, and checks that published releases stay as they were. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentHash, type Vocabulary } from '../../../src/standard/catalog.ts'
import {
  archiveFile,
  indexFile,
  openReleases,
  VocabularyError,
} from '../../../src/standard/releases.ts'
import type { Release, SourceRecord } from '../../../src/standard/source.ts'
import { type LintOptions, lintVocabulary } from './lint.ts'
import { isHigher, scoreRelevantHash } from './lint-release.ts'
import { loadVocabulary, readVocabulary } from './read.ts'
import { type Finding, shapes } from './source.ts'

/**
 * Writes `release.json` and the archive of the release, if every difference from the last release
 * is allowed in a release (V12). Otherwise returns the findings and writes nothing.
 */
export function releaseVocabulary(
  directory: string,
  release: Pick<Release, 'version' | 'released_at' | 'license'>,
  options: LintOptions = {},
): Finding[] {
  const files = readVocabulary(directory)
  const { index } = openReleases(directory)
  const newest = index.at(-1)?.version
  if (newest !== undefined && !isHigher(release.version, newest)) {
    const message = `the new version must be above ${newest}, not ${release.version}`
    return [{ rule: 'V19', file: indexFile, message }]
  }
  const against = lintVocabulary(files, options).filter(({ rule }) => rule !== 'V12')
  if (against.length > 0) return against
  const records = files.records
    .map(({ content }) => content)
    .filter((record) => shapes.record.Check(record))
  writeJson(join(directory, 'release.json'), releaseOf({ records }, release), 2)
  const archive = archiveOf(loadVocabulary(directory))
  const { version, released_at } = release
  writeJson(join(directory, archiveFile(version)), archive)
  const entry = { version, released_at, content: contentHash(archive) }
  writeJson(join(directory, indexFile), [...index, entry], 2)
  return []
}

function writeJson(path: string, value: unknown, indent?: number): void {
  writeFileSync(path, `${JSON.stringify(value, null, indent)}\n`)
}

/**
 * Returns the contents of `release.json` for these records. Its hashes do not contain the base
 * address, so they hold for every deployment.
 */
export function releaseOf(
  vocabulary: { records: readonly SourceRecord[] },
  { version, released_at, license }: Pick<Release, 'version' | 'released_at' | 'license'>,
): Release {
  const records: Release['records'] = {}
  for (const record of vocabulary.records.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    records[record.id] = {
      version: record.version,
      content: contentHash(record),
      score_relevant: scoreRelevantHash(record),
    }
  return { version, released_at, license, records }
}

function archiveOf({
  release,
  controlled,
  deprecated,
  crosswalk,
  records,
}: Vocabulary): Vocabulary {
  return { release, controlled, deprecated, crosswalk, records }
}

/** V19: every archive is as published, and the newest one is the vocabulary of the directory. */
export function lintArchives(directory: string, vocabulary: Vocabulary): Finding[] {
  const { index, read } = openReleases(directory)
  const messages: string[] = []
  for (const { version } of index)
    try {
      read(version)
    } catch (error) {
      if (!(error instanceof VocabularyError)) throw error
      messages.push(...error.faults)
    }
  const newest = index.at(-1)
  if (newest?.content !== contentHash(archiveOf(vocabulary)))
    messages.push(`the files differ from release ${newest?.version}: release them`)
  return messages.map((message) => ({ rule: 'V19', file: indexFile, message }))
}
