import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { exampleEngine } from './examples.ts'
import { readReleaseFacts } from './release-facts.ts'
import { type ReleaseFacts, releaseManifestOf } from './release-manifest.ts'

const root = mkdtempSync(join(tmpdir(), 'assay-release-'))
after(() => rmSync(root, { recursive: true }))

const manifest = {
  version: '1.2.3',
  engines: { node: '>=24' },
  release: { commit: '$Format:%H$', tag: '$Format:%(describe:tags)$', committedAt: '$Format:%cI$' },
}
const files: Record<string, string> = {
  'package.json': JSON.stringify(manifest),
  'package-lock.json': '{}',
  'packages/sdk/src/strict-json.ts': 'strict',
  'src/main.ts': 'main',
  'src/module/verb.ts': 'verb',
  'src/scoring/core/decay-table.ts': 'table',
  'src/standard/context.ts': 'context',
  'src/module/verb.test.ts': 'not released',
  'migrations/0001_first.sql': 'select 1',
  'vocabulary/sql.json': '{"id":"hss:sql"}',
  'vocabulary/releases/1.0.0.json': '{}',
  'openapi/2026-05-14.json': '{"openapi":"3.1.0"}',
  'engines/hsc-2.0.0-0123456789ab.mjs': 'bundle',
  'events/score.updated.v1.json': '{}',
  'vectors/scoring-hsc2.json': 'golden',
  'vectors/scoring-hsc2-extra.json': 'goldens',
  'vectors/status-list.json': 'not of the scores',
  'README.md': 'not released',
  'CHANGELOG.md': '# Changelog',
}
for (const [path, text] of Object.entries(files)) {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}
function manifestOf(release: ReleaseFacts) {
  const publicUrl = 'https://scores.example.org'
  return releaseManifestOf({ release, engine: exampleEngine, publicUrl })
}

const touchedAt = new Date('2026-03-04T05:06:07Z')
utimesSync(join(root, 'package.json'), touchedAt, touchedAt)

test('release: every file that runs is hashed and sorted by path; tests and prose are left out', () => {
  const facts = readReleaseFacts(root)
  assert.deepEqual(
    facts.files.map(({ path, role }) => `${path} ${role}`),
    [
      'engines/hsc-2.0.0-0123456789ab.mjs bundle',
      'events/score.updated.v1.json schema',
      'migrations/0001_first.sql schema',
      'openapi/2026-05-14.json schema',
      'package-lock.json lockfile',
      'package.json source',
      'packages/sdk/src/strict-json.ts source',
      'src/main.ts source',
      'src/module/verb.ts source',
      'src/scoring/core/decay-table.ts table',
      'src/standard/context.ts context',
      'vectors/scoring-hsc2-extra.json golden',
      'vectors/scoring-hsc2.json golden',
      'vocabulary/releases/1.0.0.json vocabulary',
      'vocabulary/sql.json vocabulary',
    ],
  )
  for (const { path, sha256, size } of facts.files) {
    assert.equal(sha256, sha256Hex(files[path] ?? ''), path)
    assert.equal(size, files[path]?.length, path)
  }
})

test('release: in a checkout there is no commit, and the time is that of package.json', () => {
  const facts = readReleaseFacts(root)
  assert.deepEqual(
    [facts.version, facts.commit, facts.tag, facts.generatedAt],
    ['1.2.3', null, null, touchedAt],
  )
  assert.equal(manifestOf(facts).generated_at, '2026-03-04T05:06:07Z')
})

test('release: the total hash is the one of the lines that sha256sum prints', () => {
  const facts = readReleaseFacts(root)
  const lines = facts.files.map(({ path }) => `${sha256Hex(files[path] ?? '')}  ${path}\n`)
  assert.ok(lines.length > 10)
  assert.equal(Object(manifestOf(facts).release).files_sha256, sha256Hex(lines.join('')))
})

test('release: an archive that git makes names the commit, its time, and a tag of this commit alone', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      env: { ...process.env, GIT_COMMITTER_DATE: '2026-05-14T09:00:00Z' },
    })
  const { release } = JSON.parse(readFileSync('package.json', 'utf8'))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, release }))
  copyFileSync('.gitattributes', join(root, '.gitattributes'))
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  git('tag', '-m', '', 'v1.2.3')
  assert.equal(readReleaseFacts(root).commit, null)

  const factsOfArchive = () => {
    const archive = mkdtempSync(join(tmpdir(), 'assay-archive-'))
    execFileSync('tar', ['-x', '-C', archive], { input: git('archive', 'HEAD') })
    const facts = readReleaseFacts(archive)
    rmSync(archive, { recursive: true })
    return facts
  }
  const { commit, tag, generatedAt } = factsOfArchive()
  assert.equal(commit, String(git('rev-parse', 'HEAD')).trim())
  assert.deepEqual([tag, generatedAt], ['v1.2.3', new Date('2026-05-14T09:00:00Z')])
  git('commit', '--quiet', '--allow-empty', '--message', 'second')
  assert.equal(factsOfArchive().tag, null)
})
