/** Skill records and the catalog as they are served, and the traps of their JSON-LD. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import { Compile } from 'typebox/compile'
import { openJsonLd } from '../../packages/vocabulary/src/lint-json-ld.ts'
import { skillCatalogOf } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import { loadReleasedVocabulary } from './releases.ts'
import { skillCatalog, skillRecord } from './schema.ts'

const base = 'https://scores.example.org'
const vocabulary = loadReleasedVocabulary()
const catalog = skillCatalogOf(vocabulary, base)

function record(id: string) {
  const found = catalog.skills.find((candidate) => candidate.id === id)
  assert.ok(found, id)
  return found
}

async function jsonLd() {
  const opened = await openJsonLd({ [standardUrls(base).context]: contextDocument(base) })
  assert.ok(opened)
  return opened
}

function sha256(text: string | undefined): string {
  assert.ok(text !== undefined)
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

test('record: closed, with every published key, and its address is the route that serves it', () => {
  const shape = Compile(skillRecord)
  for (const skill of catalog.skills) {
    assert.ok(shape.Check(skill), skill.id)
    assert.equal(skill['@context'], `${base}/standard/v1/context.jsonld`)
    assert.equal(skill['@id'], `${base}/standard/v1/skills/${skill.id.slice(4)}`)
    assert.ok('subdomain' in skill)
  }
})

test('record: anchored is the digest of the canonical JSON of the rest, computed by another implementation', () => {
  for (const { anchored, ...rest } of catalog.skills)
    assert.equal(anchored, sha256(canonicalize(rest)), rest.id)
})

test('record: one changed letter or another base address changes the anchor', () => {
  const elsewhere = skillCatalogOf(vocabulary, 'https://elsewhere.example')
  catalog.skills.forEach(({ anchored }, i) =>
    assert.notEqual(anchored, elsewhere.skills[i]?.anchored),
  )
  const { anchored, ...rest } = record('hss:git')
  assert.notEqual(anchored, sha256(canonicalize({ ...rest, label: 'Gitt' })))
})

test('catalog: counts its records, and its hash covers the sorted anchors', () => {
  assert.ok(Compile(skillCatalog).Check(catalog))
  assert.equal(catalog.count, catalog.skills.length)
  assert.equal(new Set(catalog.skills.map(({ id }) => id)).size, catalog.count)
  const anchors = catalog.skills.map(({ anchored }) => anchored).sort()
  assert.equal(catalog.catalog_hash, sha256(canonicalize(anchors)))
  assert.equal(catalog.version, vocabulary.release.version)
  assert.match(catalog.released_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.equal(catalog.license, 'https://creativecommons.org/licenses/by/4.0/')
  const words = catalog.controlled.evidence_types.map(({ slug }) => slug)
  assert.ok(words.includes('self_attestation'))
})

test('trap: the value "domain" of the property domain stays a literal', async () => {
  const domain = catalog.skills.find((skill) => skill.domain === 'domain')
  assert.ok(domain)
  const quads = await (await jsonLd()).dataset(domain)
  const { vocab } = standardUrls(base)
  assert.ok(quads.includes(`<${domain['@id']}> <${vocab}domain> "domain" .`))
})

test('trap: a weight is a double, never the invalid decimal "3.5E-1"', async () => {
  const quads = (await (await jsonLd()).dataset(record('hss:javascript'))).join('\n')
  assert.match(quads, /#weight> "3\.5E-1"\^\^<http:\/\/www\.w3\.org\/2001\/XMLSchema#double>/)
  assert.doesNotMatch(quads, /XMLSchema#decimal/)
})

test('trap: a record has its address as its node and its hss id as a literal', async () => {
  const skill = record('hss:typescript')
  const quads = await (await jsonLd()).dataset(skill)
  const node = `<${base}/standard/v1/skills/typescript>`
  assert.ok(quads.includes(`${node} <https://schema.org/identifier> "hss:typescript" .`))
  const { vocab } = standardUrls(base)
  const javascript = `<${base}/standard/v1/skills/javascript>`
  assert.ok(quads.includes(`${node} <${vocab}dependsOn> ${javascript} .`))
})

test('trap: a round trip through compaction keeps the statements, but not the text', async () => {
  const skill = record('hss:typescript')
  const { compact, dataset } = await jsonLd()
  const compacted = await compact(skill, standardUrls(base).context)
  assert.equal(compacted['@id'], 'hss:typescript')
  assert.deepEqual(await dataset(compacted), await dataset(skill))
})
