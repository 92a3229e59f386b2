/** The release that this process runs, read from its files. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { promisify } from 'node:util'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import type { FileRole, HashedFile, ReleaseFacts } from './release-manifest.ts'

/** If several patterns fit a file, the first one decides its role. */
const hashed: readonly [pattern: string, role: FileRole][] = [
  ['src/scoring-core/decay-table.ts', 'table'],
  ['src/skill-standard/context.ts', 'context'],
  ['src/**/*.ts', 'source'],
  ['engines/*.mjs', 'bundle'],
  ['vectors/scoring*.json', 'golden'],
  ['migrations/*.sql', 'schema'],
  ['openapi/*.json', 'schema'],
  ['events/*.json', 'schema'],
  ['vocabulary/*.json', 'vocabulary'],
  ['package.json', 'source'],
  ['package-lock.json', 'lockfile'],
]

/**
 * Reads the facts. `root` is the folder of package.json. Throws if that file is missing or
 * malformed.
 */
export async function readReleaseFacts(root: string): Promise<ReleaseFacts> {
  const path = join(root, 'package.json')
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  const { version, engines } = Object(manifest) as { version: unknown; engines: unknown }
  const commit = await commitOf(root)
  return {
    version: String(version),
    commit: commit?.id ?? null,
    tag: commit?.tag ?? null,
    modified: commit?.modified ?? null,
    generatedAt: commit?.at ?? statSync(path).mtime,
    node: { required: String(Object(engines).node), running: process.versions.node },
    files: hashedFiles(root),
  }
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

const run = promisify(execFile)

interface Commit {
  id: string
  /** The highest tag if there are several. */
  tag: string | null
  at: Date
  modified: boolean
}

/**
 * Returns null if `root` itself is no repository or git is not installed: a release that was
 * unpacked from an archive is fine.
 */
async function commitOf(root: string): Promise<Commit | null> {
  if (!existsSync(join(root, '.git'))) return null
  const git = (...args: string[]) =>
    run('git', ['-C', root, ...args], { timeout: deadlineMs('git'), maxBuffer: 2 ** 26 })
  try {
    const [log, tags, status] = await Promise.all([
      git('log', '-1', '--format=%H %ct'),
      git('tag', '--points-at', 'HEAD', '--sort=version:refname'),
      git('--no-optional-locks', 'status', '--porcelain', '--untracked-files=no'),
    ])
    const [id = '', seconds] = log.stdout.trim().split(' ')
    const tag = tags.stdout.trim().split('\n').at(-1) || null
    return { id, tag, at: new Date(Number(seconds) * 1_000), modified: status.stdout !== '' }
  } catch {
    return null
  }
}
