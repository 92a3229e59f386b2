/**
 * Each rule finds its fault in a broken copy of the real vocabulary, and finds nothing in the real
 * one.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { contextDocument, standardUrls } from '../../../src/standard/context.ts'
import { loadNotes } from '../../../src/standard/notes.ts'
import { domains } from '../../../src/standard/schema.ts'
import type { Crosswalk, SourceRecord } from '../../../src/standard/source.ts'
import { checkVocabulary } from './check.ts'
import { type LintOptions, lintVocabulary, releaseDomainRecordsMin } from './lint.ts'
import { jsonLdDocumentsOf, lintJsonLd, openJsonLd } from './lint-json-ld.ts'
import { loadVocabulary, readVocabulary } from './read.ts'
import { releaseOf, releaseVocabulary } from './release.ts'
import { type Rule, shapes } from './source.ts'

const base = 'https://scores.example.org'

test('the vocabulary of the repository has no finding by any rule, V15 and V16 included', async () => {
  assert.deepEqual(await checkVocabulary('vocabulary'), [])
})

test('the vocabulary has at least a hundred records, each domain its minimum, and the technical domain the most', () => {
  const { records } = loadVocabulary('vocabulary')
  assert.ok(records.length >= 100)
  const counts = domains.map((domain) => records.filter((it) => it.domain === domain).length)
  for (const count of counts) assert.ok(count >= releaseDomainRecordsMin, String(counts))
  assert.equal(counts[domains.indexOf('technical')], Math.max(...counts))
})

const real = readVocabulary('vocabulary')

/**
 * Returns a copy of the real files for a test to break: records by slug, and the four other files.
 */
function copy() {
  const { controlled, crosswalk, deprecated, release, records: list } = structuredClone(real)
  const records = new Map<string, SourceRecord>()
  for (const { file, content } of list) {
    assert.ok(shapes.record.Check(content))
    records.set(file, content)
  }
  assert.ok(release !== null)
  return {
    records,
    release,
    controlled,
    deprecated,
    crosswalk,
    skill: (slug: string): SourceRecord => {
      const record = records.get(`${slug}.json`)
      assert.ok(record, slug)
      return record
    },
  }
}

type Copy = ReturnType<typeof copy>

interface Breakage {
  rule: Rule
  what: string
  file: string
  message: RegExp
  breakIt: (it: Copy) => void
  options?: LintOptions
}

const longText = (letter: string) => letter.repeat(80)

