/**
 * Keeps each release of the vocabulary as it was published. The newest one is the vocabulary of the
 * service. An archive never changes: the index holds its hash, and every reader checks it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentHash, type Vocabulary } from './catalog.ts'
import type { ReleaseIndex } from './source.ts'

/** A directory that cannot be served. `faults` has one line for each, as `file: fault`. */
export class VocabularyError extends Error {
  override readonly name = 'VocabularyError'
  readonly faults: readonly string[]

  constructor(directory: string, faults: readonly string[]) {
    super(`the vocabulary in ${directory} cannot be used:\n${faults.join('\n')}`)
    this.faults = faults
  }
}

export const releasedDirectory = join(import.meta.dirname, '../../vocabulary')

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
  const index = readJson(directory, indexFile) as ReleaseIndex
  return { index, read: (version) => readArchive(directory, index, version) }
}

let released: Vocabulary | undefined

/** Returns the vocabulary of this release. */
export function loadReleasedVocabulary(): Vocabulary {
  if (released === undefined) {
    const { index, read } = openReleases()
    released = read(index.at(-1)?.version ?? '')
  }
  return released
}

function readArchive(directory: string, index: ReleaseIndex, version: string): Vocabulary {
  const file = archiveFile(version)
  const archive = readJson(directory, file) as Vocabulary
  const published = index.find((entry) => entry.version === version)
  if (contentHash(archive) !== published?.content)
    throw new VocabularyError(directory, [`${file}: differs from the release as published`])
  return archive
}

/** These files are a part of the program, so their shape is not checked. */
function readJson(directory: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(directory, file), 'utf8'))
  } catch {
    throw new VocabularyError(directory, [`${file}: missing or unreadable`])
  }
}
