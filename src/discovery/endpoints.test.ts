import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import type { PublicDocument } from '../platform/document.ts'
import { anybody, type Endpoint, endpoint } from '../platform/endpoint.ts'
import { discoveryEndpoints } from './endpoints.ts'
import { exampleRelease } from './release-manifest.ts'
import { engineDiscovery, releaseManifest } from './schema.ts'

const publicUrl = 'https://scores.example.org'
const issuer = 'did:web:scores.example.org'
const standard = {
  version: '1.0.0',
  catalogHash: 'sha256:00',
  skillCount: 3,
  license: 'CC0-1.0',
}

/** Operations of other rooms that the engine document leads to. */
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

function rooms() {
  const state: { verificationMethod: string | null } = { verificationMethod: null }
  const endpoints: Endpoint[] = elsewhere.map(([operationId, path]) =>
    endpoint({
      operationId,
      method: 'GET',
      path,
      area: 'elsewhere',
      summary: operationId,
      policy: { kind: 'open' },
      shed: 1,
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
      standard,
      signing: () => ({ issuer, proofForms: ['native'], ...state }),
    }),
  )
  return { endpoints, state }
}

async function documentOf(endpoints: readonly Endpoint[], path: string): Promise<PublicDocument> {
  const found = endpoints.find((declared) => declared.path === path)
  const request = {
    path: {},
    query: {},
    body: null,
    bodyAmbiguity: null,
    requestId: 'r',
    ...anybody,
  }
  const answer = await found?.answer(request)
  assert.ok(answer !== undefined && 'document' in answer, path)
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

test('discovery: the engine document has the shape of spec §2.7 and leads to declared routes', async () => {
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

test('discovery: the release manifest has the shape of spec §2.7', async () => {
  const { endpoints } = rooms()
  const path = '/.well-known/service-score-core-release-manifest.json'
  const document = parsed(await documentOf(endpoints, path))
  assert.ok(Compile(releaseManifest).Check(document))
  assert.equal(document.generated_at, '2026-05-14T09:00:00Z')
})

test('discovery: an operation that nobody declares is an error, never a dead link', async () => {
  const { endpoints } = rooms()
  endpoints.splice(0, 1)
  await assert.rejects(async () => documentOf(endpoints, enginePath), /listSkills/)
})
