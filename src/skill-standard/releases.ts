/**
 * Keeps each release as it was published. An archive never changes: the index holds its hash, and
 * every reader checks it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Vocabulary } from './catalog.ts'
import type { Finding } from './finding.ts'
import { contentHash } from './release.ts'
import { type Archive, type ReleaseIndex, shapes } from './source.ts'
import { releasedDirectory, VocabularyError } from './vocabulary.ts'

const indexFile = 'releases/index.json'

function archiveFile(version: string): string {
  return `releases/${version}.json`
}

export interface PublishedReleases {
  /** From the oldest to the newest, which is the current one. */
  index: ReleaseIndex
  /** Reads an archive. The version is one of the index. */
  read(version: string): Vocabulary
}

/** Opens the releases of a vocabulary directory. Reads the index alone. */
export function openReleases(directory: string = releasedDirectory): PublishedReleases {
  const index = readJson(directory, indexFile)
  if (!shapes.releaseIndex.Check(index))
    throw new VocabularyError(directory, [`${indexFile}: malformed`])
  return { index, read: (version) => readArchive(directory, index, version) }
}

function readArchive(directory: string, index: ReleaseIndex, version: string): Archive {
  const file = archiveFile(version)
  const archive = readJson(directory, file)
  const published = index.find((entry) => entry.version === version)
  if (contentHash(archive) !== published?.content)
    throw new VocabularyError(directory, [`${file}: differs from the release as published`])
  if (!shapes.archive.Check(archive)) throw new VocabularyError(directory, [`${file}: malformed`])
  return archive
}

/** Adds the archive of a release to the folder and to the index. */
export function writeArchive(directory: string, vocabulary: Vocabulary): void {
  const { index } = openReleases(directory)
  const { version, released_at } = vocabulary.release
  const archive = archiveOf(vocabulary)
  const entry = { version, released_at, content: contentHash(archive) }
  writeFileSync(join(directory, archiveFile(version)), `${JSON.stringify(archive)}\n`)
  writeFileSync(join(directory, indexFile), `${JSON.stringify([...index, entry], null, 2)}\n`)
}

function archiveOf({ release, controlled, deprecated, crosswalk, records }: Vocabulary): Archive {
  return { release, controlled, deprecated, crosswalk, records: [...records] }
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

function readJson(directory: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(directory, file), 'utf8'))
  } catch {
    throw new VocabularyError(directory, [`${file}: missing or unreadable`])
  }
}
