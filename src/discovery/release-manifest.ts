/**
 * Pure: the release manifest: the engine and the files that this deployment runs, so that anyone
 * with the sources can compare.
 */
import { schemaVersion } from '../edge/http/identifiers.ts'
import { wireTime } from '../platform/clock.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { pagePathOf } from './docs-page.ts'
import type { EngineFacts } from './engine-facts.ts'
import { enginePath } from './schema.ts'

export type FileRole =
  | 'source'
  | 'bundle'
  | 'table'
  | 'golden'
  | 'schema'
  | 'vocabulary'
  | 'context'
  | 'lockfile'

export interface HashedFile {
  /** Relative to the root of the project, with `/`. */
  path: string
  role: FileRole
  sha256: string
  /** Bytes. */
  size: number
}

export interface ReleaseFacts {
  /** Version of package.json. */
  version: string
  /** The commit of a package or of an archive that git made, or null in a checkout. */
  commit: string | null
  /** A tag of that commit, or null if it has none. */
  tag: string | null
  /** Time of the commit; without a commit, of package.json. */
  generatedAt: Date
  /** The range of Node versions that the release supports, and the one that runs. */
  node: { required: string; running: string }
  /** Sorted by path. */
  files: readonly HashedFile[]
}

/** The tool, a file of the release, that makes a bundle from its sources. */
const build = {
  tool: 'src/scoring/scores/bundle.ts',
  options: { entry: 'src/scoring/core/', types: 'stripped', minify: false },
} as const

export interface ManifestFacts {
  release: ReleaseFacts
  engine: EngineFacts
  publicUrl: string
}

export function releaseManifestOf(manifestFacts: ManifestFacts): Record<string, unknown> {
  const { release, engine, publicUrl } = manifestFacts
  const { generatedAt, version, tag, commit, files } = release
  return {
    schema_version: schemaVersion('score_core.release_manifest'),
    generated_at: wireTime(generatedAt),
    engine: {
      id: engine.id,
      version: engine.version,
      state: engine.state,
      previous_version: engine.loaded?.previousVersion ?? null,
      change: engine.loaded?.change ?? null,
      golden_vectors_sha256: engine.loaded?.goldenSha256 ?? null,
      discovery_url: `${publicUrl}${enginePath}`,
    },
    binary: binaryOf(engine, release),
    release: {
      version,
      tag,
      commit,
      source_date_epoch: Math.floor(generatedAt.getTime() / 1_000),
      changelog_url: `${publicUrl}${pagePathOf('CHANGELOG.md')}`,
      // Hash of the lines that `sha256sum` prints for the files of content_hashes, in their order.
      files_sha256: sha256Hex(sha256sumLines(files)),
    },
    content_hashes: files,
  }
}

/** Returns the bundle that runs, or without one only the description of the expected bundle. */
function binaryOf({ loaded }: EngineFacts, { node, version }: ReleaseFacts) {
  return {
    name: loaded?.path.split('/').at(-1) ?? null,
    path: loaded?.path ?? null,
    sha256: loaded?.binarySha256 ?? null,
    size: loaded?.size ?? null,
    media_type: 'text/javascript',
    runtime: { node: node.required, running: node.running },
    build: { tool: build.tool, version, options: build.options },
  }
}

function sha256sumLines(files: readonly HashedFile[]): string {
  return files.map(({ sha256, path }) => `${sha256}  ${path}\n`).join('')
}