const breakages: Breakage[] = [
  {
    rule: 'V1',
    what: 'a record with a member too many',
    file: 'git.json',
    message: /additional properties/,
    breakIt: (it) => Object.assign(it.skill('git'), { vendor: 'x' }),
  },
  {
    rule: 'V1',
    what: 'a description that is too short',
    file: 'git.json',
    message: /description/,
    breakIt: (it) => Object.assign(it.skill('git'), { description: 'Uses Git.' }),
  },
  {
    rule: 'V1',
    what: 'a version that is no version',
    file: 'git.json',
    message: /version/,
    breakIt: (it) => Object.assign(it.skill('git'), { version: '1.0' }),
  },
  {
    rule: 'V2',
    what: 'a file under another name',
    file: 'git-scm.json',
    message: /hss:git/,
    breakIt: (it) => void it.records.set('git-scm.json', it.skill('git')),
  },
  {
    rule: 'V3',
    what: 'an id twice',
    file: 'sql.json',
    message: /hss:git/,
    breakIt: (it) => Object.assign(it.skill('sql'), { id: 'hss:git' }),
  },
  {
    rule: 'V3',
    what: 'a label twice, in other case and width',
    file: 'sql.json',
    message: /ＧＩＴ/,
    breakIt: (it) => Object.assign(it.skill('sql'), { label: 'ＧＩＴ' }),
  },
  {
    rule: 'V4',
    what: 'an alias that is the label of another skill',
    file: 'sql.json',
    message: /is the label in python\.json/,
    breakIt: (it) => void it.skill('sql').aliases.push('python'),
  },
  {
    rule: 'V4',
    what: 'an alias of two skills',
    file: 'sql.json',
    message: /"py-thon 3"/,
    breakIt: (it) => void it.skill('sql').aliases.push('py-thon 3'),
  },
  {
    rule: 'V5',
    what: 'a prerequisite that does not exist',
    file: 'git.json',
    message: /hss:nowhere/,
    breakIt: (it) => void it.skill('git').depends_on.push('hss:nowhere'),
  },
  {
    rule: 'V5',
    what: 'a related skill that does not exist',
    file: 'git.json',
    message: /hss:nowhere/,
    breakIt: (it) => void it.skill('git').related_to.push('hss:nowhere'),
  },
  {
    rule: 'V6',
    what: 'a circle of prerequisites',
    file: 'javascript.json',
    message: /own prerequisite/,
    breakIt: (it) => void it.skill('programming-fundamentals').depends_on.push('hss:typescript'),
  },
  {
    rule: 'V6',
    what: 'a chain of seven prerequisites',
    file: 'typescript.json',
    message: /7 steps/,
    breakIt: (it) => {
      it.skill('reading-comprehension').depends_on = ['hss:time-management']
      it.skill('time-management').depends_on = ['hss:food-safety']
      it.skill('digital-literacy').depends_on = ['hss:reading-comprehension']
      it.skill('food-safety').depends_on = ['hss:infection-prevention']
    },
  },
  {
    rule: 'V7',
    what: 'a relation that is not returned',
    file: 'git.json',
    message: /hss:food-safety does not name/,
    breakIt: (it) => void it.skill('git').related_to.push('hss:food-safety'),
  },
  {
    rule: 'V7',
    what: 'a skill related to itself',
    file: 'git.json',
    message: /to itself/,
    breakIt: (it) => void it.skill('git').related_to.push('hss:git'),
  },
  {
    rule: 'V7',
    what: 'a prerequisite of a prerequisite that is also related',
    file: 'typescript.json',
    message: /is a prerequisite/,
    breakIt: (it) => {
      it.skill('typescript').related_to.push('hss:programming-fundamentals')
      it.skill('programming-fundamentals').related_to.push('hss:typescript')
    },
  },
  {
    rule: 'V8',
    what: 'weights that do not sum to one',
    file: 'git.json',
    message: /sum to/,
    breakIt: (it) => void (it.skill('git').evidence_types[0]!.weight += 0.001),
  },
  {
    rule: 'V8',
    what: 'a weight finer than a thousandth',
    file: 'git.json',
    message: /decimals/,
    breakIt: (it) => void (it.skill('git').evidence_types[0]!.weight += 0.0001),
  },
  {
    rule: 'V8',
    what: 'an evidence type twice',
    file: 'git.json',
    message: /stands twice/,
    breakIt: (it) =>
      void (it.skill('git').evidence_types[0]!.type = it.skill('git').evidence_types[1]!.type),
  },
  {
    rule: 'V8',
    what: 'an evidence type that is not controlled',
    file: 'git.json',
    message: /rumour is no evidence type/,
    breakIt: (it) => void (it.skill('git').evidence_types[0]!.type = 'rumour'),
  },
  {
    rule: 'V9',
    what: 'a level without a text',
    file: 'git.json',
    message: /expert is missing/,
    breakIt: (it) => {
      const { novice = '', intermediate = '', advanced = '' } = it.skill('git').proficiency_rubric
      it.skill('git').proficiency_rubric = { novice, intermediate, advanced }
    },
  },
  {
    rule: 'V9',
    what: 'a fifth level',
    file: 'git.json',
    message: /guru is no level/,
    breakIt: (it) => void (it.skill('git').proficiency_rubric.guru = longText('g')),
  },
  {
    rule: 'V9',
    what: 'a level of three words',
    file: 'git.json',
    message: /characters/,
    breakIt: (it) => void (it.skill('git').proficiency_rubric.novice = 'Knows a little.'),
  },
  {
    rule: 'V9',
    what: 'two levels with one text',
    file: 'git.json',
    message: /expert says the same as advanced/,
    breakIt: (it) => {
      const rubric = it.skill('git').proficiency_rubric
      rubric.expert = rubric.advanced ?? ''
    },
  },
  {
    rule: 'V9',
    what: 'a level that counts years',
    file: 'git.json',
    message: /years of experience/,
    breakIt: (it) =>
      void (it.skill('git').proficiency_rubric.expert = `${longText('e')} ten years of experience`),
  },
  {
    rule: 'V10',
    what: 'a category that is not controlled',
    file: 'git.json',
    message: /plumbing is no category/,
    breakIt: (it) => void (it.skill('git').category = ['plumbing']),
  },
  {
    rule: 'V10',
    what: 'a subdomain that is not controlled',
    file: 'git.json',
    message: /plumbing is no subdomain/,
    breakIt: (it) => void (it.skill('git').subdomain = 'plumbing'),
  },
  {
    rule: 'V10',
    what: 'a subdomain of another domain',
    file: 'git.json',
    message: /subdomain of domain/,
    breakIt: (it) => void (it.skill('git').subdomain = 'finance'),
  },
  {
    rule: 'V10',
    what: 'a controlled word twice',
    file: 'controlled.json',
    message: /design stands twice/,
    breakIt: (it) => void it.controlled.categories.push({ slug: 'design', label: 'Design again' }),
  },
  {
    rule: 'V11',
    what: 'a domain with too few records',
    file: 'catalog',
    message: new RegExp(`creative has ${releaseDomainRecordsMin - 1} `),
    breakIt: (it) => {
      const creative = [...it.records].filter(([, { domain }]) => domain === 'creative')
      for (const [file] of creative.slice(releaseDomainRecordsMin - 1)) it.records.delete(file)
    },
  },
  {
    rule: 'V11',
    what: 'the larger minimum of a later release',
    file: 'catalog',
    message: /at least 15/,
    breakIt: () => {},
    options: { domainRecordsMin: 15 },
  },
  {
    rule: 'V12',
    what: 'a text changed under its released version',
    file: 'git.json',
    message: /differs/,
    breakIt: (it) => void (it.skill('git').label = 'Git changed'),
  },
  {
    rule: 'V12',
    what: 'a new version that was not released',
    file: 'git.json',
    message: /1\.0\.1 is not in the release/,
    breakIt: (it) => void (it.skill('git').version = '1.0.1'),
  },
  {
    rule: 'V12',
    what: 'a record that was not released',
    file: 'git.json',
    message: /not in release/,
    breakIt: (it) => {
      const { 'hss:git': _, ...others } = it.release.records
      it.release.records = others
    },
  },
  {
    rule: 'V12',
    what: 'a release file that was edited',
    file: 'git.json',
    message: /score_relevant/,
    breakIt: (it) =>
      void (it.release.records['hss:git']!.score_relevant = `sha256:${'0'.repeat(64)}`),
  },
  {
    rule: 'V13',
    what: 'another half-life under a minor version',
    file: 'git.json',
    message: /major version above 1\.0\.0/,
    breakIt: (it) =>
      Object.assign(it.skill('git'), { decay_half_life_months: 12, version: '1.1.0' }),
  },
  {
    rule: 'V13',
    what: 'a version that goes back',
    file: 'git.json',
    message: /went back/,
    breakIt: (it) => void (it.skill('git').version = '0.9.0'),
  },
  {
    rule: 'V14',
    what: 'a released id that is gone',
    file: 'release.json',
    message: /hss:git was released and is gone/,
    breakIt: (it) => void it.records.delete('git.json'),
  },
  {
    rule: 'V14',
    what: 'a successor that does not exist',
    file: 'deprecated.json',
    message: /hss:nowhere/,
    breakIt: (it) => void (it.deprecated['hss:git'] = 'hss:nowhere'),
  },
  {
    rule: 'V14',
    what: 'a successor that is deprecated itself',
    file: 'deprecated.json',
    message: /deprecated itself/,
    breakIt: (it) =>
      Object.assign(it.deprecated, { 'hss:git': 'hss:sql', 'hss:sql': 'hss:python' }),
  },
  {
    rule: 'V17',
    what: 'a target of the wrong form',
    file: 'crosswalk.json',
    message: /not well-formed/,
    breakIt: (it) => void it.crosswalk.push(mapping({ scheme: 'esco', target: 'skill/1' })),
  },
  {
    rule: 'V17',
    what: 'an unknown scheme',
    file: 'crosswalk.json',
    message: /scheme is not known/,
    breakIt: (it) => void it.crosswalk.push(mapping({ scheme: 'constructor' })),
  },
  {
    rule: 'V17',
    what: 'an unknown skill',
    file: 'crosswalk.json',
    message: /no such skill/,
    breakIt: (it) => void it.crosswalk.push(mapping({ skill: 'hss:nowhere' })),
  },
  {
    rule: 'V17',
    what: 'a mapping that SKOS does not know',
    file: 'crosswalk.json',
    message: /SKOS/,
    breakIt: (it) => void it.crosswalk.push(mapping({ match: 'sameAs' })),
  },
  {
    rule: 'V17',
    what: 'a mapping without the source in which its target was looked up',
    file: 'crosswalk.json',
    message: /label or the source is missing/,
    breakIt: (it) => void it.crosswalk.push(mapping({ source: '' })),
  },
  {
    rule: 'V17',
    what: 'two exact matches of one skill in one scheme',
    file: 'crosswalk.json',
    message: /second exactMatch/,
    breakIt: (it) =>
      void it.crosswalk.push(
        mapping({ match: 'exactMatch' }),
        mapping({ match: 'exactMatch', target: '2.A.1.b' }),
      ),
  },
  {
    rule: 'V18',
    what: 'an alias that is the label again',
    file: 'active-listening.json',
    message: /label again/,
    breakIt: (it) => void it.skill('active-listening').aliases.push('Active-Listening'),
  },
]

