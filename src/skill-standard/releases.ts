/**
 * Keeps each release as it was published. An archive never changes: the index holds its hash, and
 * every reader checks it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentHash, type Vocabulary } from './catalog.ts'
import { type Archive, type ReleaseIndex, shapes } from './source.ts'
import { releasedDirectory, VocabularyError } from './vocabulary.ts'

export const indexFile = 'releases/index.json'

export function archiveFile(version: string): string {
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

function readJson(directory: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(directory, file), 'utf8'))
  } catch {
    throw new VocabularyError(directory, [`${file}: missing or unreadable`])
  }
}
