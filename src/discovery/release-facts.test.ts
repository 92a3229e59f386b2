import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sha256Hex } from '../platform/bytes.ts'
import { readReleaseFacts } from './release-facts.ts'
import { releaseManifestOf } from './release-manifest.ts'

const root = mkdtempSync(join(tmpdir(), 'assay-release-'))
after(() => rmSync(root, { recursive: true }))

const files: Record<string, string> = {
  'package.json': '{"version":"1.2.3","engines":{"node":">=24"}}',
  'package-lock.json': '{}',
  'src/main.ts': 'main',
  'src/room/verb.ts': 'verb',
  'src/room/verb.test.ts': 'not released',
  'migrations/0001_first.sql': 'select 1',
  'vocabulary/sql.json': '{"id":"hss:sql"}',
  'openapi/2026-05-14.json': '{"openapi":"3.1.0"}',
  'README.md': 'not released',
}
for (const [path, text] of Object.entries(files)) {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}
const touchedAt = new Date('2026-03-04T05:06:07Z')
utimesSync(join(root, 'package.json'), touchedAt, touchedAt)

test('release: every file that runs is hashed, sorted by path; tests and prose are left out', async () => {
  const facts = await readReleaseFacts(root)
  assert.deepEqual(
    facts.files.map(({ path, role }) => `${path} ${role}`),
    [
      'migrations/0001_first.sql migration',
      'openapi/2026-05-14.json contract',
      'package-lock.json lockfile',
      'package.json manifest',
      'src/main.ts source',
      'src/room/verb.ts source',
      'vocabulary/sql.json vocabulary',
    ],
  )
  for (const { path, sha256, size } of facts.files) {
    assert.equal(sha256, sha256Hex(files[path] ?? ''), path)
    assert.equal(size, files[path]?.length, path)
  }
})

test('release: without a repository there is no commit, and the time is that of package.json', async () => {
  const facts = await readReleaseFacts(root)
  assert.deepEqual(
    [facts.version, facts.commit, facts.modified, facts.generatedAt],
    ['1.2.3', null, null, touchedAt],
  )
  const manifest = releaseManifestOf('https://scores.example.org', facts)
  assert.equal(manifest.generated_at, '2026-03-04T05:06:07Z')
})

test('release: the hash over everything is what sha256sum makes of its own lines', async () => {
  const { binary } = releaseManifestOf('https://scores.example.org', await readReleaseFacts(root))
  const lines = [
    'migrations/0001_first.sql',
    'openapi/2026-05-14.json',
    'package-lock.json',
    'package.json',
    'src/main.ts',
    'src/room/verb.ts',
    'vocabulary/sql.json',
  ].map((path) => `${sha256Hex(files[path] ?? '')}  ${path}\n`)
  assert.equal(Object(binary).sha256, sha256Hex(lines.join('')))
})

test('release: in a repository the commit, its time, and whether files differ from it', async () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      env: { ...process.env, GIT_COMMITTER_DATE: '2026-05-14T09:00:00Z' },
      encoding: 'utf8',
    }).trim()
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  const clean = await readReleaseFacts(root)
  assert.equal(clean.commit, git('rev-parse', 'HEAD'))
  assert.deepEqual([clean.modified, clean.generatedAt], [false, new Date('2026-05-14T09:00:00Z')])

  writeFileSync(join(root, 'src/main.ts'), 'patched')
  const patched = await readReleaseFacts(root)
  assert.deepEqual([patched.modified, patched.commit], [true, clean.commit])
})