function mapping(part: Partial<Crosswalk[number]>) {
  const whole = {
    skill: 'hss:git',
    scheme: 'onet',
    target: '2.A.1.a',
    match: 'closeMatch',
    label: 'Reading Comprehension',
    source: 'O*NET Content Model Reference',
  }
  return { ...whole, ...part }
}

for (const { rule, what, file, message, breakIt, options } of breakages)
  test(`${rule} finds ${what}`, () => {
    const it = copy()
    breakIt(it)
    const { controlled, deprecated, crosswalk, release } = it
    const records = [...it.records].map(([name, content]) => ({ file: name, content }))
    const found = lintVocabulary({ records, controlled, deprecated, crosswalk, release }, options)
    const hit = found.find((finding) => finding.rule === rule && finding.file === file)
    assert.ok(hit, `no ${rule} for ${file} among ${JSON.stringify(found)}`)
    const messages = found.filter((finding) => finding.rule === rule && finding.file === file)
    assert.match(messages.map((finding) => finding.message).join('\n'), message)
  })

test('V12 finds that there is no release yet', () => {
  const found = lintVocabulary({ ...readVocabulary('vocabulary'), release: null })
  assert.deepEqual(
    found.map(({ rule, file }) => [rule, file]),
    [['V12', 'release.json']],
  )
})

