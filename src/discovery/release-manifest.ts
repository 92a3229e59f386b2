/** Pure: the release manifest: which files this deployment runs, so that anyone with the sources can compare. */
import { sha256Hex } from '../platform/bytes.ts'
import { wireTime } from '../platform/clock.ts'
import { schemaVersion, wellKnownPath } from '../platform/identifiers.ts'

export type FileRole = 'source' | 'manifest' | 'lockfile' | 'migration' | 'vocabulary' | 'contract'

export interface HashedFile {
  /** Relative to the root of the project, with `/`. */
  path: string
  role: FileRole
  sha256: string
  /** Bytes. */
  size: number
}

export interface ReleaseFacts {
  /** Of package.json. */
  version: string
  /** The commit that is checked out; null where that is not known. */
  commit: string | null
  /** Whether tracked files differ from the commit; null without a commit. */
  modified: boolean | null
  /** Of the commit; without one, of package.json. */
  generatedAt: Date
  /** The range of Node versions it is made for, and the one that runs it. */
  node: { required: string; running: string }
  /** Sorted by path. */
  files: readonly HashedFile[]
}

export function releaseManifestOf(publicUrl: string, facts: ReleaseFacts): Record<string, unknown> {
  return {
    schema_version: schemaVersion('score_core.release_manifest'),
    generated_at: wireTime(facts.generatedAt),
    engine: {
      lifecycle: 'external',
      description:
        'Scores are computed by the engine of the operator, which is no part of this release. Each credential names its version and the SHA-256 of its binary.',
      discovery_url: `${publicUrl}${wellKnownPath('engine')}`,
    },
    binary: {
      name: 'assay',
      description:
        'There is no built artefact: the files of content_hashes run as they are. sha256 covers the lines that `sha256sum` prints for them, in this order.',
      media_type: 'application/typescript',
      sha256: sha256Hex(sha256sumLines(facts.files)),
      size: facts.files.reduce((bytes, { size }) => bytes + size, 0),
      runtime: { node: facts.node.required, running: facts.node.running },
    },
    release: { version: facts.version, commit: facts.commit, modified: facts.modified },
    content_hashes: facts.files,
  }
}

function sha256sumLines(files: readonly HashedFile[]): string {
  return files.map(({ sha256, path }) => `${sha256}  ${path}\n`).join('')
}

/** For the contract: a release of one file. */
export const exampleRelease: ReleaseFacts = {
  version: '0.1.0',
  commit: '5f3c9a1e0b7d48c2a6e4f1d093b85c7720ae64d1',
  modified: false,
  generatedAt: new Date('2026-05-14T09:00:00Z'),
  node: { required: '>=24', running: '24.21.0' },
  files: [
    {
      path: 'src/platform/canonical-json.ts',
      role: 'source',
      sha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
      size: 865,
    },
  ],
}
