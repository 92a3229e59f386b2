/** What this process runs, read from the files that are there. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { promisify } from 'node:util'
import { sha256Hex } from '../platform/bytes.ts'
import type { FileRole, HashedFile, ReleaseFacts } from './release-manifest.ts'

export type { ReleaseFacts } from './release-manifest.ts'

const hashed: readonly [pattern: string, role: FileRole][] = [
  ['src/**/*.ts', 'source'],
  ['migrations/*.sql', 'migration'],
  ['vocabulary/*.json', 'vocabulary'],
  ['openapi/*.json', 'contract'],
  ['package.json', 'manifest'],
  ['package-lock.json', 'lockfile'],
]

/** `root` is the folder of package.json. Throws where that is missing or is no package. */
export async function readReleaseFacts(root: string): Promise<ReleaseFacts> {
  const path = join(root, 'package.json')
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  const { version, engines } = Object(manifest) as { version: unknown; engines: unknown }
  const commit = await commitOf(root)
  return {
    version: String(version),
    commit: commit?.id ?? null,
    modified: commit?.modified ?? null,
    generatedAt: commit?.at ?? statSync(path).mtime,
    node: { required: String(Object(engines).node), running: process.versions.node },
    files: hashedFiles(root),
  }
}

function hashedFiles(root: string): HashedFile[] {
  const files = hashed.flatMap(([pattern, role]) =>
    globSync(pattern, { cwd: root })
      .filter((path) => !path.endsWith('.test.ts'))
      .map((path) => {
        const bytes = readFileSync(join(root, path))
        const name = path.replaceAll(sep, '/')
        return { path: name, role, sha256: sha256Hex(bytes), size: bytes.length }
      }),
  )
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

const run = promisify(execFile)
const gitTimeoutMs = 5_000

/** Null where there is no repository at `root` itself, or no git to read it with: a release unpacked from an archive is fine. */
async function commitOf(root: string): Promise<{ id: string; at: Date; modified: boolean } | null> {
  if (!existsSync(join(root, '.git'))) return null
  const git = (...args: string[]) =>
    run('git', ['-C', root, ...args], { timeout: gitTimeoutMs, maxBuffer: 2 ** 26 })
  try {
    const [log, status] = await Promise.all([
      git('log', '-1', '--format=%H %ct'),
      git('--no-optional-locks', 'status', '--porcelain', '--untracked-files=no'),
    ])
    const [id = '', seconds] = log.stdout.trim().split(' ')
    return { id, at: new Date(Number(seconds) * 1_000), modified: status.stdout !== '' }
  } catch {
    return null
  }
}