test('the table of broken copies names every rule but V15 and V16', () => {
  const rules = new Set(breakages.map(({ rule }) => Number(rule.slice(1))))
  const expected = Array.from({ length: 18 }, (_, i) => i + 1).filter((n) => n !== 15 && n !== 16)
  assert.deepEqual(
    [...rules].sort((a, b) => a - b),
    expected,
  )
})

async function processor(context: unknown = contextDocument(base)) {
  const jsonLd = await openJsonLd({ [standardUrls(base).context]: context })
  assert.ok(jsonLd)
  return jsonLd
}

test('V15 finds a term that is not in the context', async () => {
  const documents = jsonLdDocumentsOf(
    { vocabulary: loadVocabulary('vocabulary'), notes: loadNotes('vocabulary') },
    base,
  )
  const { Skill } = contextDocument(base)['@context']
  const { anchored: _, ...terms } = Skill['@context']
  const broken = { ...contextDocument(base)['@context'], Skill: { ...Skill, '@context': terms } }
  const found = await lintJsonLd(documents, await processor({ '@context': broken }))
  // Each record, and the catalog that contains it.
  assert.equal(found.length, documents.records.length + 1)
  assert.ok(found.every(({ rule, message }) => rule === 'V15' && message.includes('anchored')))
})

test('V16 finds a catalog in which a record is missing or changed', async () => {
  const documents = jsonLdDocumentsOf(
    { vocabulary: loadVocabulary('vocabulary'), notes: loadNotes('vocabulary') },
    base,
  )
  const jsonLd = await processor()
  const lost = { ...documents.catalog, skills: documents.records.slice(1) }
  const found = await lintJsonLd({ ...documents, catalog: lost }, jsonLd)
  assert.ok(
    found.some(({ rule, message }) => rule === 'V16' && message.startsWith('a record says')),
  )
  const extra = await lintJsonLd({ ...documents, records: documents.records.slice(1) }, jsonLd)
  assert.ok(extra.some(({ rule, message }) => rule === 'V16' && message.startsWith('the catalog')))
})

