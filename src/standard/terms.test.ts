/** The namespace document defines each term that any of our documents uses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openJsonLd } from '../../packages/vocabulary/src/lint-json-ld.ts'
import { skillCatalogOf } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import { loadReleasedVocabulary } from './releases.ts'
import { conceptSchemes, terms, vocabularyDocument } from './terms.ts'

const base = 'https://scores.example.org'
const { vocab } = standardUrls(base)
const vocabulary = loadReleasedVocabulary()
const document = vocabularyDocument(base, vocabulary)

/** Names of `std:` at any depth of the context. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const iri = value.startsWith('std:') ? `${vocab}${value.slice(4)}` : value
    return iri.startsWith(vocab) && iri !== vocab ? [iri.slice(vocab.length)] : []
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : []
}

test('the terms are exactly those of the context', () => {
  const used = new Set(namesIn(contextDocument(base)))
  assert.deepEqual([...used].sort(), Object.keys(terms).sort())
})

test('each term has a label and a sentence, and its class is a term as well', () => {
  for (const [name, term] of Object.entries(terms)) {
    assert.match(term.comment, /^[A-Z1s][^]*\.$/, name)
    assert.equal(term.kind === 'class', /^[A-Z]/.test(name), name)
    if (term.kind === 'class') continue
    if (term.domain !== undefined) assert.equal(terms[term.domain]?.kind, 'class', name)
    if (!term.range.includes(':')) assert.equal(terms[term.range]?.kind, 'class', name)
  }
})

test('each controlled word of a record is the notation of one concept', () => {
  const schemes = conceptSchemes(vocabulary.controlled)
  const notations = new Map(
    schemes.map(({ name, concepts }) => [name, new Set(concepts.map(({ notation }) => notation))]),
  )
  const { skills } = skillCatalogOf(vocabulary, base)
  for (const { domain, subdomain, category, evidence_types } of skills) {
    assert.ok(notations.get('Domains')?.has(domain))
    if (typeof subdomain === 'string') assert.ok(notations.get('Subdomains')?.has(subdomain))
    for (const slug of category) assert.ok(notations.get('Categories')?.has(slug))
    for (const { type } of evidence_types) assert.ok(notations.get('EvidenceKinds')?.has(type))
  }
})

test('the document expands in safe mode, and no two nodes have one name', async () => {
  const jsonLd = await openJsonLd({})
  const expanded = await jsonLd?.expand(document)
  assert.ok(Array.isArray(expanded))
  assert.equal(expanded.length, document['@graph'].length)
  const ids = document['@graph'].map((node) => node['@id'])
  assert.equal(new Set(ids).size, ids.length)
  const quads = await jsonLd?.dataset(document)
  assert.ok(
    quads?.includes(
      `<${vocab}dependsOn> <http://www.w3.org/2000/01/rdf-schema#range> <${vocab}Skill> .`,
    ),
  )
})
