/** The context in a JSON-LD processor in safe mode, where a dropped term is an error. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type JsonLd, openJsonLd } from '../../packages/vocabulary/src/lint-json-ld.ts'
import { scoreBandDefinitions, scoreBands } from './bands.ts'
import { contextDocument, standardUrls } from './context.ts'

const base = 'https://scores.example.org'
const vector = JSON.parse(readFileSync('vectors/score-credential.json', 'utf8'))
const v2Url = 'https://www.w3.org/ns/credentials/v2'

async function jsonLd(context: unknown = contextDocument(base)): Promise<JsonLd> {
  const name: string = '@digitalbazaar/credentials-context'
  const { contexts }: { contexts: Map<string, unknown> } = await import(name)
  const opened = await openJsonLd({
    [standardUrls(base).context]: context,
    [v2Url]: contexts.get(v2Url),
  })
  assert.ok(opened, 'jsonld is a development dependency of these tests')
  return opened
}

test('context: the top level holds only prefixes and types', () => {
  const context: Record<string, unknown> = contextDocument(base)['@context']
  for (const [name, definition] of Object.entries(context)) {
    if (name.startsWith('@')) continue
    const isPrefix = typeof definition === 'string' && /[#/]$/.test(definition)
    assert.ok(isPrefix || /^[A-Z]/.test(name), `${name} stands at the top level`)
  }
  assert.equal(context['@vocab'], undefined)
  assert.equal(context['@protected'], true)
})

test('context: each credential term has the name that the signed vectors depend on', () => {
  const context: Record<string, unknown> = contextDocument(base)['@context']
  for (const [type, expected] of Object.entries(vector.context.credentialTerms)) {
    if (type.startsWith('@')) continue
    const ours = context[type]
    if (typeof expected === 'string') assert.equal(Object(ours)['@id'], expected, type)
    else assert.deepEqual(ours, expected, type)
  }
})

for (const form of ['native', 'eddsaJcs2022', 'eddsaRdfc2022'])
  test(`context: the ${form} credential, proof included, expands without a dropped term`, async () => {
    const [expanded] = await (await jsonLd()).expand(vector[form].credential)
    const text = JSON.stringify(expanded)
    assert.match(text, /https:\/\/scores\.example\.org\/standard\/v1\/vocab#confidenceLow/)
    assert.match(text, /https:\/\/w3id\.org\/security#proofValue/)
  })

for (const form of ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'])
  test(`context: the ${form} status list, proof included, expands without a dropped term`, async () => {
    const { credentials } = JSON.parse(readFileSync('vectors/status-list.json', 'utf8'))
    const text = JSON.stringify(await (await jsonLd()).expand(credentials[form]))
    assert.match(text, /https:\/\/w3id\.org\/security#proofValue/)
    assert.equal(text.includes('vocab#ServiceScoreEd25519Signature2026'), form === 'native')
  })

test('context: the payload gives exactly the statements that were signed', async () => {
  const { dataset } = await jsonLd()
  assert.deepEqual(await dataset(vector.payload), lines(vector.eddsaRdfc2022.payloadNQuads))
})

test('context: the bands document expands, its bands in order', async () => {
  const { expand } = await jsonLd()
  const text = JSON.stringify(await expand(scoreBandDefinitions(base)))
  assert.match(text, /"@list":\[/)
  assert.ok(text.indexOf('"emerging"') < text.indexOf('"exceptional"'))
})

test('context: the bands document canonicalises at the default limit, with each band under its own name', async () => {
  const quads = await (await jsonLd()).dataset(scoreBandDefinitions(base))
  const names = quads
    .filter((quad) => quad.includes('/vocab#band>'))
    .map((quad) => quad.split(' ')[0])
  const expected = scoreBands.map(({ band }) => `<${base}/standard/v1/score-bands.jsonld#${band}>`)
  assert.deepEqual(names, expected.sort())
})

test('context trap: a new member of an open document without a term fails the check', async () => {
  const { expand } = await jsonLd()
  await assert.rejects(expand({ ...scoreBandDefinitions(base), novelty: 'x' }), /Safe mode/)
})

test('context trap: an `id` alias at the top level would break every record and every credential', async () => {
  const document = contextDocument(base)
  const broken = { '@context': { ...document['@context'], id: '@id' } }
  const both = { '@context': standardUrls(base).context, '@id': `${base}/a`, id: 'hss:a' }
  await assert.rejects((await jsonLd(broken)).expand(both), /colliding/i)
  const root = { '@context': { ...document['@context'], id: 'https://schema.org/identifier' } }
  await assert.rejects(
    (await jsonLd(root)).expand(vector.payload),
    /protected term/i,
    'a root term `id` redefines a protected term of the W3C context',
  )
})

test('context: a check makes no request', async () => {
  const { expand } = await jsonLd()
  await assert.rejects(expand({ '@context': 'https://elsewhere.example/', '@id': 'urn:a' }))
})

function lines(quads: string): string[] {
  return quads.split('\n').filter((quad) => quad !== '')
}
