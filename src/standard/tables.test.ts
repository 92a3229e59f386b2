import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skillCatalogOf } from './catalog.ts'
import { loadNotes, notesDocument } from './notes.ts'
import { loadReleasedVocabulary } from './releases.ts'
import { crosswalkCsv, notesCsv, skillsCsv } from './tables.ts'

const vocabulary = loadReleasedVocabulary()
const { controlled, crosswalk } = vocabulary
const { skills } = skillCatalogOf(vocabulary, 'https://scores.example.org')

/** Reads CSV with another algorithm than the writer: character by character. */
function rowsOf(csv: string): Record<string, string>[] {
  const rows: string[][] = [[]]
  let cell = ''
  let isQuoted = false
  for (const [at, character] of Array.from(csv).entries()) {
    if (isQuoted && character !== '"') cell += character
    else if (character === '"') {
      if (!isQuoted && csv[at - 1] === '"') cell += '"'
      isQuoted = !isQuoted
    } else if (character === ',' || character === '\n') {
      rows.at(-1)?.push(cell)
      cell = ''
      if (character === '\n') rows.push([])
    } else if (character !== '\r') cell += character
  }
  const [header = [], ...body] = rows.slice(0, -1)
  return body.map((cells) => {
    assert.equal(cells.length, header.length)
    return Object.fromEntries(header.map((name, i) => [name, cells[i] ?? '']))
  })
}

test('skills.csv: one row for each skill holds all members of its record', () => {
  const rows = rowsOf(skillsCsv(skills, controlled))
  assert.equal(rows.length, skills.length)
  for (const [i, row] of rows.entries()) {
    const skill = skills[i]
    assert.ok(skill)
    assert.equal(row.id, skill.id)
    assert.equal(row.description, skill.description)
    assert.equal(row.aliases, skill.aliases.join(' | '))
    assert.equal(row.expert, skill.proficiency_rubric.expert)
    assert.equal(row.anchored, skill.anchored)
    for (const { type, weight, signal } of skill.evidence_types) {
      assert.equal(Number(row[`weight_${type}`]), weight)
      assert.equal(row[`signal_${type}`], signal)
    }
  }
})

test('skills.csv: the weights of a row sum to one', () => {
  for (const row of rowsOf(skillsCsv(skills, controlled))) {
    const weights = Object.entries(row).filter(([name]) => name.startsWith('weight_'))
    const permille = weights.reduce(
      (sum, [, weight]) => sum + Math.round(Number(weight) * 1_000),
      0,
    )
    assert.equal(permille, 1_000, row.id)
  }
})

test('crosswalk.csv: every mapping has a row, and a gap has a row with empty cells', () => {
  const rows = rowsOf(crosswalkCsv(skills, crosswalk))
  const filled = rows.filter(({ target }) => target !== '')
  assert.equal(filled.length, crosswalk.length)
  for (const { label, source } of crosswalk) assert.ok(label && source)
  for (const row of filled) assert.ok(row.target_label && row.source && row.match)
  const pairs = new Set(rows.map(({ skill, scheme }) => `${skill} ${scheme}`))
  assert.equal(pairs.size, skills.length * 2)
  const gap = rows.find(({ skill, scheme }) => skill === 'hss:typescript' && scheme === 'esco')
  assert.deepEqual([gap?.target, gap?.match, gap?.source], ['', '', ''])
})

test('notes.csv: one row for each skill holds the reasons and every source of its notes', () => {
  const vocabularyNotes = loadNotes('vocabulary')
  const publicUrl = 'https://scores.example.org'
  const options = { publicUrl, license: vocabulary.release.license, vocabularyNotes }
  const notes = [...vocabularyNotes.notes.keys()].map((slug) => notesDocument(slug, options))
  const known = notes.filter((note) => note !== undefined)
  const rows = rowsOf(notesCsv(known))
  assert.equal(rows.length, skills.length)
  for (const [i, row] of rows.entries()) {
    const note = known[i]
    assert.equal(row.skill, note?.about)
    assert.equal(row.half_life_rationale, note?.half_life_rationale)
    assert.equal(row.role_note, note?.role_note ?? '')
    for (const { identifier } of note?.sources ?? []) assert.ok(row.sources?.includes(identifier))
  }
})
