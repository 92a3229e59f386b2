import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { VocabularyError } from '../../../src/standard/releases.ts'
import { loadVocabulary, readVocabulary } from './read.ts'

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'vocabulary-'))
  t.after(() => rmSync(directory, { recursive: true }))
  cpSync('vocabulary', directory, { recursive: true })
  return directory
}

function faultsOf(load: () => unknown): readonly string[] {
  try {
    load()
  } catch (error) {
    assert.ok(error instanceof VocabularyError, String(error))
    return error.faults
  }
  return assert.fail('the vocabulary was accepted')
}

test('loading: records are sorted by id and come with their release', () => {
  const { records, release } = loadVocabulary('vocabulary')
  const ids = records.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted())
  assert.deepEqual(Object.keys(release.records), ids)
})

test('loading: every fault of every file is reported at once, with the file and the place', (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'git.json'), '{"id": "hss:git", "id": "hss:git"}')
  writeFileSync(join(directory, 'sql.json'), '{"id":')
  writeFileSync(join(directory, 'deprecated.json'), '[]')
  const faults = faultsOf(() => loadVocabulary(directory))
  assert.equal(faults.length, 3)
  assert.match(faults.join('\n'), /git\.json: A member name occurs twice/)
  assert.match(faults.join('\n'), /sql\.json: The body is not JSON/)
  assert.match(faults.join('\n'), /deprecated\.json \/: must be object/)
})

test('loading: a malformed record is refused and the wrong member is named', (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'git.json'), '{"id": "hss:git"}')
  const faults = faultsOf(() => loadVocabulary(directory))
  assert.match(faults.join('\n'), /git\.json \/: must have required propert.*@type/)
})

test('loading: a missing file, release or directory is named', (t) => {
  const directory = directoryOf(t)
  rmSync(join(directory, 'release.json'))
  assert.equal(readVocabulary(directory).release, null)
  assert.deepEqual(
    faultsOf(() => loadVocabulary(directory)),
    ['release.json: missing'],
  )
  rmSync(join(directory, 'controlled.json'))
  assert.deepEqual(
    faultsOf(() => readVocabulary(directory)),
    ['controlled.json: missing or unreadable'],
  )
  assert.match(
    faultsOf(() => loadVocabulary(join(directory, 'nowhere')))[0] ?? '',
    /cannot be read/,
  )
})
