/** Published releases: kept as they were, and refused once a byte of them changed. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openReleases, VocabularyError } from '../../../src/standard/releases.ts'
import { loadVocabulary } from './read.ts'
import { lintArchives, releaseVocabulary } from './release.ts'
import { runVocabulary } from './vocabulary.ts'

/**
 * Hashes of the releases that are published. A line is added with each release and never changed: a
 * published document is immutable.
 */
const published = {
  '1.1.0': 'sha256:ab44c4e71b57babf7c16ee156f6e44ece28d42602613916dcf18ad4680fd70ef',
  '1.2.0': 'sha256:788d68829a811ddcca67d73f06c1e31260025d1efa8bb5ef24044ffd9df1b872',
}

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'vocabulary-'))
  t.after(() => rmSync(directory, { recursive: true }))
  cpSync('vocabulary', directory, { recursive: true })
  return directory
}

test('every release is as it was published, and the newest one is the vocabulary', () => {
  const { index, read } = openReleases('vocabulary')
  const hashes = Object.fromEntries(index.map(({ version, content }) => [version, content]))
  assert.deepEqual(hashes, published)
  for (const { version } of index) assert.equal(read(version).release.version, version)
  assert.deepEqual(lintArchives('vocabulary', loadVocabulary('vocabulary')), [])
})

test('a changed archive is refused, and V19 names it', (t) => {
  const directory = directoryOf(t)
  const file = join(directory, 'releases/1.1.0.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"TypeScript"', '"Typescript"'))
  assert.throws(() => openReleases(directory).read('1.1.0'), VocabularyError)
  const found = lintArchives(directory, loadVocabulary(directory))
  assert.deepEqual(
    found.map(({ rule, message }) => [rule, message]),
    [['V19', 'releases/1.1.0.json: differs from the release as published']],
  )
})

test('V19 finds a change that was not released, even one of the crosswalk', (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'crosswalk.json'), '[]')
  const [finding] = lintArchives(directory, loadVocabulary(directory))
  assert.match(finding?.message ?? '', /differ from release 1\.2\.0: release them/)
})

test('a release adds its archive to the index and keeps the earlier ones', (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'crosswalk.json'), '[]')
  const next = { version: '1.3.0', released_at: '2027-01-01T00:00:00Z', license: 'x' }
  assert.deepEqual(releaseVocabulary(directory, next), [])
  const { index, read } = openReleases(directory)
  assert.deepEqual(
    index.map(({ version }) => version),
    [...Object.keys(published), '1.3.0'],
  )
  assert.deepEqual(read('1.3.0').crosswalk, [])
  assert.deepEqual(lintArchives(directory, loadVocabulary(directory)), [])
})

test('a release that is not above the newest one is refused, because an archive never changes', (t) => {
  const directory = directoryOf(t)
  for (const version of ['1.2.0', '1.1.9']) {
    const again = { version, released_at: '2027-01-01T00:00:00Z', license: 'x' }
    const [finding] = releaseVocabulary(directory, again)
    assert.match(finding?.message ?? '', /must be above 1\.2\.0/)
  }
})

test('npm run vocabulary: 0 for a release that passes, 1 with a line for each finding, 2 for other words', async (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'crosswalk.json'), '[]')
  const before = await runVocabulary(['lint', directory])
  assert.equal(before.exitCode, 1)
  assert.match(before.lines.join('\n'), /^V19 releases\/index\.json: the files differ from release/)
  assert.deepEqual(await runVocabulary(['release', '1.3.0', directory]), {
    exitCode: 0,
    lines: ['Release 1.3.0 is written. Commit its files.'],
  })
  assert.deepEqual(await runVocabulary(['lint', directory]), {
    exitCode: 0,
    lines: ['No findings.'],
  })
  for (const words of [[], ['release'], ['release', 'v1', directory], ['lint', directory, 'x']])
    assert.equal((await runVocabulary(words)).exitCode, 2, words.join(' '))
  assert.equal((await runVocabulary(['lint', join(directory, 'nowhere')])).exitCode, 1)
})