test('V16 holds for a deprecated skill: its successor is the catalog’s own statement', async () => {
  const vocabulary = loadVocabulary('vocabulary')
  const deprecated = { 'hss:git': 'hss:sql' }
  const documents = jsonLdDocumentsOf(
    { vocabulary: { ...vocabulary, deprecated }, notes: loadNotes('vocabulary') },
    base,
  )
  assert.deepEqual(await lintJsonLd(documents, await processor()), [])
  const dataset = await (await processor()).dataset(documents.catalog)
  const { skill } = standardUrls(base)
  const replaced = `<${skill('git')}> <http://purl.org/dc/terms/isReplacedBy> <${skill('sql')}> .`
  assert.ok(dataset.includes(replaced))
})

test('the checked-in release is exactly the release of these records', () => {
  const { records, release } = loadVocabulary('vocabulary')
  assert.deepEqual(releaseOf({ records }, release), release)
})

test('a release is written if only V12 has findings, and refused otherwise', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vocabulary-'))
  t.after(() => rmSync(directory, { recursive: true }))
  cpSync('vocabulary', directory, { recursive: true })
  const edit = (changes: object) => {
    const file = join(directory, 'git.json')
    const record: object = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...record, ...changes }))
  }
  const before = loadVocabulary(directory).release.version
  const next = { version: '2.0.0', released_at: '2027-01-01T00:00:00Z', license: 'x' }

  edit({ decay_half_life_months: 12, version: '1.1.0' })
  const refused = releaseVocabulary(directory, next)
  assert.deepEqual(
    refused.map(({ rule, file }) => [rule, file]),
    [['V13', 'git.json']],
  )
  assert.equal(loadVocabulary(directory).release.version, before)

  edit({ version: '2.0.0' })
  assert.deepEqual(releaseVocabulary(directory, next), [])
  assert.equal(loadVocabulary(directory).release.version, '2.0.0')
  assert.deepEqual(lintVocabulary(readVocabulary(directory)), [])
})
