import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skillCatalogOf } from '../../standard/catalog.ts'
import { loadReleasedVocabulary } from '../../standard/releases.ts'
import { loadSearchWords } from '../../standard/search-words.ts'
import { openSkillSearch } from './standard.ts'

const vocabulary = loadReleasedVocabulary()
const searchWords = loadSearchWords()
const { skills } = skillCatalogOf(vocabulary, 'https://scores.example.org')
const index = await openSkillSearch({ skills, crosswalk: vocabulary.crosswalk, searchWords })

const firstFor: Readonly<Record<string, string>> = {
  TS: 'typescript',
  js: 'javascript',
  programing: 'programming-fundamentals',
  containers: 'containerisation',
  'write tests': 'automated-testing',
  nurse: 'medication-administration',
  accountant: 'bookkeeping',
  welder: 'welding',
  docker: 'containerisation',
  k8s: 'containerisation',
  excel: 'spreadsheet-modelling',
  teacher: 'classroom-teaching',
  'http://data.europa.eu/esco/skill/83e6510b-ffeb-4aec-959c-4265fd0ff7b7': 'attention-to-detail',
  '2.A.1.b': 'active-listening',
  a11y: 'web-accessibility',
  typescr: 'typescript',
}

for (const [query, slug] of Object.entries(firstFor))
  test(`skills: “${query}” finds ${slug} first`, () =>
    assert.equal(index.find(query)[0]?.item.id, `hss:${slug}`))

test('skills: a short form finds its skill alone, and nonsense finds nothing', () => {
  assert.equal(index.find('TS').length, 1)
  assert.deepEqual(index.find('zzqqxx'), [])
})

test('skills: each word of the search leads to skills of the standard', () => {
  const known = new Set(skills.map(({ id }) => id))
  for (const [id, { first, further }] of searchWords)
    assert.ok(known.has(id), `${id} of ${[...first, ...further].join(', ')}`)
})
