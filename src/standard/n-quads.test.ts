/** The N-Quads of each document, compared with the statements of a JSON-LD processor. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalNQuadsOf, openJsonLd } from '../../packages/vocabulary/src/lint-json-ld.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import { nQuadsOf } from './n-quads.ts'
import { loadReleasedVocabulary } from './releases.ts'

const base = 'https://scores.example.org'
const context = contextDocument(base)['@context']
const jsonLd = await openJsonLd({ [standardUrls(base).context]: contextDocument(base) })
assert.ok(jsonLd)
const vocabulary = loadReleasedVocabulary()
const deprecated = { 'hss:git': 'hss:sql' }
const catalog = skillCatalogOf({ ...vocabulary, deprecated }, base)

for (const [name, document] of [
  ['catalog', catalog],
  ['record', catalog.skills[0]],
  ['bands', scoreBandDefinitions(base)],
] as const)
  test(`the N-Quads of the ${name} are the statements that a JSON-LD processor derives`, async () => {
    const lines = nQuadsOf(document ?? {}, context)
    assert.deepEqual(await canonicalNQuadsOf(lines), await jsonLd.dataset(document))
  })

test('the same document gives the same bytes', () => {
  assert.equal(nQuadsOf(catalog, context), nQuadsOf(structuredClone(catalog), context))
})

test('quotes, line ends and control characters of a text are escaped', () => {
  const record = { '@type': 'Skill', '@id': 'hss:x', label: 'a "b"\n\\c\td\r' }
  assert.match(nQuadsOf(record, context), /prefLabel> "a \\"b\\"\\n\\\\c\\td\\r" \.\n$/)
})

test('a term that the context does not define is refused, and so is an IRI that ends early', () => {
  const record = { '@type': 'Skill', '@id': 'hss:x' }
  assert.throws(() => nQuadsOf({ ...record, vendor: 'x' }, context), /no term vendor/)
  assert.throws(() => nQuadsOf({ ...record, constructor: 'x' }, context), /no term constructor/)
  assert.throws(() => nQuadsOf({ ...record, '@id': 'hss:x> <y' }, context), /not an absolute IRI/)
})
