/** The release that this process runs, read from its files. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import type { FileRole, HashedFile, ReleaseFacts } from './release-manifest.ts'

/** If several patterns fit a file, the first one decides its role. */
const hashed: readonly [pattern: string, role: FileRole][] = [
  ['src/scoring/core/decay-table.ts', 'table'],
  ['src/standard/context.ts', 'context'],
  ['src/**/*.ts', 'source'],
  ['packages/sdk/src/**/*.ts', 'source'],
  // Only a package has the bundled program, and only a clone the lock file.
  ['dist/*.mjs', 'source'],
  ['engines/*.mjs', 'bundle'],
  ['vectors/scoring*.json', 'golden'],
  ['migrations/*.sql', 'schema'],
  ['openapi/*.json', 'schema'],
  ['events/*.json', 'schema'],
  ['vocabulary/{,releases/}*.json', 'vocabulary'],
  ['package.json', 'source'],
  ['package-lock.json', 'lockfile'],
]

/**
 * Reads the facts. `root` is the folder of package.json. Throws if that file is missing or
 * malformed.
 */
export function readReleaseFacts(root: string): ReleaseFacts {
  const path = join(root, 'package.json')
  const { version, engines, release }: Package = JSON.parse(readFileSync(path, 'utf8'))
  const committedAt = writtenByGit(release.committedAt)
  return {
    version,
    commit: writtenByGit(release.commit),
    tag: exactTag(writtenByGit(release.tag)),
    generatedAt: committedAt === null ? statSync(path).mtime : new Date(committedAt),
    node: { required: engines.node, running: process.versions.node },
    files: hashedFiles(root),
  }
}

interface Package {
  version: string
  engines: { node: string }
  /** `git archive` writes these values (export-subst). A checkout has the placeholders. */
  release: { commit: string; tag: string; committedAt: string }
}

function writtenByGit(text: string): string | null {
  return text === '' || text.startsWith('$Format:') ? null : text
}

/** If the commit has no tag, git names the nearest earlier one, with `-COUNT-gCOMMIT`. */
function exactTag(described: string | null): string | null {
  return described !== null && /-\d+-g[0-9a-f]+$/.test(described) ? null : described
}

function hashedFiles(root: string): HashedFile[] {
  const files = new Map<string, HashedFile>()
  for (const [pattern, role] of hashed)
    for (const found of globSync(pattern, { cwd: root })) {
      const path = found.replaceAll(sep, '/')
      if (path.endsWith('.test.ts') || files.has(path)) continue
      const bytes = readFileSync(join(root, path))
      files.set(path, { path, role, sha256: sha256Hex(bytes), size: bytes.length })
    }
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}
