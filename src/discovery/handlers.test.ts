import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import type { PublicDocument } from '../platform/http/document.ts'
import { type Answer, anybody, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { discoveryEndpoints } from './endpoints.ts'
import { type EngineFacts, exampleEngine } from './engine-facts.ts'
import type { EnvelopeSigner } from './provenance.ts'
import { exampleRelease } from './release-manifest.ts'
import { engineDiscovery, provenanceEnvelope, releaseManifest } from './schema.ts'

const publicUrl = 'https://scores.example.org'
const issuer = 'did:web:scores.example.org'
const standard = {
  version: '1.0.0',
  catalogHash: 'sha256:00',
  skillCount: 3,
  license: 'CC0-1.0',
}

/** Operations of other modules to which the engine document links. */
const elsewhere: [operationId: string, path: string][] = [
  ['listSkills', '/standard/v1/skills'],
  ['getSkill', '/standard/v1/skills/{id}'],
  ['getSkillStandardContext', '/standard/v1/context.jsonld'],
  ['getScoreBands', '/standard/v1/score-bands.jsonld'],
  ['getScoreCredentialPublicKey', '/.well-known/service-score-vc-public-key.json'],
  ['getDidDocument', '/.well-known/did.json'],
  ['verifyScoreCredential', '/verify'],
  ['describeScoreCredentialVerifier', '/verify'],
  ['getScoreCredentialStatus', '/status/{statusToken}'],
  ['getScoreCredentialStatusList', '/lists/{listId}'],
]

function rooms(engine: EngineFacts = exampleEngine) {
  const state: {
    verificationMethod: string | null
    signer?: EnvelopeSigner
    engine: EngineFacts
  } = {
    verificationMethod: null,
    engine,
  }
  const endpoints: Endpoint[] = elsewhere.map(([operationId, path]) =>
    endpoint({
      operationId,
      method: 'GET',
      path,
      area: 'elsewhere',
      summary: operationId,
      policy: { kind: 'open' },
      priority: 'public',
      responses: {},
      answer: () => ({ status: 200, body: {} }),
    }),
  )
  endpoints.push(
    ...discoveryEndpoints({
      publicUrl,
      endpoints: () => endpoints,
      webhooks: [],
      release: exampleRelease,
      engine: () => state.engine,
      standard,
      signing: () => ({
        issuer,
        proofForms: ['native'],
        verificationMethod: state.verificationMethod,
      }),
      signer: async () => state.signer,
    }),
  )
  return { endpoints, state }
}

async function answerOf(
  endpoints: readonly Endpoint[],
  path: string,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const found = endpoints.find((declared) => declared.path === path)
  const request = {
    path: parameters,
    query: {},
    body: null,
    bodyAmbiguity: null,
    requestId: 'r',
    ...anybody,
  }
  return (await found?.answer(request)) ?? assert.fail(path)
}

async function documentOf(
  endpoints: readonly Endpoint[],
  path: string,
  parameters: Record<string, string> = {},
): Promise<PublicDocument> {
  const answer = await answerOf(endpoints, path, parameters)
  assert.ok('document' in answer, path)
  return answer.document
}

function parsed(document: PublicDocument): Record<string, unknown> {
  return JSON.parse(String(document.representations[0]?.bytes))
}

const enginePath = '/.well-known/service-engine.json'

test('discovery: the OpenAPI document is the same bytes at both paths, made once', async () => {
  const { endpoints } = rooms()
  const one = await documentOf(endpoints, '/api/v1/openapi.json')
  const other = await documentOf(endpoints, '/.well-known/service-openapi.json')
  assert.deepEqual(one.representations[0]?.bytes, other.representations[0]?.bytes)
  assert.equal(await documentOf(endpoints, '/api/v1/openapi.json'), one)
  assert.ok('/status/{statusToken}' in Object(parsed(one).paths), 'it describes all rooms')
})

test('discovery: the engine document has the published shape and links to declared routes', async () => {
  const { endpoints } = rooms()
  const document = parsed(await documentOf(endpoints, enginePath))
  assert.ok(Compile(engineDiscovery).Check(document))
  assert.equal(document.issuer, issuer)
  const { status_url_template } = Object(document.score_vc)
  assert.equal(status_url_template, `${publicUrl}/status/{statusToken}`)
  assert.equal(Object(document.standard).skill_count, standard.skillCount)
  assert.deepEqual(Object(document.engine).score_scale, { min: 0, max: 1_000 })
})

test('discovery: the engine document follows the signing key, and is the same object until it changes', async () => {
  const { endpoints, state } = rooms()
  const unsigned = await documentOf(endpoints, enginePath)
  const { signing_configured, verification_method } = Object(parsed(unsigned).score_vc)
  assert.deepEqual([signing_configured, verification_method], [false, null])
  assert.equal(await documentOf(endpoints, enginePath), unsigned)

  state.verificationMethod = `${issuer}#z6Mk`
  const signed = await documentOf(endpoints, enginePath)
  assert.notEqual(signed.representations[0]?.etag, unsigned.representations[0]?.etag)
  const now = Object(parsed(signed).score_vc)
  assert.deepEqual([now.signing_configured, now.verification_method], [true, `${issuer}#z6Mk`])
})

const manifestPath = '/.well-known/service-score-core-release-manifest.json'
const provenancePath = '/.well-known/service-score-core-provenance.json'

test('discovery: the engine document and the release manifest describe the engine as it was loaded', async () => {
  const { endpoints } = rooms()
  const { engine } = parsed(await documentOf(endpoints, enginePath))
  const manifest = parsed(await documentOf(endpoints, manifestPath))
  const { loaded } = exampleEngine
  const told = Object(engine)
  assert.deepEqual(
    [told.id, told.version, told.lifecycle, told.binary_sha256, told.golden_vectors_sha256],
    ['hsc', '1.0.0', 'stable', loaded.binarySha256, loaded.goldenSha256],
  )
  assert.deepEqual(told.parameters, {
    SP: 100_000,
    SI: 300_000,
    T: 250,
    ladder: [700, 820, 900, 960, 1_000],
    table_sha256: loaded.tableSha256,
  })
  assert.equal(told.algorithm_url, `${publicUrl}/docs/scoring`)
  assert.equal(told.manifest_url, `${publicUrl}${manifestPath}`)

  const { sha256, size, name } = Object(manifest.binary)
  assert.deepEqual(
    [sha256, size, name],
    [loaded.binarySha256, loaded.size, 'hsc-1.0.0-51a1f05af85e.mjs'],
  )
  const { previous_version, change } = Object(manifest.engine)
  assert.deepEqual([previous_version, change], [null, 'none'])
})

test('discovery: a refused engine is reported as refused, and the manifest is still served', async () => {
  const { endpoints, state } = rooms({ ...exampleEngine, state: 'altered', loaded: null })
  const { engine } = parsed(await documentOf(endpoints, enginePath))
  const { lifecycle, refusal, binary_sha256, version } = Object(engine)
  assert.deepEqual([lifecycle, refusal, binary_sha256], ['refused', 'altered', null])
  assert.equal(version, '1.0.0')
  const manifest = parsed(await documentOf(endpoints, manifestPath))
  assert.ok(Compile(releaseManifest).Check(manifest))
  assert.equal(Object(manifest.binary).sha256, null)
  assert.equal(Object(manifest.engine).state, 'altered')

  state.signer = { keyid: `${issuer}#z6Mk`, sign: () => Buffer.alloc(64) }
  const answer = await answerOf(endpoints, provenancePath)
  assert.ok('refusal' in answer && answer.refusal === 'unavailable')
})

test('discovery: an engine that is recalled while the service runs is reported as recalled, with its digest', async () => {
  const { endpoints, state } = rooms()
  const before = await documentOf(endpoints, manifestPath)
  assert.equal(await documentOf(endpoints, manifestPath), before)
  await documentOf(endpoints, enginePath)
  state.engine = { ...exampleEngine, state: 'recalled' }
  const { engine } = parsed(await documentOf(endpoints, enginePath))
  const { lifecycle, binary_sha256 } = Object(engine)
  assert.deepEqual([lifecycle, binary_sha256], ['recalled', exampleEngine.loaded.binarySha256])
  const manifest = parsed(await documentOf(endpoints, manifestPath))
  assert.equal(Object(manifest.engine).state, 'recalled')
  assert.equal(Object(manifest.binary).sha256, exampleEngine.loaded.binarySha256)
})

test('discovery: the release manifest has the published shape', async () => {
  const { endpoints } = rooms()
  const document = parsed(await documentOf(endpoints, manifestPath))
  assert.ok(Compile(releaseManifest).Check(document))
  assert.equal(document.generated_at, '2026-05-14T09:00:00Z')
  const { source_date_epoch, changelog_url, provenance_url, tag } = Object(document.release)
  assert.equal(source_date_epoch, Date.parse('2026-05-14T09:00:00Z') / 1_000)
  assert.equal(changelog_url, `${publicUrl}/docs/changelog`)
  assert.equal(provenance_url, `${publicUrl}${provenancePath}`)
  assert.equal(tag, 'v0.1.0')
})

test('discovery: the provenance is signed anew when another key becomes active, and not before', async () => {
  const { endpoints, state } = rooms()
  const unsigned = await answerOf(endpoints, provenancePath)
  assert.ok('refusal' in unsigned && unsigned.refusal === 'signing_not_configured')

  let signatures = 0
  const sign = () => Buffer.alloc(64, ++signatures)
  state.signer = { keyid: `${issuer}#z6MkOne`, sign }
  const one = await documentOf(endpoints, provenancePath)
  assert.equal(await documentOf(endpoints, provenancePath), one)
  assert.ok(Compile(provenanceEnvelope).Check(parsed(one)))
  state.signer = { keyid: `${issuer}#z6MkTwo`, sign }
  const two = parsed(await documentOf(endpoints, provenancePath))
  assert.deepEqual([Object(two.signatures)[0].keyid, signatures], [`${issuer}#z6MkTwo`, 2])
})

test('discovery: pages are served as Markdown, and a page that the release lacks has no route', async () => {
  const { endpoints } = rooms()
  const page = await documentOf(endpoints, '/docs/{page}', { page: 'changelog' })
  assert.equal(page.contentType, 'text/markdown; charset=utf-8')
  assert.equal(String(page.representations[0]?.bytes), exampleRelease.pages.changelog)
  const answer = await answerOf(endpoints, '/docs/{page}', { page: 'no-such-page' })
  assert.ok('refusal' in answer && answer.refusal === 'not_found')
})

test('discovery: a link to an undeclared operation is an error', async () => {
  const { endpoints } = rooms()
  endpoints.splice(0, 1)
  await assert.rejects(async () => documentOf(endpoints, enginePath), /listSkills/)
})
