/** The notes of the repository, and the faults that V20 finds in broken copies. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { VocabularyError } from '../../../src/standard/releases.ts'
import { lintNotes, readNotes } from './check.ts'
import { loadVocabulary } from './read.ts'

const { records } = loadVocabulary('vocabulary')
const loaded = readNotes('vocabulary')

test('each record has notes on its present version', () => {
  assert.deepEqual(lintNotes(records, loaded), [])
  assert.equal(loaded.notes.size, records.length)
})

test('the half-life in each rationale is that of the record, and each weight in a text exists', () => {
  for (const { id, decay_half_life_months: months, evidence_types } of records) {
    const notes = loaded.notes.get(id.slice(4))
    const named = months === 0 ? '0, no decay.' : `${months} months`
    assert.ok(notes, id)
    assert.ok(notes.half_life_rationale.includes(named), id)
    const weights = new Set(evidence_types.map(({ weight }) => weight))
    for (const [text] of notes.weights_rationale.matchAll(/\b0\.\d+/g))
      assert.ok(weights.has(Number(text)), `${id} ${text}`)
  }
})

test('a note on role quotes the text of the level expert', () => {
  for (const { id, proficiency_rubric } of records) {
    const note = loaded.notes.get(id.slice(4))?.role_note ?? null
    if (note === null) continue
    const quote = /“(.*)”/.exec(note)?.[1] ?? ''
    assert.ok(quote !== '' && proficiency_rubric.expert?.includes(quote), id)
  }
})

test('V20 finds missing notes, notes on another version, and unknown or unused sources', () => {
  const notes = new Map(loaded.notes)
  notes.delete('git')
  const sql = notes.get('sql')
  const react = notes.get('react')
  assert.ok(sql && react)
  notes.set('sql', { ...sql, sources: ['nowhere'] })
  notes.set('react', { ...react, record_version: '9.0.0' })
  const found = lintNotes(records, { ...loaded, notes })
  const messages = found.map(({ rule, file, message }) => `${rule} ${file}: ${message}`)
  assert.ok(messages.includes('V20 notes/git.json: missing'))
  assert.ok(messages.includes('V20 notes/sql.json: nowhere is not in notes/sources.json'))
  assert.ok(messages.includes('V20 notes/sources.json: iso-9075 is not used'))
  assert.ok(messages.some((message) => /react\.json: covers version 9\.0\.0/.test(message)))
})

test('a malformed file of notes is refused with its name', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vocabulary-'))
  t.after(() => rmSync(directory, { recursive: true }))
  cpSync('vocabulary', directory, { recursive: true })
  writeFileSync(join(directory, 'notes/git.json'), '{"skill":"hss:git"}')
  assert.throws(
    () => readNotes(directory),
    (error) => error instanceof VocabularyError && /notes\/git\.json/.test(error.message),
  )
})
